"""Sentence embeddings by all-MiniLM-L6-v2 on ONNX Runtime, from files that ship with the package.

Serves the embedded judge and the search over business rules. Nothing is ever downloaded. The judge
also gets the states of a text's word pieces, which come with the same pass.
"""

# onnxruntime ships no stubs and tokenizers only partial ones; these two are spoken to here alone.
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from judge.errors import JudgeSetupError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

MODEL_NAME = "all-MiniLM-L6-v2"
EMBEDDER_DIGEST = "d1d5eca84b8ff8885bec532ccffec2e00d311cff471624af3429c94adc4e8e0a"
"""SHA-256 over `encoder.onnx`, `encoder.weights` and `tokenizer.json`, one after the other."""
WIDTH = 384
WORD_PIECES = 30_522
"""How many the tokenizer knows; their ids are smaller."""
LIMIT_TOKENS = 256
"""As in the source model's settings; what a text has beyond it is not seen."""

_MODEL_DIR = Path(__file__).parent / "model"
MODEL_FILES = ("encoder.onnx", "encoder.weights", "tokenizer.json")
# Bounds the memory of one run: activations take about 25 KB a token.
_BATCH_TOKENS = 384
# What a run costs beside its tokens, counted in tokens; padding may not cost more than it saves.
_RUN_TOKENS = 4


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """One text as a whole and piece by piece."""

    vector: NDArray[np.float32]
    """Of unit length, shape (`WIDTH`,)."""
    pieces: NDArray[np.int32]
    """Ids of its word pieces in order, without marks; at least one: of a text that has none, the
    sign of its start."""
    states: NDArray[np.float16]
    """What the encoder holds of each piece in its context, after four of six layers; rows of unit
    length, shape (len(pieces), `WIDTH`)."""


class Embedder:
    """Turns texts into unit vectors. May be used from several threads at once.

    Attributes:
        threads: Threads that one encoder pass uses, at least 1.
    """

    def __init__(self, *, threads: int = 2, model_dir: Path = _MODEL_DIR) -> None:
        self.threads = threads
        self._model_dir = model_dir
        self._lock = threading.Lock()
        self._loaded: tuple[Tokenizer, InferenceSession] | None = None

    def load(self) -> None:
        """Load tokenizer and encoder, about 0.2 s at the first call; `encode` does it too.

        Raises:
            JudgeSetupError: A file of the model is missing or cannot be read.
        """
        self._parts()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, whatever they hold; blocks for about 5 ms a sentence.

        Args:
            texts: Any text; lone surrogates are replaced, and what lies beyond `LIMIT_TOKENS`
                tokens is not seen.

        Returns:
            Unit vectors of shape (len(texts), `WIDTH`), in the order of `texts`.

        Raises:
            JudgeSetupError: A file of the model is missing or cannot be read.
        """
        import numpy as np

        tokenizer, session = self._parts()
        encoded = [tokenizer.encode(_encodable(text)) for text in texts]
        vectors = np.empty((len(encoded), WIDTH), np.float32)
        for batch in _batches([len(e.ids) for e in encoded]):
            (vectors[batch],) = _run(session, [encoded[i] for i in batch], ["embedding"])
        return vectors

    def embed(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """As `encode`, at the same cost, with the states of each text's word pieces."""
        tokenizer, session = self._parts()
        encoded = [tokenizer.encode(_encodable(text)) for text in texts]
        found: dict[int, EmbeddedText] = {}
        for batch in _batches([len(e.ids) for e in encoded]):
            chosen = [encoded[i] for i in batch]
            vectors, states = _run(session, chosen, ["embedding", "pieces"])
            for row, (index, one) in enumerate(zip(batch, chosen, strict=True)):
                found[index] = _embedded(one, vectors[row], states[row])
        return [found[index] for index in range(len(encoded))]

    def _parts(self) -> tuple[Tokenizer, InferenceSession]:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> tuple[Tokenizer, InferenceSession]:
        missing = [name for name in MODEL_FILES if not (self._model_dir / name).is_file()]
        if missing:
            raise JudgeSetupError(
                f"embedder: {self._model_dir / missing[0]} is missing: install hil-mcp again"
            )
        from onnxruntime import InferenceSession, SessionOptions
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._model_dir / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(LIMIT_TOKENS)
        options = SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        # Neither the arena nor the plans kept for each shape give memory back; a pass costs the
        # same without them.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        options.log_severity_level = 3
        session = InferenceSession(
            str(self._model_dir / "encoder.onnx"), options, providers=["CPUExecutionProvider"]
        )
        return tokenizer, session


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of texts, grouped into batches where that costs less than one run for each."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and _fits(batches[-1], lengths, index):
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _fits(batch: Sequence[int], lengths: Sequence[int], index: int) -> bool:
    longest = lengths[index]
    padding = len(batch) * (longest - lengths[batch[-1]])
    return padding < _RUN_TOKENS and (len(batch) + 1) * longest <= _BATCH_TOKENS


def _run(
    session: InferenceSession, encoded: Sequence[Encoding], outputs: Sequence[str]
) -> list[NDArray[np.float32]]:
    import numpy as np

    shape = (len(encoded), max(len(e.ids) for e in encoded))
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
    found = session.run(list(outputs), {"input_ids": ids, "attention_mask": mask})
    return [np.asarray(values, np.float32) for values in found]


def _embedded(
    encoded: Encoding, vector: NDArray[np.float32], states: NDArray[np.float32]
) -> EmbeddedText:
    """Keep the pieces that carry letters or digits."""
    import numpy as np

    marks = zip(encoded.tokens, encoded.special_tokens_mask, strict=True)
    kept = [
        place
        for place, (piece, special) in enumerate(marks)
        if not special and any(map(str.isalnum, piece))
    ] or [0]
    chosen = states[kept]
    chosen /= np.linalg.norm(chosen, axis=1, keepdims=True)
    # Copies: a row of the batch would keep the whole batch alive.
    return EmbeddedText(
        vector.copy(), np.array(encoded.ids, np.int32)[kept], chosen.astype(np.float16)
    )
