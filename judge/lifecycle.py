"""What a judge needs around its questions: a probe before the first, and an end after the last.

Neither is part of the contract `Judge`: a judge without a server or a model has no use for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from judge.verdict import Judge, RegistryView


@runtime_checkable
class Probing(Protocol):
    """A judge that can find out by itself whether it is fit for use."""

    async def probe(self) -> None:
        """Ask one known match and one known non-match.

        Raises:
            JudgeSetupError: The judge is not fit; the message says which setting is wrong.
        """
        ...


@runtime_checkable
class Closing(Protocol):
    """A judge that holds something open."""

    async def aclose(self) -> None:
        """Give back connections and files; later questions are refused or open them anew."""
        ...


async def probe_judge(judge: Judge) -> None:
    """Find out whether a judge is fit for use; a judge that cannot tell is taken to be.

    Raises:
        JudgeSetupError: It is not; the message says which of its settings is wrong.
    """
    if isinstance(judge, Probing):
        await judge.probe()


@runtime_checkable
class Warming(Protocol):
    """A judge whose first question would wait for a model to load."""

    async def warm_up(self, registry: RegistryView | None = None) -> None:
        """Load the model, and read `registry` if given.

        Raises:
            JudgeSetupError: A file of the model is missing or cannot be read.
        """
        ...


async def warm_judge(judge: Judge, registry: RegistryView | None = None) -> None:
    """Load a judge's model; a judge without one has nothing to load.

    Raises:
        JudgeSetupError: A file of the model is missing or cannot be read.
    """
    if isinstance(judge, Warming):
        await judge.warm_up(registry)


async def prepare_judge(judge: Judge, registry: RegistryView) -> None:
    """Probe a judge that has a server and load one that has a model.

    Raises:
        JudgeSetupError: The judge is not fit for use.
    """
    await probe_judge(judge)
    await warm_judge(judge, registry)


async def close_judge(judge: Judge) -> None:
    """Give back what a judge holds open; a judge that holds nothing is left as it is."""
    if isinstance(judge, Closing):
        await judge.aclose()
