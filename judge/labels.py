"""Human labels: a CSV file of them, and how they go over derived pairs.

A spreadsheet or an editor writes the file by hand, so nothing in it is guessed: a row that could be
read in two ways is refused with its line.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from judge.errors import PairsError
from judge.pairs import Pair, file_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

HUMAN_KIND = "human"
"""Kind of a pair that stands in no derived file, only in one of labels."""
_NO_BLOCKER = {"", "-", "none", "null"}
_COLUMNS = ("task", "question", "expected")
_WANTED = f"the first line must be {','.join(_COLUMNS)}, in these letters and with commas"


def read_labels(path: Path) -> tuple[Pair, ...]:
    """Read human labels: a CSV file with the columns task, question, expected; others are ignored.

    An empty `expected`, `-` or `none` says that the question asks for no blocker; its comma must
    stand. The same label given twice is kept once.

    Raises:
        PairsError: The file cannot be read, is no such CSV, lacks a column or a value, or labels a
            question in two ways.
    """
    rows = _rows(path)
    nothing: list[str] = []
    header_line, header = next(rows, (1, nothing))
    places = _places(f"{path}: line {header_line}", header)
    labels: dict[tuple[str, str], Pair] = {}
    for line, row in rows:
        label = _label(f"{path}: line {line}", row, header, places)
        first = labels.setdefault(label.asked, label)
        if first.expected != label.expected:
            raise PairsError(
                f"{label.place}: says {_said(label)} of a question of which {first.place} says "
                f"{_said(first)}: keep one of the two"
            )
    return tuple(labels.values())


def with_labels(pairs: Sequence[Pair], labels: Sequence[Pair]) -> tuple[Pair, ...]:
    """Put human labels over derived ones: the same task and question keeps its kind.

    Questions are the same whatever the blanks around them and between their words. A pair with a
    hidden blocker keeps its own label: a label speaks of the whole registry.
    """
    said = {label.asked: label for label in labels}
    known = {pair.asked for pair in pairs if pair.hide_blocker is None}
    relabelled = [
        replace(pair, expected=label.expected, place=label.place)
        if (label := said.get(pair.asked)) and pair.hide_blocker is None
        else pair
        for pair in pairs
    ]
    added = [label for label in labels if label.asked not in known]
    return (*relabelled, *added)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line that it begins on."""
    # Lines end as CSV has it: str.splitlines() would cut a question at U+2028.
    reader = csv.reader(io.StringIO(file_text(path), newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            raise PairsError(
                f"{path}: line {line}: {exc}: is a closing quote missing, or a quote inside quotes "
                f"not written twice? (a field holds {csv.field_size_limit():,} characters at most)"
            ) from exc
        if any(field.strip() for field in row):
            yield line, row


def _places(place: str, header: Sequence[str]) -> list[int]:
    """Where the three columns stand."""
    for name in _COLUMNS:
        if header.count(name) != 1:
            found = ", ".join(repr(column[:40]) for column in header[:9]) or "nothing"
            wrong = "stands twice" if name in header else "is missing"
            raise PairsError(f"{place}: column {name} {wrong}: found {found}; {_WANTED}")
    return [header.index(name) for name in _COLUMNS]


def _label(place: str, row: Sequence[str], header: Sequence[str], places: Sequence[int]) -> Pair:
    if len(row) != len(header):
        way_out = (
            "an empty column, such as expected for no blocker, needs its comma too"
            if len(row) < len(header)
            else 'put a question that has a comma into quotes: "Which one, then?"'
        )
        raise PairsError(
            f"{place}: {len(row)} columns, and the header has {len(header)}: {way_out}"
        )
    task, question, expected = (row[number].strip() for number in places)
    if not task or not question:
        raise PairsError(f"{place}: task and question must be given")
    if any(line.startswith(f"{task},") for line in question.split("\n")[1:]):
        raise PairsError(
            f"{place}: the question runs over another row: is a closing quote missing?"
        )
    return Pair(
        task=task,
        question=question,
        expected=None if expected.lower() in _NO_BLOCKER else expected,
        kind=HUMAN_KIND,
        hide_example=True,
        place=place,
    )


def _said(label: Pair) -> str:
    return "no blocker" if label.expected is None else repr(label.expected)
