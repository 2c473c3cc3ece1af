"""An encoder, and a reader, whose values are the same on every processor.

The vectors of the built-in encoder, which computes in int8, differ a little by processor, and
with them the order of texts that are nearly as near to a question. Tests of such an order use
this one: the vector of a text is the mean of a random vector for each of its words, in float32.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hades.models.encoder import MINILM_FOLDER
from hades.models.onnx_encoder import HOP_GRAPH
from hades.models.reader import READER_GRAPH

WORDS, DIMS = 30_522, 64


def write_word_encoder(folder: Path) -> Path:
    """Write the encoder into a new folder, for the setting `folder:…`."""
    onnx = pytest.importorskip("onnx")
    make, ints, floats = onnx.helper, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    table = np.random.default_rng(0).normal(size=(WORDS, DIMS)).astype(np.float32)
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = make.make_graph(
        [make.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "words",
        [make.make_tensor_value_info(name, ints, ["batch", "tokens"]) for name in names],
        [make.make_tensor_value_info("last_hidden_state", floats, ["batch", "tokens", DIMS])],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    folder.mkdir()
    opsets = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opsets, ir_version=8), folder / "model.onnx")
    shutil.copy(folder / "model.onnx", folder / HOP_GRAPH)
    shutil.copy(MINILM_FOLDER / "tokenizer.json", folder)
    return folder


COMMON = 2_100
"""Tokens up to this number are marks and the commonest words: `the`, `where`, `is`."""


def write_word_reader(folder: Path) -> None:
    """Write a reader beside an encoder that counts the question's rarer words in what it reads.

    A sentence speaks of the question if it has two of them. A sentence replaces another if both
    have one.
    """
    onnx = pytest.importorskip("onnx")
    make, ints, floats = onnx.helper, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    names = ("input_ids", "token_type_ids", "attention_mask")
    constants = {
        "common": np.array(COMMON, np.int64),
        "last": np.array([2], np.int64),
        "middle": np.array([1], np.int64),
        "both": np.array([1, 2], np.int64),
        "scale": np.array([[3, 4]], np.float32),
        "offset": np.array([[-5, -6]], np.float32),
    }
    steps = [
        ("Greater", ["input_ids", "common"], "rare"),
        ("Cast", ["token_type_ids"], "beside", {"to": onnx.TensorProto.BOOL}),
        ("Not", ["beside"], "asked"),
        ("And", ["asked", "rare"], "words"),
        ("Unsqueeze", ["words", "last"], "words_down"),
        ("Unsqueeze", ["beside", "middle"], "beside_across"),
        ("And", ["words_down", "beside_across"], "compared"),
        ("Unsqueeze", ["input_ids", "last"], "down"),
        ("Unsqueeze", ["input_ids", "middle"], "across"),
        ("Equal", ["down", "across"], "equal"),
        ("And", ["compared", "equal"], "shared"),
        ("Cast", ["shared"], "counted", {"to": floats}),
        ("ReduceSum", ["counted", "both"], "sum", {"keepdims": 0}),
        ("Unsqueeze", ["sum", "middle"], "total"),
        ("Mul", ["total", "scale"], "scaled"),
        ("Add", ["scaled", "offset"], "logits"),
    ]
    graph = make.make_graph(
        [make.make_node(step[0], step[1], [step[2]], **dict(*step[3:])) for step in steps],
        "reader",
        [make.make_tensor_value_info(name, ints, ["batch", "tokens"]) for name in names],
        [make.make_tensor_value_info("logits", floats, ["batch", 2])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opsets, ir_version=8), folder / READER_GRAPH)
