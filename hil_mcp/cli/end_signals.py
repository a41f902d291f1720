"""The signals that ask a command to end, taken so that it can leave nothing half done."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anyio import CancelScope, Event

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def cancel_on_signal(scope: CancelScope, interrupted: Event) -> None:
    """Wait for a signal, for ever; then set `interrupted` and cancel `scope`."""
    import anyio

    with anyio.open_signal_receiver(*_END_SIGNALS) as signals:
        async for _ in signals:
            interrupted.set()
            scope.cancel()
