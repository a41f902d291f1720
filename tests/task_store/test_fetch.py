"""Fetching over real HTTP on the loopback, where a server stands in for the hub."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from task_store import (
    Artefact,
    ArtefactMismatchError,
    Registry,
    RepositoryEnvironment,
    RepositoryGold,
    SqlEnvironment,
    SqlGold,
    Task,
    TaskId,
    TaskStore,
)
from task_store.errors import FetchError
from task_store.fetch.fetcher import FetchConfig, Fetcher, partial_dir
from task_store.fetch.partials import PartialFiles
from task_store.starter_pack import StarterPack
from tests.support.hub import FakeHub, running_hub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = bytes(range(256)) * 40
DIGEST = hashlib.sha256(CONTENT).hexdigest()
IN_BUCKET = "buckets/Own/sql/sql_0/d.sqlite"


@pytest.fixture
def store(home: Path, tmp_path: Path) -> TaskStore:
    return TaskStore(home, starter=StarterPack(tmp_path / "no-starter"))


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with running_hub() as running:
        running.files[IN_BUCKET] = CONTENT
        yield running


@pytest.fixture
def fetcher(store: TaskStore, hub: FakeHub) -> Iterator[Fetcher]:
    with make_fetcher(store, hub) as made:
        yield made


def make_fetcher(
    store: TaskStore,
    hub: FakeHub,
    *,
    image_archive_root: Path | None = None,
    image_bucket: str | None = None,
    waits: list[float] | None = None,
) -> Fetcher:
    config = FetchConfig(
        hf_endpoint=hub.address,
        image_archive_root=image_archive_root,
        image_bucket=image_bucket,
        attempts=3,
    )
    return Fetcher(store, config, sleep=([] if waits is None else waits).append)


def sql_task(store: TaskStore, **fields: object) -> Task:
    database = replace(
        Artefact(role="database", name="d.sqlite", source=f"hf://{IN_BUCKET}"),
        **fields,  # pyright: ignore[reportArgumentType]  # fields of the record
    )
    environment = SqlEnvironment(database_name="d", database=database)
    return added(store, environment)


def image_task(store: TaskStore) -> Task:
    image = Artefact(
        role="image", name="i.tar.zst", source="hf://buckets/Own/images/all/i.tar.zst", image="i:1"
    )
    return added(store, RepositoryEnvironment(repository="a/b", language="go", image=image))


def added(store: TaskStore, environment: SqlEnvironment | RepositoryEnvironment) -> Task:
    is_sql = isinstance(environment, SqlEnvironment)
    task = Task(
        task_id=TaskId("t"),
        statement="How many?",
        registry=Registry(blockers=()),
        environment=environment,
        gold=SqlGold(query=None) if is_sql else RepositoryGold(patch=None),
        source="folder",
    )
    store.add(task)
    return store.get("t")


def fetch(fetcher: Fetcher, task: Task, seen: list[int] | None = None) -> Path:
    def note(done: int, total: int | None) -> None:
        assert total is None or done <= total
        if seen is not None:
            seen.append(done)

    return fetcher.fetch(task, task.artefacts[0], note)


def test_a_file_of_a_bucket_comes_into_the_store(
    store: TaskStore, fetcher: Fetcher, hub: FakeHub
) -> None:
    task = sql_task(store)
    seen: list[int] = []

    path = fetch(fetcher, task, seen)

    assert path.read_bytes() == CONTENT
    assert seen[-1] == len(CONTENT)
    assert store.get("t").artefacts[0].stored_sha256 == DIGEST
    assert store.get("t").digest == task.digest
    assert store.list()[0].missing == ()
    asked = len(hub.requests)
    assert fetch(fetcher, store.get("t")) == path
    assert len(hub.requests) == asked


def test_a_plain_address_needs_no_hub(store: TaskStore, fetcher: Fetcher, hub: FakeHub) -> None:
    hub.files["plain/d.sqlite"] = CONTENT
    task = sql_task(store, source=f"{hub.address}/plain/d.sqlite", sha256=DIGEST)

    assert fetch(fetcher, task).read_bytes() == CONTENT

    assert hub.requests == ["GET plain/d.sqlite"]


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_local_path_is_copied(
    store: TaskStore, fetcher: Fetcher, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "local file").write_bytes(CONTENT)
    task = sql_task(store, source=f"{scheme}{tmp_path}/local file")

    assert fetch(fetcher, task).read_bytes() == CONTENT

    assert (tmp_path / "local file").read_bytes() == CONTENT


def test_a_broken_connection_goes_on_where_it_broke(store: TaskStore, hub: FakeHub) -> None:
    hub.cut_after[IN_BUCKET] = 1000
    hub.statuses[IN_BUCKET] = [503]
    waits: list[float] = []

    with make_fetcher(store, hub, waits=waits) as fetcher:
        assert fetch(fetcher, sql_task(store)).read_bytes() == CONTENT

    assert hub.requests[-2:] == [f"GET {IN_BUCKET}", f"GET {IN_BUCKET} bytes=1000-"]
    assert waits == [2.0, 2.0]


def test_an_interrupted_fetch_goes_on_in_the_next_one(store: TaskStore, hub: FakeHub) -> None:
    task = sql_task(store)
    hub.cut_after[IN_BUCKET] = 1000
    hub.statuses[IN_BUCKET] = []
    with make_fetcher(store, hub) as first, pytest.raises(KeyboardInterrupt):
        first.fetch(task, task.artefacts[0], interrupt)
    hub.requests.clear()

    with make_fetcher(store, hub) as second:
        assert fetch(second, task).read_bytes() == CONTENT

    assert hub.requests == [f"GET {IN_BUCKET} bytes=1000-"]


def interrupt(done: int, total: int | None) -> None:
    assert total == len(CONTENT)
    raise KeyboardInterrupt


@pytest.mark.parametrize("has_tags", [True, False])
def test_a_file_that_changed_meanwhile_is_not_pieced_together(
    store: TaskStore, hub: FakeHub, *, has_tags: bool
) -> None:
    hub.has_tags = has_tags
    task = sql_task(store)
    hub.cut_after[IN_BUCKET] = 1000
    with make_fetcher(store, hub) as first, pytest.raises(KeyboardInterrupt):
        first.fetch(task, task.artefacts[0], interrupt)
    hub.files[IN_BUCKET] = CONTENT[::-1]

    with make_fetcher(store, hub) as second:
        assert fetch(second, task).read_bytes() == CONTENT[::-1]


def test_a_file_that_became_shorter_is_fetched_anew(store: TaskStore, hub: FakeHub) -> None:
    hub.files["plain"] = CONTENT
    hub.has_tags = False
    task = sql_task(store, source=f"{hub.address}/plain", sha256=hashlib.sha256(b"new").hexdigest())
    hub.cut_after["plain"] = 1000
    with make_fetcher(store, hub) as first, pytest.raises(KeyboardInterrupt):
        first.fetch(task, task.artefacts[0], interrupt)
    hub.files["plain"] = b"new"

    with make_fetcher(store, hub) as second:
        assert fetch(second, task).read_bytes() == b"new"

    assert hub.requests == ["GET plain", "GET plain bytes=1000-", "GET plain"]


@pytest.mark.parametrize(
    ("published", "complaint"),
    [
        ({"sha256": "0" * 64}, "d.sqlite: its SHA-256 is"),
        ({"size_bytes": 7}, f"its size is {len(CONTENT)} there and 7 is published"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_not_kept(
    store: TaskStore, fetcher: Fetcher, published: dict[str, object], complaint: str
) -> None:
    task = sql_task(store, **published)

    with pytest.raises(ArtefactMismatchError, match=re.escape(complaint)):
        fetch(fetcher, task)

    assert store.get("t").artefacts[0].is_missing
    assert store.files.digests() == set()
    assert not [p for p in partial_dir(store).iterdir() if p.suffix == ""]


def test_a_plain_file_of_another_size_is_not_kept(
    store: TaskStore, fetcher: Fetcher, hub: FakeHub
) -> None:
    hub.files["plain"] = CONTENT
    task = sql_task(store, source=f"{hub.address}/plain", size_bytes=7)

    with pytest.raises(ArtefactMismatchError, match="its size is"):
        fetch(fetcher, task)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("hf://buckets/Own/sql/no.sqlite", 'is not there, or needs a login: see "hf auth login"'),
        ("hf://buckets/Own/none/no.sqlite", "is not there, or needs a login"),
        ("hf://buckets/Own", "hf://buckets/Own: "),
        ("{hub}/none", "/none: answered 404 Not Found"),
        ("ftp://h.test/d", "ftp:// is no way to fetch"),
        ("/none/d.sqlite", "/none/d.sqlite: No such file or directory"),
        ("http://127.0.0.1:1/d", "http://127.0.0.1:1/d: "),
        ("http://[/d", "http://[/d: "),
        (None, "d.sqlite: its source names no address"),
    ],
)
def test_what_cannot_be_fetched_is_named(
    store: TaskStore, fetcher: Fetcher, hub: FakeHub, source: str | None, complaint: str
) -> None:
    task = sql_task(store, source=source and source.replace("{hub}", hub.address))

    with pytest.raises(FetchError, match=re.escape(complaint)):
        fetch(fetcher, task)


def test_a_host_that_stays_down_is_given_up_and_the_beginning_stays(
    store: TaskStore, hub: FakeHub
) -> None:
    task = sql_task(store)
    hub.cut_after[IN_BUCKET] = 1000
    hub.statuses[IN_BUCKET] = []
    waits: list[float] = []
    with make_fetcher(store, hub, waits=waits) as first, pytest.raises(KeyboardInterrupt):
        first.fetch(task, task.artefacts[0], interrupt)
    hub.statuses[IN_BUCKET] = [503] * 3

    with (
        make_fetcher(store, hub, waits=waits) as second,
        pytest.raises(FetchError, match=r"answered 503 .*; the next try goes on from 1000 bytes"),
    ):
        fetch(second, task)

    assert waits == [2.0, 4.0]


def test_an_image_comes_from_a_local_tree_first(
    store: TaskStore, hub: FakeHub, tmp_path: Path
) -> None:
    task = image_task(store)
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "i.tar.zst").write_bytes(b"local")

    with make_fetcher(store, hub, image_archive_root=tmp_path, image_bucket="My/own") as fetcher:
        assert fetch(fetcher, task).read_bytes() == b"local"


def test_an_image_comes_from_another_bucket_if_told(
    store: TaskStore, hub: FakeHub, tmp_path: Path
) -> None:
    hub.files["buckets/My/own/all/i.tar.zst"] = b"from my bucket"
    task = image_task(store)

    with make_fetcher(store, hub, image_archive_root=tmp_path, image_bucket="My/own") as fetcher:
        assert fetch(fetcher, task).read_bytes() == b"from my bucket"


def test_two_at_a_time_do_not_fetch_the_same_file(store: TaskStore, fetcher: Fetcher) -> None:
    task = sql_task(store)

    with (
        PartialFiles(partial_dir(store)).held(f"hf://{IN_BUCKET}"),
        pytest.raises(FetchError, match="is being fetched by another process"),
    ):
        fetch(fetcher, task)


def test_sweeping_leaves_a_running_download_alone(store: TaskStore) -> None:
    partials = PartialFiles(partial_dir(store))
    with partials.held("a") as idle:
        idle.write_bytes(b"12345")

    with partials.held("b") as running:
        running.write_bytes(b"67")
        freed_bytes = partials.sweep()
        assert running.exists()

    assert freed_bytes == 5
    assert not idle.exists()


def test_a_file_that_does_not_fit_is_not_begun(
    store: TaskStore, fetcher: Fetcher, hub: FakeHub
) -> None:
    task = sql_task(store, source=f"{hub.address}/plain", size_bytes=1 << 60)

    with pytest.raises(FetchError, match=r"needs 1,152,921,504,606,846,976 bytes and .* are free"):
        fetch(fetcher, task)

    assert hub.requests == []


def test_the_rows_of_a_data_set_come_by_its_name(
    store: TaskStore, fetcher: Fetcher, hub: FakeHub
) -> None:
    hub.files["datasets/Own/rows/data/train-0.jsonl"] = b'{"a": 1}\n'
    hub.files["datasets/Own/rows/data/test-0.jsonl"] = b"{}\n"
    hub.files["datasets/Own/rows/README.md"] = b"#"

    folder = fetcher.fetch_rows("Own/rows", lambda _done, _total: None)

    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "train-0.jsonl": b'{"a": 1}\n'
    }
    with pytest.raises(FetchError, match="hf://datasets/Own/none: is not there"):
        fetcher.fetch_rows("Own/none", lambda _done, _total: None)
    del hub.files["datasets/Own/rows/data/train-0.jsonl"]
    del hub.files["datasets/Own/rows/data/test-0.jsonl"]
    with make_fetcher(store, hub) as again, pytest.raises(FetchError, match="has no files that"):
        again.fetch_rows("Own/rows", lambda _done, _total: None)
