"""Ways out of a sandbox, tried from inside.

Each is a shell script for `sh` in the repository. It has got out when it prints the stage's secret
or the word ESCAPED. Names in braces are the stage's; see `tests/support/escape_stage.py`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way out."""

    name: str
    script: str
    needs_root: bool = False
    """Even where nothing guards, it works for root only."""


def _python(code: str) -> str:
    return f"python3 - <<'EOF'\n{code}\nEOF\n"


_CONNECT = """
import socket
s = socket.socket({family}, {kind})
s.settimeout(3)
s.connect({address})
s.sendall(b"GET /version HTTP/1.0\\r\\n\\r\\n")
print(s.recv(4096).decode())
"""


def connect(address: str, family: str = "socket.AF_INET", kind: str = "socket.SOCK_STREAM") -> str:
    """A script that connects, sends a line and prints what comes back."""
    return _python(
        _CONNECT.replace("{family}", family).replace("{kind}", kind).replace("{address}", address)
    )


_READ_MEMORY = """
import re
for line in open("/proc/{pid}/maps"):
    match = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
    if not match:
        continue
    start, end = (int(part, 16) for part in match.groups())
    with open("/proc/{pid}/mem", "rb", 0) as memory:
        memory.seek(start)
        found = re.search(rb"SECRET-[0-9a-f]{32}", memory.read(min(end - start, 1 << 26)))
    if found:
        print(found[0].decode())
        break
"""
_ATTACH = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(16, {pid}, None, None) == 0:
    import os
    os.waitpid({pid}, 0x40000000)
    libc.ptrace(17, {pid}, None, None)
    print("ESCAPED")
"""
_PROCESS_READ = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
class Iov(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
start = int(next(l for l in open("/proc/{pid}/maps") if " rw" in l).split("-")[0], 16)
buffer = ctypes.create_string_buffer(16)
local, remote = Iov(ctypes.addressof(buffer), 16), Iov(start, 16)
if libc.process_vm_readv({pid}, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) == 16:
    print("ESCAPED")
"""

ATTEMPTS: tuple[Attempt, ...] = (
    # The server's files.
    Attempt(name="read the catalogue", script="cat {home}/catalogue.db"),
    Attempt(name="read it through a link", script="ln -s {home} l; cat l/catalogue.db"),
    Attempt(
        name="read it by ..", script="cat ../../../../../../../../../../../..{home}/catalogue.db"
    ),
    Attempt(name="read it by a hard link", script="ln {home}/catalogue.db h; cat h"),
    Attempt(name="read it by /proc/self/root", script="cat /proc/self/root{home}/catalogue.db"),
    Attempt(
        name="read it by the parent process's root",
        script="cat /proc/$PPID/root{home}/catalogue.db",
    ),
    Attempt(name="read it by its process's root", script="cat /proc/{pid}/root{home}/catalogue.db"),
    Attempt(name="read it by its process's folder", script="cat /proc/{pid}/cwd/catalogue.db"),
    Attempt(
        name="read it by its process's files",
        script="for f in /proc/{pid}/fd/*; do [ -f $f ] && cat $f; done",
    ),
    Attempt(name="read it as a new user", script="unshare -Ur cat {home}/catalogue.db"),
    Attempt(name="copy the home folder", script="cp -r {home} copy; cat copy/catalogue.db"),
    Attempt(name="read a session's log", script="cat {run}/attempts/a/session.jsonl"),
    Attempt(name="read another attempt's patch", script="cat {run}/attempts/b/submission"),
    Attempt(name="read the hidden tests", script="cat {task}/hidden_tests/test_hidden.py"),
    Attempt(name="read the registry", script="cat {task}/task.toml"),
    Attempt(name="read a token's file", script="cat {home}/token"),
    Attempt(
        name="look for files by name",
        script="find /tmp /home /run -maxdepth 5 -name '{unique}*' -type f -exec cat {} +",
    ),
    Attempt(
        name="read the shipped answers",
        script="[ -s {package}/starter/backup_prune/solution.patch ] && echo ESCAPED",
    ),
    Attempt(
        name="import the server's code",
        script="{python} -c 'import task_store.starter_pack' && echo ESCAPED",
    ),
    Attempt(name="write into the catalogue", script="echo x >>{home}/catalogue.db && echo ESCAPED"),
    Attempt(name="delete a log", script="rm {home}/victim && echo ESCAPED"),
    Attempt(name="plant a file at the server", script=": >{home}/planted && echo ESCAPED"),
    Attempt(name="change the task's source tree", script=": >{tree}/planted && echo ESCAPED"),
    Attempt(
        name="read the machine's passwords",
        script='[ "$(cksum </etc/shadow)" = "{shadow}" ] && echo ESCAPED',
        needs_root=True,
    ),
    # Another session.
    Attempt(
        name="read another session's files",
        script="find /tmp /app -maxdepth 8 -name 'other-{unique}' -exec cat {} + 2>/dev/null",
    ),
    Attempt(
        name="write to another session",
        script="f=$(find /tmp /app -maxdepth 8 -name 'other-{unique}' 2>/dev/null | head -n 1);"
        '[ -n "$f" ] && : >"$f.planted" && echo ESCAPED',
    ),
    Attempt(name="read shared memory", script="cat /dev/shm/{unique}"),
    # The server's process.
    Attempt(name="read its environment", script="tr '\\0' '\\n' </proc/{pid}/environ"),
    Attempt(name="read its arguments", script="tr '\\0' '\\n' </proc/{pid}/cmdline"),
    Attempt(name="read all environments", script="cat /proc/[0-9]*/environ 2>/dev/null"),
    Attempt(name="read all arguments", script="cat /proc/[0-9]*/cmdline 2>/dev/null"),
    Attempt(name="see that it runs", script="grep -q {comm} /proc/{pid}/comm && echo ESCAPED"),
    Attempt(name="read its memory", script=_python(_READ_MEMORY)),
    Attempt(name="read its memory by a system call", script=_python(_PROCESS_READ)),
    Attempt(name="attach to it", script=_python(_ATTACH)),
    Attempt(
        name="signal it",
        script="grep -q {comm} /proc/{pid}/comm && kill -CONT {pid} && echo ESCAPED",
    ),
    Attempt(
        name="change its limits",
        script="grep -q {comm} /proc/{pid}/comm && prlimit -p {pid} --core=0 && echo ESCAPED",
    ),
    # The network.
    Attempt(name="reach it on loopback", script=connect("('127.0.0.1', {port})")),
    Attempt(name="reach it on any loopback", script=connect("('127.0.0.2', {port})")),
    Attempt(name="reach it on address zero", script=connect("('0.0.0.0', {port})")),
    Attempt(name="reach it by the host's address", script=connect("('{host_ip}', {port})")),
    Attempt(
        name="reach it by datagram",
        script=connect("('127.0.0.1', {udp_port})", kind="socket.SOCK_DGRAM"),
    ),
    Attempt(name="reach its socket", script=connect("'{socket}'", family="socket.AF_UNIX")),
    Attempt(
        name="reach its abstract socket",
        script=connect("'\\0{unique}'", family="socket.AF_UNIX"),
    ),
    Attempt(
        name="reach Docker's socket", script=connect("'{docker_socket}'", family="socket.AF_UNIX")
    ),
    Attempt(name="see its sockets", script="grep -q {socket} /proc/net/unix && echo ESCAPED"),
    Attempt(
        name="see its ports",
        script='grep -qi ":$(printf %04X {port}) " /proc/net/tcp && echo ESCAPED',
    ),
    Attempt(
        name="see a network card",
        script="grep -q -v -e lo: -e '|' /proc/net/dev && echo ESCAPED",
    ),
    Attempt(
        name="listen to all packets",
        script=_python("import socket\nsocket.socket(17, 3, 3)\nprint('ESCAPED')"),
        needs_root=True,
    ),
    # The kernel.
    Attempt(
        name="mount a file system",
        script="mkdir m && mount -t tmpfs x m && echo ESCAPED && umount m",
        needs_root=True,
    ),
    Attempt(
        name="mount the home folder here",
        script="mkdir m && mount --bind {home} m && cat m/catalogue.db; umount m",
        needs_root=True,
    ),
    Attempt(
        name="enter its file systems",
        script="nsenter -t {pid} -m cat {home}/catalogue.db",
        needs_root=True,
    ),
    Attempt(
        name="enter its network",
        script="nsenter -t {pid} -n cat /proc/net/unix | grep -q {socket} && echo ESCAPED",
        needs_root=True,
    ),
    Attempt(
        name="change the root to its root",
        script="chroot /proc/{pid}/root cat {home}/catalogue.db",
        needs_root=True,
    ),
    Attempt(name="make a device", script="mknod d c 1 1 && echo ESCAPED", needs_root=True),
    Attempt(
        name="read the kernel's log",
        script="dd if=/dev/kmsg bs=8k count=1 && echo ESCAPED",
        needs_root=True,
    ),
    Attempt(
        name="make a group of processes",
        script="d=/sys/fs/cgroup; [ -d $d/pids ] && d=$d/pids;"
        " mkdir $d/{unique} && rmdir $d/{unique} && echo ESCAPED",
        needs_root=True,
    ),
    Attempt(
        name="set a kernel setting",
        script="v=$(cat /proc/sys/vm/swappiness) && echo $v >/proc/sys/vm/swappiness &&"
        " echo ESCAPED",
        needs_root=True,
    ),
    Attempt(
        name="become another user",
        script="su root -c 'cat {home}/catalogue.db' </dev/null",
        needs_root=True,
    ),
)
