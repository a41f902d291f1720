"""`hil-mcp judge`: eval, pairs, check and serve, by their command line."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hil_mcp.cli.exit_status import ExitStatus
from hil_mcp.errors import DataError
from hil_mcp.judge_quality import read_quality
from judge.embedder import Embedder
from task_store.store import TaskStore
from tests.support.command_line import run_main
from tests.support.tasks import make_task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from judge.embedder import EmbeddedText


@pytest.fixture
def pairs(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Pairs of two tasks in the catalogue."""
    store = TaskStore(home)
    store.add(make_task("tide", "berth", task_id="boats"))
    store.add(make_task("fog", "ice", task_id="weather"))
    path = tmp_path / "pairs.jsonl"
    status, _, _ = run_main(
        capsys, "judge", "pairs", "-o", str(path), "--task", "boats", "--task", "weather"
    )
    assert status == ExitStatus.DONE
    return path


def test_pairs_are_made_from_the_catalogue_and_counted(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("task,question,expected\nboats,Anything else?,\n", encoding="utf-8")

    status, out, _ = run_main(
        capsys,
        *("judge", "pairs", "-o", str(pairs), "--task", "boats"),
        *("--labels", str(labels), "--json"),
    )

    assert status == ExitStatus.DONE
    document = json.loads(out)
    assert document["kinds"]["paraphrase"] == 2
    assert document["kinds"]["human"] == 1
    assert document["n"] == len(pairs.read_text(encoding="utf-8").splitlines())
    assert "Anything else?" in pairs.read_text(encoding="utf-8")


def test_the_labels_that_the_documents_show_fit_the_starter_tasks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "judge.md").read_text(encoding="utf-8")
    shown = re.search(r"^    task,question,expected\n(?:    .*\n)+", text, re.MULTILINE)
    assert shown is not None
    labels = tmp_path / "labels.csv"
    labels.write_text(textwrap.dedent(shown[0]), encoding="utf-8")

    status, out, err = run_main(
        capsys,
        *("judge", "pairs", "-o", str(tmp_path / "pairs.jsonl")),
        *("--labels", str(labels), "--json"),
    )

    assert (status, err) == (ExitStatus.DONE, "")
    assert json.loads(out)["kinds"]["human"] == shown[0].count("\n") - 1


def test_a_task_given_twice_gives_its_pairs_once(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = pairs.read_bytes()

    status, _, _ = run_main(
        capsys,
        *("judge", "pairs", "-o", str(pairs)),
        *("--task", "boats", "--task", "weather", "--task", "boats"),
    )

    assert status == ExitStatus.DONE
    assert pairs.read_bytes() == before


def test_labels_are_not_overwritten_by_what_is_made_of_them(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels, link = tmp_path / "labels.csv", tmp_path / "link.csv"
    text = "task,question,expected\nboats,Anything else?,\n"
    labels.write_text(text, encoding="utf-8")
    link.symlink_to(labels)

    written = run_main(capsys, "judge", "pairs", "-o", str(link), "--labels", str(labels))
    plotted = run_main(capsys, *("judge", "eval", str(pairs)), *("--plot", str(pairs)))

    assert (written[0], plotted[0]) == (ExitStatus.USAGE, ExitStatus.USAGE)
    assert written[2] == (f"hil-mcp: -o {link}: would overwrite an input, {labels}: name another\n")
    assert labels.read_text(encoding="utf-8") == text
    assert pairs.read_text(encoding="utf-8").startswith("{")


def test_pairs_do_not_go_into_a_file_called_minus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    status, _, err = run_main(capsys, "judge", "pairs", "-o", "-")

    assert status == ExitStatus.USAGE
    assert "give its name" in err
    assert not (tmp_path / "-").exists()


def test_kinds_are_explained_to_people(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_main(capsys, "judge", "pairs", "-o", str(pairs), "--task", "boats")

    assert status == ExitStatus.DONE
    assert "an order to the judge" in out


def test_eval_gives_the_keys_that_it_promises(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run_main(
        capsys, "judge", "eval", str(pairs), "--judge", "embedded", "--repeat", "2", "--json"
    )

    assert (status, err) == (ExitStatus.DONE, "")
    document: dict[str, Any] = json.loads(out)
    assert {"precision", "recall", "f1", "n", "by_kind"} <= set(document)
    assert document["n"] == sum(kind["n"] for kind in document["by_kind"].values())
    assert all({"n", "matched", "correct"} <= set(kind) for kind in document["by_kind"].values())
    assert document["judge"]["backend"] == "embedded"
    assert document["repeats"] == 2
    assert document["flip_rate"] == 0.0
    assert document["by_kind"]["injection"]["matched"] == 0


def test_eval_shows_a_table_keeps_the_figures_and_draws_a_plot(
    pairs: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "plot.svg"
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "task,question,expected\nboats,What is [b]this[/b] about?,tide\n", encoding="utf-8"
    )

    status, out, err = run_main(
        capsys,
        *("judge", "eval", str(pairs), "--labels", str(labels)),
        *("--store", "--plot", str(plot)),
    )

    assert status == ExitStatus.DONE
    assert "precision" in out
    assert "paraphrase" in out
    assert "What is [b]this[/b] about?" in out
    assert plot.read_text(encoding="utf-8").startswith("<svg")
    (kept,) = (home / "judge-quality").glob("*.json")
    assert str(kept) in err
    quality = read_quality(home, kept.stem)
    assert quality is not None
    assert quality.pairs == "pairs.jsonl"
    assert quality.fingerprint == kept.stem

    _, out, _ = run_main(capsys, "judge", "check", "--json")
    document = json.loads(out)
    assert (document["measured_on"], document["measured_n"]) == ("pairs.jsonl", quality.n)
    assert document["recall_interval"] == list(quality.recall_interval or ())
    _, out, _ = run_main(capsys, "judge", "check")
    assert f"measured         {quality.in_words()}\n" in out


def test_check_warns_of_kept_figures_that_cannot_be_read(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run_main(capsys, "judge", "check", "--json")
    path = home / "judge-quality" / f"{json.loads(out)['fingerprint']}.json"
    path.parent.mkdir(parents=True)
    path.write_text("{", encoding="utf-8")

    status, out, err = run_main(capsys, "judge", "check")
    _, document, _ = run_main(capsys, "judge", "check", "--json")

    assert status == ExitStatus.DONE
    assert "fit              True" in out
    assert err.startswith(f"{path}: cannot be read: ")
    assert json.loads(document)["warnings"] == [err.rstrip("\n")]


def test_a_replayed_log_is_not_measured_on_pairs_that_hide_examples(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, played, _ = run_main(capsys, "demo", "--json")
    log = json.loads(played)["log"]

    status, out, err = run_main(capsys, "judge", "eval", str(pairs), "--judge", f"replay:{log}")

    assert (status, out) == (ExitStatus.USAGE, "")
    assert err.startswith("hil-mcp: a replayed log cannot be measured on ")


def test_eval_shows_names_as_they_are_and_keeps_the_figures_first(
    pairs: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"task": "boats", "question": "Is it?", "expected": "tide", "kind": "[/of mine]"}
    pairs.write_text(json.dumps(row) + "\n", encoding="utf-8")

    status, out, _ = run_main(capsys, "judge", "eval", str(pairs), "--store")

    assert status == ExitStatus.DONE
    assert out.count("[/of mine]") == 2
    assert len(list((home / "judge-quality").iterdir())) == 1


def test_a_judge_that_was_never_measured_has_no_quality(home: Path) -> None:
    assert read_quality(home, "0" * 64) is None
    assert read_quality(home, "../../etc/passwd") is None


def test_kept_figures_that_cannot_be_read_are_refused(home: Path) -> None:
    folder = home / "judge-quality"
    folder.mkdir(parents=True)
    (folder / "abc.json").write_text("{}", encoding="utf-8")

    with pytest.raises(DataError, match="judge eval --store"):
        read_quality(home, "abc")


@pytest.mark.parametrize(
    ("task", "expected", "error"),
    [
        ("nowhere", None, "unknown task 'nowhere': correct it"),
        ("boats", "anchor", "task boats has no blocker 'anchor': correct it"),
    ],
)
def test_pairs_of_what_is_not_there_are_bad_data_with_their_line(
    pairs: Path, task: str, expected: str | None, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"task": task, "question": "Which?", "expected": expected, "kind": "generic"}
    lines = pairs.read_text(encoding="utf-8").split("\n")
    pairs.write_text("\n".join([lines[0], json.dumps(row)]), encoding="utf-8")

    status, _, err = run_main(
        capsys, "judge", "eval", str(pairs), "--judge", "vllm", "--url", "http://127.0.0.1:9"
    )

    assert status == ExitStatus.DATA
    assert err.startswith(f"hil-mcp: {pairs}: line 2: {error}")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", ["eval", "pairs"])
@pytest.mark.parametrize(
    ("label", "error"),
    [
        ("boots,What else?,", "unknown task 'boots'"),
        ("boats,What does tide mean?,fog", "task boats has no blocker 'fog'"),
    ],
)
def test_labels_of_what_is_not_there_are_bad_data_with_their_line(
    pairs: Path,
    tmp_path: Path,
    command: str,
    label: str,
    error: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text(f"task,question,expected\nboats,Why?,\n{label}\n", encoding="utf-8")
    before = pairs.read_bytes()
    file = [str(pairs)] if command == "eval" else ["-o", str(pairs)]

    status, _, err = run_main(capsys, "judge", command, *file, "--labels", str(labels))

    assert status == ExitStatus.DATA
    assert err.startswith(f"hil-mcp: {labels}: line 3: {error}")
    assert err.count("\n") == 1
    assert pairs.read_bytes() == before


def test_a_file_that_is_no_file_of_pairs_is_bad_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text("nonsense\n", encoding="utf-8")

    status, _, err = run_main(capsys, "judge", "eval", str(path))

    assert status == ExitStatus.DATA
    assert "line 1" in err


def test_a_server_that_is_not_there_is_the_judges_failure(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = "http://127.0.0.1:9"

    status, _, err = run_main(
        capsys, "judge", "eval", str(pairs), "--judge", "vllm", "--url", address
    )

    assert status == ExitStatus.JUDGE
    assert err.startswith(f"hil-mcp: address: {address}/v1")


def test_check_says_that_a_judge_is_fit(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_main(capsys, "judge", "check", "--judge", "embedded")

    assert status == ExitStatus.DONE
    assert "fit              True" in out


def test_check_says_what_is_wrong_with_one_that_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run_main(
        capsys,
        *("judge", "check", "--judge", "vllm", "--url", "http://127.0.0.1:9"),
        *("--model", "m", "--policy", "meaning", "--json"),
    )

    assert status == ExitStatus.JUDGE
    document = json.loads(out)
    assert document["fit"] is False
    assert document["problem"].startswith("address: ")
    assert (document["model"], document["policy"]) == ("m", "meaning")


def test_check_shows_the_server_of_each_member(capsys: pytest.CaptureFixture[str]) -> None:
    members = "embedded+vllm(url=http://127.0.0.1:9)+vllm(url=http://127.0.0.1:7,model=m)+vllm"

    status, out, _ = run_main(
        capsys, "judge", "check", "--judge", f"vote:majority:{members}", "--json"
    )

    assert status == ExitStatus.JUDGE
    assert json.loads(out)["url"] == (
        "http://127.0.0.1:9, http://127.0.0.1:7, http://127.0.0.1:8808"
    )


def test_check_times_a_question_that_was_never_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    embed = Embedder.embed

    def noted(self: Embedder, texts: Sequence[str]) -> list[EmbeddedText]:
        asked.append(texts[0])
        return embed(self, texts)

    monkeypatch.setattr(Embedder, "embed", noted)

    run_main(capsys, "judge", "check", "--judge", "embedded")

    assert asked.count(asked[-1]) == 1


@pytest.mark.parametrize("judge", ["replay:log", "vllm(policy=strict)", "none"])
def test_check_of_what_is_no_judge_is_wrong_usage(
    judge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run_main(capsys, "judge", "check", "--judge", judge)

    assert status == ExitStatus.USAGE
    assert err.startswith("hil-mcp: ")


def test_a_plot_that_cannot_be_written_is_wrong_usage(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run_main(
        capsys, "judge", "eval", str(pairs), "--plot", str(tmp_path / "none" / "plot.svg")
    )

    assert status == ExitStatus.USAGE
    assert "--plot" in err


@pytest.mark.parametrize(
    ("judge", "option"),
    [
        ("embedded", ("--url", "http://127.0.0.1:9")),
        ("embedded", ("--model", "m")),
        ("vote:unanimous:embedded+embedded", ("--policy", "meaning")),
        ("replay:log.jsonl", ("--prompt", "none.txt")),
    ],
)
@pytest.mark.parametrize("command", [("check",), ("eval", "pairs.jsonl")])
def test_an_option_that_the_judge_has_no_use_for_is_wrong_usage(
    command: tuple[str, ...],
    judge: str,
    option: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, out, err = run_main(capsys, "judge", *command, "--judge", judge, *option)

    assert (status, out) == (ExitStatus.USAGE, "")
    assert err == (
        f"hil-mcp: {option[0]}: the judge {judge!r} has no use for it: it needs --judge vllm\n"
    )


def test_a_setting_by_variable_that_the_judge_has_no_use_for_is_none_of_its_business(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HIL_MCP_JUDGE_MODEL", "m")

    assert run_main(capsys, "judge", "check")[0] == ExitStatus.DONE


def test_a_prompt_and_a_policy_at_once_are_wrong_usage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, _, err = run_main(
        capsys,
        *("judge", "check", "--judge", "vote:unanimous:embedded+vllm"),
        *("--policy", "meaning", "--prompt", "mine.txt"),
    )

    assert status == ExitStatus.USAGE
    assert "--policy and --prompt" in err


def test_a_policy_on_the_command_line_goes_before_a_prompt_by_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{registry} {question} {answer_format}", encoding="utf-8")
    monkeypatch.setenv("HIL_MCP_JUDGE_PROMPT_FILE", str(prompt))
    monkeypatch.setenv("HIL_MCP_JUDGE_URL", "http://127.0.0.1:9")

    _, out, _ = run_main(
        capsys, "judge", "check", "--judge", "vllm", "--policy", "meaning", "--json"
    )

    assert json.loads(out)["policy"] == "meaning"
