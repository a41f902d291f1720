"""What an escape is after: a stand-in for the server with everything that must stay hidden."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import task_store

if TYPE_CHECKING:
    from collections.abc import Generator

_SERVER = """
import sys, time
secret = sys.argv[1]
held = open("catalogue.db")
print("ready", flush=True)
time.sleep(3600)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The secret, and the names by which attempts look for it."""

    secret: str
    names: dict[str, str]
    folder: Path

    def script(self, template: str) -> str:
        """An attempt's script with the stage's names put in; other braces stay."""
        for name, value in self.names.items():
            template = template.replace("{" + name + "}", value)
        return template


@contextmanager
def open_stage(folder: Path, tree: Path) -> Generator[Stage]:
    """Lay the files out, start the process and open the sockets."""
    secret = f"SECRET-{secrets.token_hex(16)}"
    unique = f"hil-{secrets.token_hex(6)}"
    home, run, task = folder / "home", folder / "run", folder / "task"
    for path in (
        home / "catalogue.db",
        home / "token",
        home / "victim",
        run / "attempts/a/session.jsonl",
        run / "attempts/b/submission",
        task / "hidden_tests/test_hidden.py",
        task / "task.toml",
        folder / unique,
        Path("/dev/shm") / unique,
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
        path.chmod(0o600)
    with ExitStack() as stack:
        stack.callback((Path("/dev/shm") / unique).unlink, missing_ok=True)
        port = _answer(stack, secret, socket.AF_INET, ("0.0.0.0", 0))
        udp_port = _answer(stack, secret, socket.AF_INET, ("127.0.0.1", 0), kind=socket.SOCK_DGRAM)
        # A socket's path may have 107 bytes.
        sockets = Path(f"/tmp/{unique}-sockets")
        sockets.mkdir()
        stack.callback(sockets.rmdir)
        for path in (sockets / "server", sockets / "docker"):
            _answer(stack, secret, socket.AF_UNIX, str(path))
            stack.callback(path.unlink)
        _answer(stack, secret, socket.AF_UNIX, f"\0{unique}")
        server = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", _SERVER, secret],
                cwd=home,
                env={**os.environ, "HIL_TOKEN": secret},
                stdout=subprocess.PIPE,
            )
        )
        stack.callback(server.kill)
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        names = {
            "home": str(home),
            "run": str(run),
            "task": str(task),
            "tree": str(tree),
            "package": str(Path(task_store.__file__).parent),
            "python": sys.executable,
            "unique": unique,
            "pid": str(server.pid),
            "comm": Path(f"/proc/{server.pid}/comm").read_text().strip(),
            "port": str(port),
            "udp_port": str(udp_port),
            "host_ip": _host_ip(),
            "socket": str(sockets / "server"),
            "shadow": _checksum("/etc/shadow"),
            "docker_socket": str(sockets / "docker"),
        }
        yield Stage(secret=secret, names=names, folder=folder)


def _answer(
    stack: ExitStack,
    secret: str,
    family: socket.AddressFamily,
    address: str | tuple[str, int],
    *,
    kind: socket.SocketKind = socket.SOCK_STREAM,
) -> int:
    """Answer everyone who comes to an address with the secret; its port, if it has one."""
    listener = socket.socket(family, kind)
    listener.bind(address)
    if kind is socket.SOCK_STREAM:
        listener.listen()

    def serve() -> None:
        with suppress(OSError):  # closed
            while True:
                if kind is socket.SOCK_STREAM:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(4096)
                        connection.sendall(secret.encode())
                else:
                    _, sender = listener.recvfrom(4096)
                    if sender is None:  # shut down
                        return
                    listener.sendto(secret.encode(), sender)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    stack.callback(thread.join, 5)
    stack.callback(listener.close)
    # A thread that waits in `accept` is woken by the shutdown and not by the close.
    stack.callback(_shut_down, listener)
    name = listener.getsockname()
    return int(name[1]) if family is socket.AF_INET else 0


def _shut_down(listener: socket.socket) -> None:
    with suppress(OSError):  # datagram sockets without a peer are shut down all the same
        listener.shutdown(socket.SHUT_RDWR)


def _checksum(path: str) -> str:
    done = subprocess.run(
        ["sh", "-c", f"cksum <{path}"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unreadable"


def _host_ip() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return "127.0.0.3"
        return str(probe.getsockname()[0])
