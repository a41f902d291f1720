"""Compare the shipped encoder with the float32 model it was made from, on business-rule search.

    python scripts/compare_embedder.py MODEL_DIR HIL_BENCH_DIR

MODEL_DIR holds the source model's `config.json`, `model.safetensors` and `tokenizer.json`. Run in
an environment of its own with torch, transformers, onnxruntime and tokenizers. For every example
question of every SQL task, the five nearest of the task's own rules by either encoder are compared
as sets.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from judge.embedder import LIMIT_TOKENS, Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOP = 5


def encode_by_torch(texts: list[str], model_dir: Path) -> NDArray[np.float32]:
    """Unit vectors of the source model, one text at a time in single precision."""
    model = AutoModel.from_pretrained(model_dir).eval()
    tokenizer = AutoTokenizer.from_pretrained(model_dir)
    vectors = []
    with torch.inference_mode():
        for text in texts:
            parts = tokenizer([text], truncation=True, max_length=LIMIT_TOKENS, return_tensors="pt")
            mean = model(**parts).last_hidden_state[0].mean(0)
            vectors.append((mean / mean.norm()).numpy())
    return np.stack(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model_dir", type=Path)
    parser.add_argument("root", type=Path)
    args = parser.parse_args()

    searches: list[tuple[list[str], list[str]]] = []
    for path in sorted(args.root.glob("harbor_sql/*/shared/data/business_info.json")):
        rules = json.loads(path.read_text())["business_info"]
        registry = json.loads(
            (path.parents[1] / "ask-human-data" / "blocker_registry.json").read_text()
        )
        questions = [q for b in registry["blockers"] for q in b["example_questions"]]
        searches.append((rules, questions))
    texts = list(dict.fromkeys(t for rules, questions in searches for t in (*rules, *questions)))
    row = {text: index for index, text in enumerate(texts)}
    reference = encode_by_torch(texts, args.model_dir)
    shipped = Embedder().encode(texts)
    equal = total = 0
    for rules, questions in searches:
        index = [row[rule] for rule in rules]
        for question in questions:
            best = [
                set(np.argsort(-(vectors[index] @ vectors[row[question]]), kind="stable")[:_TOP])
                for vectors in (reference, shipped)
            ]
            equal += best[0] == best[1]
            total += 1
    print(f"{len(searches)} tasks, {len(texts)} texts")
    print(f"largest difference of a value: {np.abs(reference - shipped).max():.2e}")
    print(f"equal top {_TOP} as a set: {equal} of {total} ({equal / total:.2%})")


if __name__ == "__main__":
    main()
