"""The records: what a task, a blocker, a registry and an environment are.

Everything here is frozen and already checked; the importers are where outside data is parsed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NewType

if TYPE_CHECKING:
    from collections.abc import Mapping

TaskId = NewType("TaskId", str)
BlockerId = NewType("BlockerId", str)
BlockerCategory = Literal["missing", "ambiguous", "contradictory"]
ArtefactRole = Literal["database", "description", "image", "repository"]


class TaskKind(StrEnum):
    """The two halves of the benchmark."""

    SQL = "sql"
    REPOSITORY = "repository"


# The released types and subtypes, mapped to the paper's three categories. The mapping of the SQL
# subtypes is ours; the release gives none.
_CATEGORIES: dict[str, BlockerCategory] = {
    "missing parameters": "missing",
    "ambiguous requirements": "ambiguous",
    "contradictory requirements": "contradictory",
    "missing_information": "missing",
    "underspecified_concepts": "missing",
    "unclear_value": "missing",
    "requires_real_time_information": "missing",
    "multiple_interpretations": "ambiguous",
    "timeframe_ambiguity": "ambiguous",
    "contradicting_requirements": "contradictory",
    "contradicts_real_life": "contradictory",
}


def digest_of(value: object) -> str:
    """SHA-256 of the canonical JSON of `value`, as 64 hex digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One planted gap of a task and the answer that only a person could give."""

    blocker_id: BlockerId
    description: str
    resolution: str
    """Given to the agent byte for byte when a question matches."""
    example_questions: tuple[str, ...] = ()
    type: str | None = None
    """The source's own string."""
    subtype: str | None = None

    @property
    def category(self) -> BlockerCategory | None:
        """The paper's category by the subtype, else by the type; None where neither tells."""
        for name in (self.subtype, self.type):
            if name is not None and name.startswith("confusing_"):
                return "ambiguous"
            if name in _CATEGORIES:
                return _CATEGORIES[name]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The blockers of one task, in the order of their source. Never shown to the agent."""

    blockers: tuple[Blocker, ...]
    digest: str = field(init=False, repr=False)
    """Changes when any blocker's id, description, resolution, examples or type does."""

    def __post_init__(self) -> None:
        digest = digest_of(
            [
                [b.blocker_id, b.description, b.resolution, list(b.example_questions), b.type]
                for b in self.blockers
            ]
        )
        object.__setattr__(self, "digest", digest)

    def get(self, blocker_id: str) -> Blocker | None:
        """The blocker with exactly this id, or None."""
        return next((b for b in self.blockers if b.blocker_id == blocker_id), None)

    def __len__(self) -> int:
        return len(self.blockers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """One file that a task needs and that may have to be fetched."""

    role: ArtefactRole
    name: str
    """File name as the task knows it, without a folder: `financial.sqlite`, `account.csv`."""
    source: str | None = None
    """Where it is fetched from, as `hf://buckets/ORG/BUCKET/PATH`, http(s) URL or path."""
    sha256: str | None = None
    """As published, or of the copy in the store when nothing is published."""
    size_bytes: int | None = None
    image: str | None = None
    """For role `image`: the tag that the archive brings."""
    stored_sha256: str | None = None
    """Digest of the copy in the store; None while the artefact is missing."""

    @property
    def is_missing(self) -> bool:
        """Whether the file has still to be fetched."""
        return self.stored_sha256 is None


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlEnvironment:
    """A database with its descriptions and business rules."""

    database_name: str
    database: Artefact
    descriptions: tuple[Artefact, ...] = ()
    """`table_descriptions.csv` and one CSV a table, as released."""
    business_info: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryEnvironment:
    """A repository, either inside an image or as a source tree of our own."""

    repository: str
    """Display name, such as `ansible/ansible`."""
    language: str
    base_commit: str = "HEAD"
    working_dir: str = "/app"
    image: Artefact | None = None
    tree: Artefact | None = None
    """A tar of the source tree, for tasks that bring no image."""
    visible_test_command: tuple[str, ...] = ()
    """Runs the tests that the agent may see; empty when the task names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlGold:
    """The hidden answer of a SQL task."""

    query: str | None
    result_csv: str | None = None
    """The released golden CSV; it cannot tell NULL from empty text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryGold:
    """The hidden answer and the hidden tests of a repository task."""

    patch: str | None
    test_patch: str = ""
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    test_command: tuple[str, ...] = ()
    """Runs the tests when the image has no runner of its own; test ids are appended."""
    run_script_path: str | None = None
    """In the image; None for tasks of our own."""
    parser_script_path: str | None = None


Environment = SqlEnvironment | RepositoryEnvironment
Gold = SqlGold | RepositoryGold


@dataclass(frozen=True, kw_only=True)
class Task:
    """A problem statement with an environment, a blocker registry and a hidden answer."""

    task_id: TaskId
    statement: str
    """The question or problem text as written, without instructions about tools."""
    registry: Registry
    environment: Environment
    gold: Gold
    source: str
    """Where the task came from: `harbor`, `huggingface`, `instances`, `folder` or `starter`."""
    aliases: tuple[str, ...] = ()
    released_instructions: Mapping[str, str] = field(default_factory=dict[str, str])
    """The released `instruction.md` of each mode, for `--prompt released`."""
    warnings: tuple[str, ...] = ()
    """What the importer mended, in words; shown by `tasks lint`."""

    @property
    def kind(self) -> TaskKind:
        """Follows from the environment."""
        return TaskKind.SQL if isinstance(self.environment, SqlEnvironment) else TaskKind.REPOSITORY

    @property
    def artefacts(self) -> tuple[Artefact, ...]:
        """Every file of the environment, present or missing."""
        match self.environment:
            case SqlEnvironment(database=database, descriptions=descriptions):
                return (database, *descriptions)
            case RepositoryEnvironment(image=image, tree=tree):
                return tuple(a for a in (image, tree) if a is not None)

    @cached_property
    def digest(self) -> str:
        """Identity of this version: statement, registry, gold and business rules.

        Artefacts have digests of their own, so that fetching a database changes nothing here.
        """
        rules = (
            list(self.environment.business_info)
            if isinstance(self.environment, SqlEnvironment)
            else []
        )
        return digest_of([self.statement, self.registry.digest, _gold_fields(self.gold), rules])


def _gold_fields(gold: Gold) -> list[object]:
    match gold:
        case SqlGold():
            return [gold.query, gold.result_csv]
        case RepositoryGold():
            return [
                gold.patch,
                gold.test_patch,
                list(gold.fail_to_pass),
                list(gold.pass_to_pass),
                list(gold.test_files),
                list(gold.test_command),
            ]
