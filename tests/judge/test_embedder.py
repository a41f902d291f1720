"""The encoder that ships: equal to its source model, whatever the text, from any thread."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

import judge
from judge.embedder import EMBEDDER_DIGEST, MODEL_FILES, WIDTH, Embedder

_VECTORS = json.loads((Path(__file__).parent / "float_vectors.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder()


def test_vectors_are_those_of_the_float_model(embedder: Embedder) -> None:
    vectors = embedder.encode([entry["text"] for entry in _VECTORS])

    for vector, entry in zip(vectors, _VECTORS, strict=True):
        assert vector[:16].tolist() == pytest.approx(entry["first_values"], abs=1e-3)
        assert float(vector @ vectors[0]) == pytest.approx(entry["cosine_to_first"], abs=1e-3)


def test_a_text_has_the_same_vector_alone_and_among_texts_of_other_lengths(
    embedder: Embedder,
) -> None:
    texts = ["one " * n for n in (1, 90, 3, 250, 40)]

    together = embedder.encode(texts)

    for vector, text in zip(together, texts, strict=True):
        assert vector.tolist() == pytest.approx(embedder.encode([text])[0].tolist(), abs=1e-5)


def test_the_pieces_come_with_the_same_vector_and_without_marks(embedder: Embedder) -> None:
    text = "Which berth, if any, is free?"

    (embedded,) = embedder.embed([text])

    assert embedded.vector.tolist() == pytest.approx(embedder.encode([text])[0].tolist(), abs=1e-6)
    assert embedded.states.shape == (6, WIDTH)
    assert len(embedded.pieces) == 6


def test_a_piece_is_the_same_alone_and_among_texts_of_other_lengths(embedder: Embedder) -> None:
    texts = ["which " * n for n in (40, 1, 7)]

    together = embedder.embed(texts)

    for one, text in zip(together, texts, strict=True):
        (alone,) = embedder.embed([text])
        assert one.pieces.tolist() == alone.pieces.tolist()
        assert one.states[-1].tolist() == pytest.approx(alone.states[-1].tolist(), abs=2e-3)


@pytest.mark.parametrize("text", ["", "???", "\ud800"])
def test_a_text_without_a_word_has_one_piece(embedder: Embedder, text: str) -> None:
    (embedded,) = embedder.embed([text])

    assert embedded.states.shape == (1, WIDTH)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800", "\u200b", "a" * 100_000])
def test_any_text_gives_a_unit_vector(embedder: Embedder, text: str) -> None:
    (vector,) = embedder.encode([text])

    assert math.isclose(float(vector @ vector), 1.0, abs_tol=1e-4)


def test_no_text_gives_no_vector(embedder: Embedder) -> None:
    assert embedder.encode([]).shape == (0, WIDTH)


async def test_threads_that_start_together_load_once_and_agree() -> None:
    embedder = Embedder(threads=1)
    found: list[list[float]] = []

    async def encode() -> None:
        found.append((await to_thread.run_sync(embedder.encode, ["Which?"]))[0].tolist())

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(encode)

    assert len(found) == 4
    assert all(vector == found[0] for vector in found)


def test_the_digest_is_that_of_the_files_that_ship() -> None:
    folder = Path(judge.__file__ or "").parent / "model"
    digest = hashlib.sha256()
    for name in MODEL_FILES:
        digest.update((folder / name).read_bytes())

    assert digest.hexdigest() == EMBEDDER_DIGEST


def test_importing_the_judge_loads_no_heavy_package() -> None:
    program = "import sys, judge.embedded; print([m for m in sys.modules if m.split('.')[0] in " + (
        "('numpy', 'onnxruntime', 'tokenizers')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert done.stdout.strip() == "[]"
