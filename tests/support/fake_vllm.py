"""An interpreter that takes the command line of vLLM's server and offers one model.

Written as an executable script, so that the command under test starts it like the real one.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SCRIPT = """#!{python}
import json, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

if sys.argv[1] == "-c":
    sys.exit({status})
options = dict(zip(sys.argv[3::1], sys.argv[4::1]))
print("loading", options["--model"], flush=True)
if "forking" in options["--model"]:
    os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")
if "broken" in options["--model"]:
    print("ValueError: no such model", file=sys.stderr, flush=True)
    sys.exit(1)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        allowed = self.headers["Authorization"] == "Bearer " + os.environ["VLLM_API_KEY"]
        body = json.dumps({{"data": [{{"id": options["--served-model-name"]}}]}}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


HTTPServer(("127.0.0.1", int(options["--port"])), Handler).serve_forever()
"""


def fake_vllm(folder: Path, *, has_vllm: bool = True) -> Path:
    """The script's path.

    Args:
        folder: Where it is put.
        has_vllm: What it says when it is asked whether vLLM is installed.
    """
    path = folder / "python"
    path.write_text(_SCRIPT.format(python=sys.executable, status=0 if has_vllm else 1))
    path.chmod(0o755)
    return path
