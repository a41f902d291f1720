"""What of this machine's system a command under `bwrap` sees, and what it is let do there.

Arguments of `bwrap` alone: who runs it adds its own folders. No accounts, keys or host names of
this machine are among what is shown.
"""

from __future__ import annotations

from pathlib import Path

USER_ID = "1000"

SYSTEM_FOLDERS = tuple(
    Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")
)
NAMESPACES = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--uid",
    USER_ID,
    "--gid",
    USER_ID,
    "--hostname",
    "sandbox",
    "--new-session",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
)
"""Everything of its own but the network, which the caller decides on."""

# What programs need to start.
_SYSTEM_FILES = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/certs",
)
_KERNEL_SETTINGS = (
    "/proc/acpi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
)


def shown(path: Path) -> list[str]:
    """Show a file or folder read-only, or a link as a link; what is not there is left out."""
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind-try", str(path), str(path)]


def system_files() -> list[str]:
    """Show the files outside the system folders that programs need; links are followed."""
    arguments: list[str] = []
    for path in _SYSTEM_FILES:
        arguments += ["--ro-bind-try", path, path]
    return arguments


def kernel_files() -> list[str]:
    """Fresh `/proc` and `/dev`, with the kernel's settings out of reach."""
    arguments = ["--proc", "/proc", "--dev", "/dev"]
    # Run by root, the sandbox's user owns the kernel's settings, and bwrap covers them only when
    # their folder, which nobody may write to, is writable.
    for path in _KERNEL_SETTINGS:
        arguments += ["--ro-bind-try", path, path]
    return arguments
