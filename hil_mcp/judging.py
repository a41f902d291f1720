"""A judge that gets ready while the server already answers.

Over stdio an agent waits about two seconds for its tools: the judge's model is loaded, or its
server probed, behind that. A judge that turns out unfit fails a question as `judge_unfit`; it is
never replaced and never says "no". The next question finds out anew, since a server may have been
starting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from judge.errors import JudgeError, JudgeSetupError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from judge.verdict import Judge, JudgeFingerprint, RegistryView, Verdict

READY_DEADLINE_S = 25.0
"""How long a question waits for the judge to get ready; less than the judge's 30 s."""


class BackgroundJudge:
    """Stands for a judge that `get_ready` checks or loads."""

    def __init__(self, judge: Judge, get_ready: Callable[[], Awaitable[None]] | None) -> None:
        """Wrap a judge.

        Args:
            judge: Cheap to make and able to name its fingerprint; not yet loaded or probed.
            get_ready: Loads or probes it; raises JudgeError when it is unfit.
        """
        self._judge = judge
        self._get_ready = get_ready
        self._is_ready = anyio.Event()
        self._unfit: JudgeError | None = None
        self._checks = 0
        self._checking = anyio.Lock()

    async def run(self) -> None:
        """Get the judge ready; remembers why it is unfit instead of raising."""
        try:
            await self._check()
        finally:
            self._is_ready.set()

    async def ready(self) -> None:
        """Wait until the judge is ready.

        Raises:
            JudgeError: It is unfit, or not ready in time; names which of its settings is wrong.
        """
        await self.settled()
        if not self._is_ready.is_set():
            raise JudgeSetupError(f"the judge was not ready within {READY_DEADLINE_S:g} s")
        if self._unfit is not None:
            raise JudgeSetupError(str(self._unfit)) from self._unfit

    async def settled(self) -> None:
        """Wait until the judge is ready or known to be unfit, but not for ever."""
        if self._is_ready.is_set():
            return
        with anyio.move_on_after(READY_DEADLINE_S):
            await self._is_ready.wait()

    async def decide(self, question: str, registry: RegistryView) -> Verdict:
        """Decide once ready; see `judge.Judge`. A judge that was unfit is checked again before."""
        await self.settled()
        if self._unfit is not None:
            await self._check_again()
        await self.ready()
        return await self._judge.decide(question, registry)

    @property
    def fingerprint(self) -> JudgeFingerprint:
        """The wrapped judge's."""
        return self._judge.fingerprint

    async def _check(self) -> None:
        try:
            if self._get_ready is not None:
                await self._get_ready()
        except JudgeError as exc:
            self._unfit = exc
        else:
            self._unfit = None
        self._checks += 1

    async def _check_again(self) -> None:
        checks = self._checks
        async with self._checking:
            if checks == self._checks:  # else another question has just found out
                await self._check()
