"""An encoder whose vectors are the same on every processor.

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
