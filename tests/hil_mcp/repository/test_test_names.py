"""Which reported test stands for a required one: see docs/release.md, section 6."""

from __future__ import annotations

import pytest

from hil_mcp.repository.hidden_tests import released_arguments
from hil_mcp.repository.test_names import (
    RunTest,
    find_required,
    passes_released_check,
)


def ran(*reports: str) -> list[RunTest]:
    """Reports as `name` for passed, `-name` for failed and `~name` for skipped."""
    status = {"-": "failed", "~": "skipped"}
    return [
        RunTest(
            name=report[1:] if report[:1] in status else report,
            status=status.get(report[:1], "passed"),  # pyright: ignore[reportArgumentType]
        )
        for report in reports
    ]


@pytest.mark.parametrize(
    ("required", "reports", "expected"),
    [
        # Python
        ("a.py::t", ["a.py::t"], "passed"),
        ("a.py::t", ["b.py::t"], "missing"),
        ("a.py::A::t", ["a.py::B::t"], "missing"),
        ("a.py::A::t", ["a.py::t"], "missing"),
        ("a.py::t", ["-a.py::t[1]", "a.py::t[2]"], "failed"),
        ("a.py::t", ["a.py::t[1]", "a.py::t[2]"], "passed"),
        ("a.py::t", ["a.py::t", "-a.py::t[2]"], "failed"),
        ("a.py::t[1]", ["a.py::t[1]", "-a.py::t[2]"], "passed"),
        ("a.py::t[1]", ["a.py::t"], "missing"),
        ("a.py::t[x::y]", ["a.py::t[x::y]"], "passed"),
        ("a.py::t[b[0]]", ["tests/a.py::t[b[0]]"], "passed"),
        ("tests/unit/a.py::A::t", ["a.py::A::t"], "passed"),
        ("a.py::A::t", ["/app/tests/a.py::A::t"], "passed"),
        ("a.py::t", ["tests/bba.py::t"], "missing"),
        ("a.py::t", ["a.py::t", "-a.py::t"], "failed"),
        ("a.py::t", ["~a.py::t"], "skipped"),
        ("a.py::t", ["-tests/a.py::t", "a.py::t"], "passed"),
        ("a.py::T", ["a.py::t"], "missing"),
        # JavaScript
        ("p.test.ts | a title", ["p.test.ts | a title"], "passed"),
        ("src/p.test.ts | a, b", ["apps/mail/src/p.test.ts | a, b"], "passed"),
        ("apps/mail/src/p.test.ts | t", ["src/p.test.ts | t"], "passed"),
        ("p.test.ts | d1 | t", ["p.test.ts | t"], "missing"),
        ("p.test.ts | t [x]", ["p.test.ts | t [x]"], "passed"),
        ("p.test.ts | t", ["p.test.ts | t [x]"], "missing"),
        # Go
        ("TestFoo", ["TestFoo"], "passed"),
        ("TestFoo", ["TestMyTestFoo"], "missing"),
        ("TestFoo", ["Foo"], "missing"),
        ("TestFoo", ["TestFoo/sub"], "missing"),
        ("TestFoo", ["TestFoo", "-TestFoo"], "failed"),
        ("TestFoo/sub", ["TestFoo/sub"], "passed"),
        # unittest
        ("tests.a.A.t", ["tests.a.A.t"], "passed"),
        ("tests.a.A.t", ["a.A.t"], "missing"),
        # An empty name stands for nothing and is nothing.
        ("", ["a.py::t", ""], "missing"),
        ("a.py::t", [""], "missing"),
    ],
)
def test_a_required_name_is_found_as_the_same_test_only(
    required: str, reports: list[str], expected: str
) -> None:
    assert find_required(required, ran(*reports)).status == expected


@pytest.mark.parametrize(
    ("required", "reports", "expected"),
    [
        ("a.py::t", ["b.py::t"], True),
        ("a.py::A::t", ["a.py::B::t"], True),
        ("a.py::t", ["-a.py::t[1]", "a.py::t[2]"], True),
        ("TestFoo", ["TestMyTestFoo"], False),
        ("TestFoo", ["Foo"], False),
        ("p | d1 | t", ["p | t"], True),
        ("a.py::T", ["a.py::t"], True),
        ("TestFoo", ["TestFoo/sub"], False),
        ("", [""], False),
        ("a.py::t", [], False),
    ],
)
def test_the_released_comparison_is_kept_beside_ours(
    required: str, reports: list[str], expected: bool
) -> None:
    assert passes_released_check(required, ran(*reports)) is expected


def test_what_stands_for_a_required_test_is_named() -> None:
    found = find_required("t/a.py::t", ran("a.py::t[1]", "a.py::t[2]", "a.py::t[1]"))

    assert found.found_as == ("a.py::t[1]", "a.py::t[2]")


@pytest.mark.parametrize(
    ("names", "script", "expected"),
    [
        (["a.py::t", "a.py::u"], "pytest", ["a.py::t", "a.py::u"]),
        (["a.py::t", "a.py::u", "b.py::t"], "bin/ansible-test units", ["a.py", "b.py"]),
        (["a.test.ts | x", "a.test.ts | y", "b.test.ts | x"], "jest", ["a.test.ts", "b.test.ts"]),
        (["TestA", "TestB"], "go test", ["TestA", "TestB"]),
    ],
)
def test_the_released_runner_gets_the_arguments_that_it_expects(
    names: list[str], script: str, expected: list[str]
) -> None:
    assert released_arguments(names, script) == expected
