"""Real outputs of test runners, recorded once, and the tests that are read from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil_mcp.repository.runner_output import read_runner_output

_OUTPUTS = Path(__file__).resolve().parents[2] / "data" / "runner_outputs"


def read(language: str, name: str) -> dict[str, set[str]]:
    """Every status that each test was reported with."""
    found: dict[str, set[str]] = {}
    for test in read_runner_output(language, (_OUTPUTS / name).read_text(encoding="utf-8")):
        found.setdefault(test.name, set()).add(test.status)
    return found


@pytest.mark.parametrize("name", ["unittest_v.txt", "unittest_v_3_10.txt"])
def test_unittest_is_read_with_docstrings_noise_and_subtests(name: str) -> None:
    case = "tests.test_a.LimitTest."

    assert read("python", name) == {
        case + "test_doc": {"passed"},
        case + "test_errors": {"failed"},
        case + "test_fails": {"failed"},
        case + "test_known": {"passed"},
        case + "test_plain": {"passed"},
        case + "test_prints": {"passed"},
        case + "test_skipped": {"skipped"},
        case + "test_subtests": {"failed"},
        case + "test_surprise": {"failed"},
    }


def test_pytest_is_read_with_parameters_that_hold_spaces_and_marks() -> None:
    file = "tests/test_p.py::"

    assert read("python", "pytest_v.txt") == {
        file + "test_param[a]": {"passed"},
        file + "test_param[b c]": {"failed"},
        file + "test_param[x::y]": {"passed"},
        file + "test_param[1 PASSED]": {"passed"},
        file + "TestOne::test_in_class": {"passed"},
        file + "TestOne::test_skip": {"skipped"},
        file + "TestOne::test_xfail": {"passed"},
        file + "TestOne::test_xpass": {"passed"},
        file + "test_error": {"failed"},
    }


def test_the_summary_of_pytest_alone_is_read_too() -> None:
    found = read("python", "pytest_ra.txt")

    assert found["tests/test_p.py::test_param[b c]"] == {"failed"}
    assert found["tests/test_p.py::test_param[1 PASSED]"] == {"passed"}
    assert found["tests/test_p.py::test_error"] == {"failed"}
    assert found["tests/test_p.py::TestOne::test_in_class"] == {"passed"}


@pytest.mark.parametrize("name", ["go_v.txt", "go_json.txt"])
def test_go_is_read_with_subtests_and_skips(name: str) -> None:
    assert read("go", name) == {
        "TestPlain": {"passed"},
        "TestFails": {"failed"},
        "TestSkips": {"skipped"},
        "TestTable": {"failed"},
        "TestTable/one": {"passed"},
        "TestTable/two_words": {"failed"},
        "TestParallel": {"passed"},
        "TestParallel/a": {"passed"},
        "TestParallel/b": {"passed"},
    }


def test_jest_is_read_with_nested_titles_and_without_its_failure_reports() -> None:
    file = "src/limit.test.js | "

    assert read("js", "jest_verbose.txt") == {
        file + "stands alone": {"passed"},
        file + "limit is kept": {"passed"},
        file + "limit is raised, with (brackets) and [x]": {"failed"},
        file + "limit when empty accepts 1": {"passed"},
        file + "limit when empty accepts 2": {"passed"},
        file + "limit when empty is not run": {"skipped"},
        file + "limit when empty is to be written": {"skipped"},
        "src/other.test.js | is in another file": {"passed"},
    }


def test_tap_is_read_with_nested_titles() -> None:
    assert read("javascript", "node_tap.txt") == {
        "limit is kept": {"passed"},
        "limit is raised": {"failed"},
        "limit later": {"skipped"},
        "limit": {"failed"},
        "stands alone": {"passed"},
    }


def test_colours_and_windows_line_ends_are_no_hindrance() -> None:
    text = "\x1b[32m--- PASS: TestA (0.00s)\x1b[0m\r\n"

    assert [test.name for test in read_runner_output("go", text)] == ["TestA"]


def test_a_language_without_a_reader_gives_no_tests() -> None:
    assert read_runner_output("cobol", "--- PASS: TestA (0.00s)") == ()


def test_lines_that_only_look_like_go_events_are_passed_over() -> None:
    text = '{"Action":"pass"}\n{"Action":\n[1]\n{"Test":"TestA","Action":"run"}\n{}'

    assert read_runner_output("go", text) == ()
