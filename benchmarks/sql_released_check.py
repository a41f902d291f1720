"""The released answer check, written anew with pandas from its description, for the bench only.

Runs in an environment of its own, under an interpreter that has pandas and nothing of ours: reads
pairs of results from a JSON file, prints a verdict and the processor time of each.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd


def released_verdict(gold, prediction):
    gold, prediction = _normalised(gold), _normalised(prediction)
    return any(
        _pairing(left, right)
        for left in (gold, gold.drop_duplicates())
        for right in (prediction, prediction.drop_duplicates())
    )


def _normalised(frame):
    frame = frame.copy()
    for name in frame.columns:
        column = frame[name]
        present = column[column.notna()]
        numbers = pd.to_numeric(column, errors="coerce")
        has_leading_zero = present.astype(str).str.match(r"0\d").any()
        if has_leading_zero or numbers[column.notna()].isna().any():
            frame[name] = column.astype(str)
        else:
            frame[name] = numbers
    return frame


def _pairing(gold, prediction):
    if len(gold) != len(prediction) or prediction.shape[1] < gold.shape[1]:
        return False
    left = [_values(row) for row in gold.itertuples(index=False, name=None)]
    right = [_values(row) for row in prediction.itertuples(index=False, name=None)]
    if gold.shape[1] == prediction.shape[1]:
        return Counter(map(_frozen, left)) == Counter(map(_frozen, right))
    used = [False] * len(right)
    for row in left:
        for place, other in enumerate(right):
            if not used[place] and all(other[value] >= n for value, n in row.items()):
                used[place] = True
                break
        else:
            return False
    return True


def _frozen(values):
    return frozenset(values.items())


def _values(row):
    return Counter(_key(value) for value in row)


def _key(value):
    if pd.isna(value):
        return None
    return value if isinstance(value, str) else round(value / 0.01) * 0.01


def _frame(table):
    return pd.DataFrame([tuple(row) for row in table["rows"]], columns=table["columns"])


def main():
    answers = []
    for pair in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        gold, prediction = _frame(pair["gold"]), _frame(pair["prediction"])
        started = time.process_time()
        verdict = released_verdict(gold, prediction)
        answers.append({"verdict": verdict, "cpu_s": time.process_time() - started})
    json.dump({"pandas": pd.__version__, "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
