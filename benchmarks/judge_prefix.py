"""Questions a second: our prompt, with the question last, against the question before the rules.

Usage: python -m benchmarks.judge_prefix [--model FOLDER] [--python PYTHON] [--questions N]

Starts a real vLLM (CPU build, prefix caching on) and asks both forms of the prompt in turn, as many
questions at once as a judge does by default, with the same registry, the same text and the same
short reply; only the order differs. The published judge puts the agent's message before its rules,
so that a cached prefix ends at the message. Fails below `LEAST_RATIO`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from hil_mcp.vllm_plan import plan_server
from hil_mcp.vllm_server import find_cpu_flags, running
from judge.client import ChatClient
from judge.probe import ProbeBlocker, ProbeRegistry
from judge.prompt import Template, answer_schema, build_prompt, parse_template, policy_template
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[1]
LEAST_RATIO = 3.0
LAYERS = 30
"""With the width of tests/support/random_llama.py the size of SmolLM2-135M."""
_REASON_CHARS = 8
"""A trained model ends its reason after a few words; random weights fill whatever they may."""
_AT_ONCE = 8
_KEY = "bench"


def registry() -> ProbeRegistry:
    things = ("harvest", "mooring", "freight", "pilotage", "dredging")
    return ProbeRegistry(
        blockers=tuple(
            ProbeBlocker(
                blocker_id=f"{thing}_rule",
                description=f"The request counts every {thing} of the season and does not say "
                f"which of the two ledgers decides when a {thing} begins, nor how one that spans "
                "the turn of the year is to be split between the years that it belongs to.",
                resolution="The harbour master's ledger.",
                example_questions=(
                    f"Which ledger decides when a {thing} begins?",
                    f"How is a {thing} split that spans the turn of the year?",
                    f"To which year does a {thing} belong that began in December?",
                ),
            )
            for thing in things
        )
    )


def question_in_the_middle() -> Template:
    """Our prompt with its parts in the published order: blockers, message, then the rules."""
    ours = policy_template("release").text
    rules, _, rest = ours.partition("THE BLOCKERS OF THIS TASK")
    blockers, _, rest = rest.partition("ANSWER FORMAT")
    answer, _, message = rest.partition("THE MESSAGE")
    text = f"THE BLOCKERS OF THIS TASK{blockers}THE MESSAGE{message}\n{rules}ANSWER FORMAT{answer}"
    return parse_template(text, name="middle", place="benchmark")


async def ask(client: ChatClient, template: Template, number: int) -> int:
    """Ask one question; returns prompt and completion tokens."""
    prompt = build_prompt(
        template, f"Which ledger decides on entry {number} of the season?", registry()
    )
    schema = answer_schema(prompt.choices)
    schema["properties"]["reason"]["maxLength"] = _REASON_CHARS  # type: ignore[index]
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    reply = await client.complete(
        {
            "model": "random",
            "messages": [{"role": "user", "content": prompt.text}],
            "temperature": 0.0,
            "max_tokens": 64,
            "response_format": form,
        }
    )
    return reply.tokens or 0


async def measure(python: str, model: Path, questions: int) -> dict[str, object]:
    port = free_port()
    plan = plan_server(
        str(model),
        (),
        python=python,
        host="127.0.0.1",
        port=port,
        cpu_flags=find_cpu_flags(),
        served_name="random",
    )
    url = f"http://127.0.0.1:{port}"
    forms = {
        "question_last": policy_template("release"),
        "question_in_the_middle": question_in_the_middle(),
    }
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    tokens: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        async with running(plan, Path(folder) / "log", api_key=_KEY) as server:
            await server.wait_until_it_answers(url, api_key=_KEY, limit_s=300)
            async with ChatClient(url, api_key=_KEY, connections=_AT_ONCE) as client:
                for name, template in forms.items():  # fills the cache
                    tokens[name] = await ask(client, template, 0)
                for first in range(1, questions + 1, _AT_ONCE):
                    for name, template in forms.items():
                        started = time.perf_counter()
                        async with anyio.create_task_group() as asking:
                            for number in range(first, first + _AT_ONCE):
                                asking.start_soon(ask, client, template, number)
                        seconds[name].append(time.perf_counter() - started)
    rates = {name: _AT_ONCE * len(spent) / sum(spent) for name, spent in seconds.items()}
    return {
        "questions": _AT_ONCE * len(seconds["question_last"]),
        "at_once": _AT_ONCE,
        "tokens_a_question": tokens,
        "questions_a_second": {name: round(rate, 3) for name, rate in rates.items()},
        "seconds_a_round": {name: [round(s, 2) for s in spent] for name, spent in seconds.items()},
        "ratio": round(rates["question_last"] / rates["question_in_the_middle"], 2),
        "least_ratio": LEAST_RATIO,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, default=ROOT / ".cache" / "random-llama-30")
    parser.add_argument("--python", default=str(ROOT / ".cache" / "vllm" / "bin" / "python"))
    parser.add_argument("--questions", type=int, default=_AT_ONCE)
    args = parser.parse_args()
    if not args.model.is_dir():
        maker = [args.python, "-m", "tests.support.random_llama", str(args.model), str(LAYERS)]
        subprocess.run(maker, check=True, cwd=ROOT)
    result = anyio.run(measure, args.python, args.model, args.questions)
    print(json.dumps(result, indent=2))
    return 0 if float(str(result["ratio"])) >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
