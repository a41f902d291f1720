"""The repository tools on a real git repository, each in every sandbox where that matters."""

from __future__ import annotations

import subprocess
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio
import pytest

from hil_mcp.errors import AgentFacingError
from hil_mcp.repository.workbench import Workbench
from hil_mcp.tools.command_output import command_output
from hil_mcp.tools.edit_file import edit_file
from hil_mcp.tools.list_files import list_files
from hil_mcp.tools.read_file import read_file
from hil_mcp.tools.run_command import run_command
from hil_mcp.tools.run_tests import run_tests
from hil_mcp.tools.search_code import search_code
from hil_mcp.tools.submit_patch import submit_patch
from tests.support.sandboxes import EACH_SANDBOX, opened

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

    from hil_mcp.sandbox.sandbox import Sandbox, SandboxKind
    from hil_mcp.tools.tool import Tool


@dataclass
class Desk:
    """One session's tools, called as the server calls them."""

    sandbox: Sandbox
    tools: dict[str, Tool]
    submissions: list[str]

    async def call(self, tool: str, **arguments: str | int | bool) -> str:
        return await self.tools[tool].handler(self.tools[tool].check(arguments))

    async def shell(self, script: str) -> str:
        result = await self.sandbox.exec(["sh", "-c", script], timeout_s=20, limit_bytes=100_000)
        assert result.status == 0, result.error_text
        return result.text


@asynccontextmanager
async def desk(
    kind: SandboxKind, tree: Path, *, tests: Sequence[str] = (), wait_s: float = 20
) -> AsyncGenerator[Desk]:
    submissions: list[str] = []

    async def submit(_kind: Literal["patch"], content: str) -> None:
        submissions.append(content)

    bench = Workbench(lambda: opened(kind, tree))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.run)
        made = [
            list_files(bench),
            read_file(bench),
            search_code(bench),
            edit_file(bench),
            run_command(bench.jobs, wait_s=wait_s),
            command_output(bench.jobs),
            run_tests(bench.jobs, tests, wait_s=wait_s),
            submit_patch(bench, bench.base, submit),
        ]
        await bench.base()
        yield Desk(bench, {tool.name: tool for tool in made}, submissions)
        await bench.close()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "src").mkdir(parents=True)
    (folder / ".gitignore").write_text("*.log\nbuild/\n")
    (folder / "src" / "queue.py").write_text("def put():\n    pass\n\n\ndef get():\n    pass\n")
    (folder / "src" / "win.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (folder / "src" / "latin.txt").write_bytes(b"caf\xe9\nplain\n")
    (folder / "old.txt").write_text("old\n")
    (folder / "logo.bin").write_bytes(bytes(range(256)))
    (folder / "run.sh").write_text("echo run\n")
    return folder


@pytest.fixture(params=EACH_SANDBOX)
def kind(request: pytest.FixtureRequest) -> SandboxKind:
    return request.param


async def test_files_are_listed_without_ignored_and_deleted_ones(
    kind: SandboxKind, tree: Path
) -> None:
    async with desk(kind, tree) as at:
        await at.shell("echo x > a.log; mkdir build; echo x > build/b; echo x > new.py; rm old.txt")

        assert await at.call("list_files") == (
            ".gitignore\nlogo.bin\nnew.py\nrun.sh\nsrc/latin.txt\nsrc/queue.py\nsrc/win.txt"
        )
        assert await at.call("list_files", path="src", pattern="*.py") == "src/queue.py"
        assert await at.call("list_files", pattern="src/*.txt") == "src/latin.txt\nsrc/win.txt"
        assert await at.call("list_files", pattern="*.rs") == "No files."


async def test_a_long_list_comes_in_pages(tree: Path) -> None:
    for number in range(400):
        (tree / f"f{number:04}.txt").touch()
    async with desk("local", tree) as at:
        first = await at.call("list_files", pattern="f*.txt")
        second = await at.call("list_files", pattern="f*.txt", offset=300)

        assert first.endswith("f0299.txt\n(1-300 of 400 files; offset=300 gives the next)")
        assert second.startswith("f0300.txt\n")
        assert second.endswith("(301-400 of 400 files)")


async def test_a_tree_whose_git_folder_is_gone_is_still_listed(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell("rm -rf .git")

        assert "src/queue.py" in (await at.call("list_files")).splitlines()
        assert "nothing was submitted" in await at.call("submit_patch")


async def test_a_range_of_lines_is_read_with_numbers(kind: SandboxKind, tree: Path) -> None:
    async with desk(kind, tree) as at:
        text = await at.call("read_file", path="src/queue.py", start_line=5, end_line=5)

        assert text == "     5\tdef get():\n(lines 5-5 of 6; start_line=6 gives the next)"


async def test_the_whole_of_a_short_file_is_read_without_a_note(tree: Path) -> None:
    async with desk("local", tree) as at:
        assert await at.call("read_file", path="run.sh") == "     1\techo run"
        await at.shell(": > empty; printf 'no end' > open")
        assert await at.call("read_file", path="empty") == "empty is empty."
        assert await at.call("read_file", path="open") == "     1\tno end"
        assert (
            await at.call("read_file", path="run.sh", start_line=9)
            == "run.sh has 1 lines; there is none at 9."
        )


async def test_binary_crlf_and_other_encodings_are_said(tree: Path) -> None:
    async with desk("local", tree) as at:
        assert (
            await at.call("read_file", path="logo.bin")
            == "logo.bin is a binary file of 256 bytes; it is not shown."
        )
        assert (await at.call("read_file", path="src/win.txt")).endswith("(line ends are CRLF)")
        latin = await at.call("read_file", path="src/latin.txt")
        assert "caf\N{REPLACEMENT CHARACTER}" in latin
        assert "not UTF-8" in latin


async def test_a_huge_file_is_read_by_parts(tree: Path) -> None:
    with (tree / "huge.txt").open("w") as file:
        file.writelines(f"line {number}\n" for number in range(1, 300_001))
    (tree / "wide.txt").write_text("x" * 3_000_000 + "\n")
    async with desk("local", tree) as at:
        first = await at.call("read_file", path="huge.txt")
        last = await at.call("read_file", path="huge.txt", start_line=299_999)
        wide = await at.call("read_file", path="wide.txt")

        assert len(first) < 9_000
        assert "of 300000; start_line=" in first
        assert "line 300000" in last
        assert len(wide) < 3_000
        assert "more characters]" in wide


async def test_no_path_leads_out_of_the_tree(tree: Path) -> None:
    (tree.parent / "outside.txt").write_text("secret\n")
    (tree / "out").symlink_to(tree.parent / "outside.txt")
    (tree / "dir").symlink_to("/etc")
    (tree / "dangling").symlink_to(tree.parent / "made.txt")
    calls: dict[str, dict[str, str]] = {
        "read_file": {},
        "edit_file": {"new_text": "x"},
        "search_code": {"pattern": "root|secret"},
        "list_files": {},
    }
    leading_out = ["../x", "/etc/passwd", "out", "src/../../x", "dir/passwd", "dangling"]
    async with desk("local", tree) as at:
        for tool, arguments in calls.items():
            for path in leading_out:
                text = await at.call(tool, path=path, **arguments)

                assert text.endswith("is outside the repository."), (tool, path, text)

    assert not (tree.parent / "made.txt").exists()


async def test_a_link_inside_the_tree_is_followed(tree: Path) -> None:
    (tree / "q.py").symlink_to("src/queue.py")
    async with desk("local", tree) as at:
        assert "def put" in await at.call("read_file", path="q.py")
        assert "def put" in await at.call("read_file", path=f"{at.sandbox.working_dir}/q.py")


async def test_what_is_no_readable_file_is_refused_in_words(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell("mkfifo pipe")
        for path, text in {
            "nothing.py": "Error: there is no file nothing.py.",
            "src": "Error: src is a directory.",
            "pipe": "Error: pipe is not a regular file.",
            "": "Error: . is a directory.",
        }.items():
            assert await at.call("read_file", path=path) == text


async def test_a_name_that_is_not_utf8_can_be_listed_and_read(
    kind: SandboxKind, tree: Path
) -> None:
    async with desk(kind, tree) as at:
        await at.shell("printf 'content\\n' > \"$(printf 'caf\\351 x.txt')\"")

        assert "caf\\xe9 x.txt" in (await at.call("list_files")).splitlines()
        assert "content" in await at.call("read_file", path="caf\\xe9 x.txt")
        assert await at.call("search_code", pattern="^content") == "caf\\xe9 x.txt:1:content"


@pytest.mark.parametrize("has_ripgrep", [True, False])
async def test_code_is_searched_with_and_without_ripgrep(has_ripgrep: bool, tree: Path) -> None:
    (tree / "ignored.log").write_text("def put\n")
    (tree / "long.py").write_text("put" + "y" * 1000 + "\n")
    async with desk("local", tree) as at:
        if has_ripgrep and "rg" not in await at.shell("command -v rg || echo none"):
            pytest.skip("ripgrep is not installed")
        if not has_ripgrep:
            at = _without_ripgrep(at)
        await at.shell("echo 'DEF PUT' > new.txt")

        assert await at.call("search_code", pattern=r"def \w+\(", glob="*.py") == (
            "src/queue.py:1:def put():\nsrc/queue.py:5:def get():"
        )
        assert await at.call("search_code", pattern="def put", ignore_case=True) == (
            "new.txt:1:DEF PUT\nsrc/queue.py:1:def put():"
        )
        assert await at.call("search_code", pattern="two", path="src") == "src/win.txt:2:two"
        assert await at.call("search_code", pattern="two", path="src", glob="*.py") == "No match."
        assert await at.call("search_code", pattern="two", path="src/win.txt") == (
            "src/win.txt:2:two"
        )
        assert "more characters]" in await at.call("search_code", pattern="^puty")
        assert (await at.call("search_code", pattern="(")).startswith("Error: the search failed")


def _without_ripgrep(at: Desk) -> Desk:
    inner = at.sandbox

    class WithoutRipgrep:
        """The same sandbox where `command -v rg` finds nothing."""

        working_dir = inner.working_dir

        async def exec(self, command: Sequence[str], **options: object) -> object:
            hidden = [part.replace("command -v rg", "false") for part in command]
            return await inner.exec(hidden, **options)  # pyright: ignore[reportArgumentType]

    at.tools["search_code"] = search_code(WithoutRipgrep())  # pyright: ignore[reportArgumentType]
    return at


async def test_many_matches_come_in_pages(tree: Path) -> None:
    (tree / "many.txt").write_text("hit\n" * 250)
    async with desk("local", tree) as at:
        first = await at.call("search_code", pattern="hit")
        last = await at.call("search_code", pattern="hit", offset=200)

        assert first.endswith("many.txt:100:hit\n(1-100 of 250 matches; offset=100 gives the next)")
        assert last.endswith("many.txt:250:hit\n(201-250 of 250 matches)")


async def test_text_that_stands_once_is_replaced_and_the_mode_stays(
    kind: SandboxKind, tree: Path
) -> None:
    (tree / "run.sh").chmod(0o755)
    async with desk(kind, tree) as at:
        reply = await at.call("edit_file", path="run.sh", old_text="echo run", new_text="echo ran")

        assert reply == "Replaced text in run.sh at line 1."
        assert await at.shell("./run.sh") == "ran\n"


async def test_text_that_is_absent_or_stands_twice_is_refused(tree: Path) -> None:
    async with desk("local", tree) as at:
        path = "src/queue.py"
        absent = await at.call("edit_file", path=path, old_text="def pop", new_text="x")
        twice = await at.call("edit_file", path=path, old_text="    pass", new_text="x")
        same = await at.call("edit_file", path=path, old_text="put", new_text="put")

        assert absent == f"Error: old_text does not stand in {path}: it must fit to the character."
        assert twice.startswith(f"Error: old_text stands 2 times in {path} (at lines 2, 6)")
        assert same == "Error: new_text is the same as old_text."


async def test_crlf_and_bytes_that_are_not_utf8_survive_an_edit(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.call("edit_file", path="src/win.txt", old_text="one\ntwo", new_text="1\n2\n2b")
        await at.call("edit_file", path="src/win.txt", insert_after_line=0, new_text="top")
        await at.call("edit_file", path="src/latin.txt", old_text="plain", new_text="fancy é")
        win = await at.sandbox.exec(["cat", "src/win.txt"], timeout_s=5, limit_bytes=1000)
        latin = await at.sandbox.exec(["cat", "src/latin.txt"], timeout_s=5, limit_bytes=1000)

        assert win.stdout == b"top\r\n1\r\n2\r\n2b\r\nthree\r\n"
        assert latin.stdout == b"caf\xe9\nfancy \xc3\xa9\n"


async def test_lines_are_inserted_after_a_line(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell("printf 'a\\nb' > open.txt")
        reply = await at.call("edit_file", path="open.txt", insert_after_line=2, new_text="c\nd")
        beyond = await at.call("edit_file", path="open.txt", insert_after_line=9, new_text="e")

        assert reply == "Inserted 2 lines in open.txt after line 2."
        assert await at.shell("cat open.txt") == "a\nb\nc\nd\n"
        assert beyond == "Error: open.txt has 4 lines: there is no line 9."


async def test_a_file_is_created_with_its_folders_and_never_over_another(
    kind: SandboxKind, tree: Path
) -> None:
    async with desk(kind, tree) as at:
        made = await at.call("edit_file", path="new/deep/file.py", new_text="x = 'ü'\n")
        again = await at.call("edit_file", path="new/deep/file.py", new_text="y\n")

        assert made == "Created new/deep/file.py."
        assert again == "Error: new/deep/file.py exists already; give old_text to change it."
        assert await at.shell("cat new/deep/file.py") == "x = 'ü'\n"


async def test_arguments_that_do_not_go_together_are_an_error(tree: Path) -> None:
    async with desk("local", tree) as at:
        for tool, arguments in (
            ("edit_file", {"path": "a", "new_text": "", "old_text": "x", "insert_after_line": 1}),
            ("edit_file", {"path": "a", "new_text": "", "old_text": ""}),
            ("read_file", {"path": "run.sh", "start_line": 0}),
            ("read_file", {"path": "run.sh", "start_line": 5, "end_line": 4}),
            ("search_code", {"pattern": ""}),
            ("search_code", {"pattern": "x", "offset": -1}),
            ("list_files", {"offset": -1}),
            ("run_command", {"command": " "}),
            ("run_command", {"command": "true", "timeout_s": 0}),
            ("command_output", {"job": 1, "wait_s": 100}),
        ):
            with pytest.raises(AgentFacingError):
                await at.call(tool, **arguments)


async def test_a_command_gives_its_output_and_status(kind: SandboxKind, tree: Path) -> None:
    async with desk(kind, tree) as at:
        assert await at.call("run_command", command="echo out; echo err >&2; exit 3") == (
            "out\nerr\n(exit status 3)"
        )
        assert await at.call("run_command", command="cat") == "(exit status 0)"


async def test_long_output_is_cut_in_the_middle_with_its_size(tree: Path) -> None:
    async with desk("local", tree) as at:
        text = await at.call("run_command", command="seq 1 20000")

        assert text.startswith("1\n2\n")
        assert text.endswith("20000\n(exit status 0)")
        assert "bytes left out]" in text
        assert len(text) < 8_200


async def test_a_long_command_goes_on_as_a_job(kind: SandboxKind, tree: Path) -> None:
    async with desk(kind, tree, wait_s=0.5) as at:
        begun = await at.call(
            "run_command", command="echo one; until [ -e go ]; do sleep 0.1; done; echo two"
        )
        await at.shell(": > go")
        ended = await at.call("command_output", job=1, wait_s=20)

        assert begun.startswith("one\n(still running after ")
        assert "command_output with job=1" in begun
        assert ended == "one\ntwo\n(exit status 0)"


async def test_a_job_can_be_stopped_and_is_killed_at_its_time(
    kind: SandboxKind, tree: Path
) -> None:
    async with desk(kind, tree) as at:
        await at.call("run_command", command="echo a; sleep 600", background=True)
        stopped = await at.call("command_output", job=1, stop=True)
        killed = await at.call("run_command", command="echo b; sleep 600", timeout_s=1)

        assert stopped.endswith("(stopped)")
        assert killed == "b\n(killed after 1 s)"
        assert await at.call("command_output", job=9) == "Error: there is no job 9."


async def test_too_many_running_commands_are_refused(tree: Path) -> None:
    async with desk("local", tree) as at:
        for _ in range(8):
            await at.call("run_command", command="sleep 600", background=True)

        assert (await at.call("run_command", command="true")).startswith("Error: 8 commands are")


async def test_the_visible_tests_are_run(tree: Path) -> None:
    async with desk("local", tree, tests=["sh", "run.sh"]) as at:
        assert await at.call("run_tests") == "run\n(exit status 0)"
    async with desk("local", tree) as at:
        assert "names no test command" in await at.call("run_tests")


async def test_a_patch_holds_every_kind_of_change_and_applies(
    kind: SandboxKind, tree: Path, tmp_path: Path
) -> None:
    async with desk(kind, tree) as at:
        await at.shell(
            "sed -i 's/pass/return 1/' src/queue.py; printf 'new\\n' > src/new.py; rm old.txt;"
            "echo x > a.log; printf 'one\\r\\nTWO\\r\\nthree\\r\\n' > src/win.txt;"
            "printf 'a\\0b' > logo.bin; printf '\\177ELF\\0' > tool; chmod 755 run.sh;"
            "mkdir -p src/__pycache__; printf 'x\\0' > src/__pycache__/q.pyc;"
            "git mv src/latin.txt src/moved.txt; git reset -q; echo staged > s.txt; git add s.txt"
        )
        index_before = await at.shell("git ls-files -s; git status --porcelain; sha1sum .git/index")
        reply = await at.call("submit_patch")
        index_after = await at.shell("git ls-files -s; git status --porcelain; sha1sum .git/index")

    assert reply.startswith("Submission received: ")
    assert "Left out, binary: logo.bin, tool." in reply
    assert "Left out, generated: src/__pycache__/q.pyc." in reply
    assert index_after == index_before
    applied = _applied(tree, at.submissions[-1], tmp_path)
    assert (applied / "src/queue.py").read_text().count("return 1") == 2
    assert (applied / "src/new.py").read_text() == "new\n"
    assert (applied / "s.txt").read_text() == "staged\n"
    assert not (applied / "old.txt").exists()
    assert not (applied / "a.log").exists()
    assert not (applied / "tool").exists()
    assert (applied / "src/win.txt").read_bytes() == b"one\r\nTWO\r\nthree\r\n"
    assert (applied / "logo.bin").read_bytes() == bytes(range(256))
    assert (applied / "src/moved.txt").read_bytes() == b"caf\xe9\nplain\n"
    assert not (applied / "src/latin.txt").exists()
    assert (applied / "run.sh").stat().st_mode & 0o111
    assert "rename from src/latin.txt" in at.submissions[-1]


def _applied(tree: Path, patch: str, tmp_path: Path) -> Path:
    """A clean copy of the tree with the patch on it, by git on this machine."""
    target = tmp_path / "applied"
    subprocess.run(["cp", "-a", tree, target], check=True)
    (tmp_path / "p.patch").write_bytes(patch.encode("utf-8", "surrogateescape"))
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    for check in (["--check"], []):
        subprocess.run(["git", "apply", *check, "../p.patch"], cwd=target, check=True)
    return target


@pytest.mark.parametrize(
    "script",
    [
        "git checkout -q -b work && echo work > w.txt && git add w.txt && git commit -qm work",
        "echo work > w.txt && git add w.txt && git commit -qm w && git commit -q --amend -m x &&"
        "git reflog expire --expire=now --all && git gc -q --prune=now",
        "echo no > old.txt && git stash -q && echo work > w.txt",
        "echo work > w.txt && git checkout -q --orphan o && git commit -qam other",
    ],
    ids=["committed on a branch", "amended and pruned", "stashed", "orphan branch"],
)
async def test_committed_branched_and_stashed_work_is_handled(script: str, tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell(script)
        branch = await at.shell("git branch --show-current; git stash list")
        await at.call("submit_patch")

        assert at.submissions[-1].count("diff --git") == 1
        assert "+++ b/w.txt\n@@ -0,0 +1 @@\n+work\n" in at.submissions[-1]
        assert await at.shell("git branch --show-current; git stash list") == branch


async def test_bytes_that_are_not_utf8_survive_in_a_patch(tree: Path, tmp_path: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell(
            "printf 'th\\351\\nplain\\n' > src/latin.txt; echo x > \"$(printf '\\351')\""
        )
        await at.call("submit_patch")

    applied = _applied(tree, at.submissions[-1], tmp_path)
    assert (applied / "src/latin.txt").read_bytes() == b"th\xe9\nplain\n"


async def test_an_unchanged_tree_gives_an_empty_patch(tree: Path) -> None:
    async with desk("local", tree) as at:
        reply = await at.call("submit_patch")

        assert reply == "Submission received: nothing has changed."
        assert at.submissions == [""]


async def test_a_patch_that_is_too_long_is_refused_and_a_long_one_flagged(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell("yes 'a long line of text for the patch' | head -c 2000000 > long.txt")
        flagged = await at.call("submit_patch")
        await at.shell("yes 'a long line of text for the patch' | head -c 12000000 > long.txt")
        refused = await at.call("submit_patch")

        assert "The patch is longer than 1,000,000 bytes." in flagged
        assert refused.startswith("Error: nothing was submitted: the change is longer than")
        assert len(at.submissions) == 1


async def test_settings_of_the_repository_do_not_change_the_patch(tree: Path) -> None:
    async with desk("local", tree) as at:
        await at.shell(
            "git config diff.noprefix true; git config core.hooksPath /nowhere;"
            "git config diff.external false; git config color.ui always;"
            "git config core.quotePath false; git update-index --assume-unchanged old.txt;"
            "echo changed > old.txt"
        )
        await at.call("submit_patch")

        assert at.submissions[-1].startswith("diff --git a/old.txt b/old.txt\n")
        assert "\x1b" not in at.submissions[-1]


async def test_an_upstream_repository_shows_one_commit_and_nothing_of_its_history(
    kind: SandboxKind, tree: Path
) -> None:
    def git(*command: str) -> str:
        options = ["-c", "user.name=u", "-c", "user.email=u@example.com"]
        done = subprocess.run(
            ["git", *options, *command], cwd=tree, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    (tree / "tracked.log").write_text("ignored by name and tracked all the same\n")
    git("init", "-q", "-b", "devel")
    git("add", "-A", "-f")
    git("commit", "-qm", "before")
    before = git("rev-parse", "HEAD")
    (tree / "fix.py").write_text("the upstream fix\n")
    git("add", "-A")
    git("commit", "-qm", "fix")
    fix = git("rev-parse", "HEAD")
    git("tag", "v1")
    git("reset", "-q", "--hard", before)
    git("remote", "add", "origin", "https://example.com/x.git")

    async with desk(kind, tree) as at:
        log = await at.shell("git log --all --oneline; git tag; git remote; git stash list")
        shown = await at.call("run_command", command=f"git show {fix} || git show {before}")

        assert len(log.splitlines()) == 1
        assert "bad object" in shown or "unknown revision" in shown
        assert "the upstream fix" not in shown
        assert await at.shell("git status --porcelain") == ""
        assert "tracked.log" in await at.shell("git ls-files")


async def test_files_that_were_there_before_are_not_the_agents_work(tree: Path) -> None:
    _start_repository(tree)
    (tree / "leftover.txt").write_text("of the image\n")
    async with desk("local", tree) as at:
        await at.call("submit_patch")

        assert at.submissions == [""]


def _start_repository(tree: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
