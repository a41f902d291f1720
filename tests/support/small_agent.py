"""A coding agent of the smallest kind, as a program: MCP over HTTP, chat completions, no judgement.

Stands beside the agents from npm where a test needs many attempts or an odd end: it starts in a
tenth of a second. It knows nothing of tests; what it does is what its model says. Standard library
only, so that it runs wherever there is a Python.

Settings come as one JSON object in the variable SMALL_AGENT: url, token_variable, base_url, model,
key. The prompt comes on stdin, the transcript goes to stdout. Beside the server's tools it has
`shell`, which runs a command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

Document = dict[str, Any]

SETTINGS = json.loads(os.environ.get("SMALL_AGENT", "{}"))
SHELL: Document = {"name": "shell", "parameters": {"type": "object"}}


def post(url: str, headers: dict[str, str], document: Document) -> str:
    request = urllib.request.Request(
        url,
        data=json.dumps(document).encode(),
        headers={"Content-Type": "application/json", **headers},
    )
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode()


def tell(**event: object) -> None:
    # One write a line: calls are made by threads at the same time.
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


class Server:
    def __init__(self) -> None:
        token = os.environ[SETTINGS["token_variable"]]
        self.headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        }
        self.number = 0

    def call(self, method: str, params: Document) -> Document:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        text = post(SETTINGS["url"], self.headers, message)
        lines = [line[5:] for line in text.split("\n") if line.startswith("data:")]
        for answer in map(json.loads, lines or [text]):
            if answer.get("id") == message["id"]:
                return cast("Document", answer["result"])
        raise RuntimeError(f"no answer to {method}")

    def connect(self) -> list[Document]:
        info = {"name": "small-agent", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        self.call("initialize", params)
        return self.call("tools/list", {})["tools"]


def ask_model(messages: list[Document], tools: list[Document]) -> Document:
    functions = [
        {"type": "function", "function": {"name": t["name"], "parameters": t["parameters"]}}
        for t in tools
    ]
    document = {"model": SETTINGS["model"], "messages": messages, "tools": functions}
    headers = {"Authorization": f"Bearer {SETTINGS['key']}"}
    text = post(f"{SETTINGS['base_url']}/v1/chat/completions", headers, document)
    return cast("Document", json.loads(text)["choices"][0]["message"])


def use(server: Server, call: Document) -> str:
    name = call["function"]["name"]
    arguments = json.loads(call["function"]["arguments"])
    tell(type="tool_use", tool=name)
    if name == "shell":
        done = subprocess.run(
            ["/bin/sh", "-c", arguments["command"]], capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr
    result = server.call("tools/call", {"name": name, "arguments": arguments})
    return "".join(part["text"] for part in result["content"])


def main() -> None:
    server = Server()
    tools = [{"name": t["name"], "parameters": t["inputSchema"]} for t in server.connect()]
    tools.append(SHELL)
    messages: list[Document] = [{"role": "user", "content": sys.stdin.read()}]
    with ThreadPoolExecutor() as threads:
        while True:
            message = ask_model(messages, tools)
            messages.append(message)
            calls: list[Document] = message.get("tool_calls") or []
            if not calls:
                tell(type="end", text=message["content"])
                return
            results = list(threads.map(partial(use, server), calls))
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": result}
                for call, result in zip(calls, results, strict=True)
            ]


if "--version" in sys.argv:
    print("small-agent 1.0")
else:
    try:
        main()
    except urllib.error.HTTPError as error:
        tell(type="error", message=f"HTTP {error.code}")
        sys.exit(1)
