"""Build a judge from what the command line says: one line a backend."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from judge.address import without_password
from judge.errors import JudgeUsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from judge.embedder import Embedder
    from judge.verdict import Judge

REFERENCE_MODEL = "casperhansen/llama-3.3-70b-instruct-awq"
"""The model of the published benchmark's judge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeConfig:
    """What the backends need beyond their name; each reads its part."""

    url: str = "http://127.0.0.1:8808"
    """Base address of an OpenAI-compatible server, with or without `/v1`."""
    model: str = REFERENCE_MODEL
    api_key: str | None = field(default=None, repr=False)
    """For the server at `url`, and for no other that a vote's member may name."""
    read_variable: Callable[[str], str | None] = lambda _: None
    """Gives the value of an environment variable that a member names for its key."""
    policy: str = "release"
    """`release` or `meaning`; see docs/judge.md."""
    prompt_file: Path | None = None
    """A prompt template of the user's own, instead of the policy's."""
    cache_path: Path | None = None
    """SQLite file of verdicts; None asks the judge every time."""
    deadline_s: float = 29.5
    """Longest wait for one verdict, retries included, in seconds. Just below the 30 s that a
    session gives its judge, so that a failure is told with its cause."""
    concurrency: int = 8
    """Questions that are with the server at the same time."""
    embedder: Embedder | None = None
    """Shared with whoever else embeds in this process; None for one of the judge's own."""


_SPECS = "embedded, vllm, replay:FILE or vote:RULE:JUDGE+JUDGE"
_MEMBER_SPECS = "embedded or vllm, in a vote"
# A name, and settings of its own in brackets: `vllm(model=NAME,policy=meaning)`.
_SPEC = re.compile(r"(?P<name>[a-z]+)(?:\((?P<settings>[^()]*)\))?")
_OWN_SETTINGS = ("url", "model", "policy", "key_variable")


def build_judge(spec: str, config: JudgeConfig) -> Judge:
    """Build the judge that `spec` names. Nothing is asked or loaded yet.

    Args:
        spec: `embedded`, `vllm`, `replay:FILE`, or `vote:majority:A+B+C` and `vote:unanimous:A+B`
            of the others. `vllm(model=…,policy=…,url=…,key_variable=…)` overrules `config` for one
            judge.
        config: Settings of the backends.

    Raises:
        JudgeUsageError: The spec, the policy, the template or the file cannot be used.
    """
    name, _, rest = spec.partition(":")
    match name:
        case "replay" if rest:
            from judge.replay import ReplayJudge

            return ReplayJudge.from_log(Path(rest).expanduser())
        case "vote" if rest:
            judge = _vote(rest, config)
        case _:
            judge = _single(spec, config)
    if config.cache_path is None:
        return judge
    from judge.cache import CachedJudge

    return CachedJudge(judge, config.cache_path)


def urls_of(spec: str, default: str) -> list[str]:
    """The servers that a judge asks, each once; empty for one without a server."""
    members = _members(spec.partition(":")[2])[1] if spec.startswith("vote:") else [spec]
    urls: dict[str, None] = {}
    for member in members:
        match = _SPEC.fullmatch(member)
        if match and match["name"] == "vllm":
            urls[_settings(member, match["settings"]).get("url", default)] = None
    return list(urls)


def _members(vote: str) -> tuple[str, list[str]]:
    """The rule of `RULE:JUDGE+JUDGE`, and its judges."""
    rule, _, members = vote.partition(":")
    return rule, [member.strip() for member in members.split("+")]


def _vote(text: str, config: JudgeConfig) -> Judge:
    from judge.vote import VoteJudge

    rule, specs = _members(text)
    if rule not in ("majority", "unanimous"):
        raise JudgeUsageError(f"unknown vote {rule!r}: majority or unanimous")
    if len(specs) < 2:
        raise JudgeUsageError(f"vote:{text}: a vote needs two judges or more, joined by +")
    return VoteJudge([_single(member, config, known=_MEMBER_SPECS) for member in specs], rule)


def _single(spec: str, config: JudgeConfig, *, known: str = _SPECS) -> Judge:
    match = _SPEC.fullmatch(spec)
    name = match["name"] if match else ""
    settings = _settings(spec, match["settings"] if match else None)
    match name:
        case "embedded" if not settings:
            from judge.embedded import EmbeddedCore, EmbeddedJudge

            return EmbeddedJudge(EmbeddedCore(config.embedder))
        case "vllm":
            return _chat(
                replace(
                    config,
                    url=settings.get("url", config.url),
                    api_key=_key(spec, settings, config),
                    model=settings.get("model", config.model),
                    policy=settings.get("policy", config.policy),
                    prompt_file=None if "policy" in settings else config.prompt_file,
                )
            )
        case _:
            raise JudgeUsageError(f"unknown judge {without_password(spec)!r}: {known}")


def _key(spec: str, settings: Mapping[str, str], config: JudgeConfig) -> str | None:
    """The key for a judge's server: its own, or the configured one for the configured server."""
    variable = settings.get("key_variable")
    if variable is None:
        return config.api_key if settings.get("url", config.url) == config.url else None
    key = config.read_variable(variable)
    if not key:
        raise JudgeUsageError(
            f"judge {without_password(spec)!r}: the environment has no variable {variable}"
        )
    return key


def _settings(spec: str, text: str | None) -> dict[str, str]:
    if text is None:
        return {}
    settings: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name not in _OWN_SETTINGS or not value:
            known = ", ".join(f"{known}=…" for known in _OWN_SETTINGS)
            shown, wrong = without_password(spec), without_password(part.strip())
            raise JudgeUsageError(f"judge {shown!r}: {wrong!r} is none of {known}")
        settings[name] = value
    return settings


def _chat(config: JudgeConfig) -> Judge:
    # Imported here: httpx costs a tenth of a second, and serving with another judge has no use
    # for it.
    from judge.chat import ChatJudge
    from judge.client import ChatClient
    from judge.prompt import file_template, policy_template
    from judge.retries import RetryRules

    template = (
        file_template(config.prompt_file)
        if config.prompt_file is not None
        else policy_template(config.policy)
    )
    client = ChatClient(config.url, api_key=config.api_key, connections=config.concurrency)
    return ChatJudge(
        client,
        template,
        model=config.model,
        rules=RetryRules(deadline_s=config.deadline_s),
        concurrency=config.concurrency,
    )
