"""Sentence embeddings by all-MiniLM-L6-v2 on ONNX Runtime, from files that ship with the package.

Serves the embedded judge and the search over business rules. Nothing is ever downloaded.
"""

# onnxruntime ships no stubs and tokenizers only partial ones; these two are spoken to here alone.
# pyright: reportMissingTypeStubs=false, reportAttributeAccessIssue=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import threading
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
EMBEDDER_DIGEST = "8ea4032f49532f7ba64148016733fed8c37b01920d652a342043bca9a8f34b51"
"""SHA-256 over `encoder.onnx`, `encoder.weights` and `tokenizer.json`, one after the other."""
WIDTH = 384
LIMIT_TOKENS = 256
"""As in the source model's settings; what a text has beyond it is not seen."""

_MODEL_DIR = Path(__file__).parent / "model"
MODEL_FILES = ("encoder.onnx", "encoder.weights", "tokenizer.json")
# Bounds the memory of one run: activations take about 25 KB a token.
_BATCH_TOKENS = 384


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
            vectors[batch] = _run(session, [encoded[i] for i in batch])
        return vectors

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
    """Indices of texts, grouped by like length into batches of at most `_BATCH_TOKENS` tokens."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[index] <= _BATCH_TOKENS:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _run(session: InferenceSession, encoded: Sequence[Encoding]) -> NDArray[np.float32]:
    import numpy as np

    shape = (len(encoded), max(len(e.ids) for e in encoded))
    ids, mask = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
    (embeddings,) = session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
    return np.asarray(embeddings, np.float32)
