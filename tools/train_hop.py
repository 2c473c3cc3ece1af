"""Trains the hop encoder: it reads a question together with a passage already found, and its
vector is near to the passage that comes next.

    pip install torch transformers onnx onnxruntime tokenizers numpy
    python tools/train_hop.py train.json.xz

A copy of the encoder in the package is trained on the query side alone: vectors of passages stay
what they are, so nothing that was embedded is embedded again. Each question of the training file
(`{"p": ["title\\ntext", …], "e": [[question, [numbers of gold passages]], …]}`) gives one query
without a passage, whose targets are all its gold passages, and one with each of its gold
passages, whose targets are the others; softmax over all passages at once. Then four of its six
layers learn to give the same vectors, and that student ships: int8, with the word vectors of the
encoder beside it, which its graph reads from that file.

Recall at 5 of the gold passages not yet found, given one: 1,000 training questions kept aside,
and the 100 of musique_train, whose kind it never saw (one H200, three minutes in all):

| encoder                                  | kept aside | musique_train | new MB |
|------------------------------------------|------------|---------------|--------|
| plain                                    |       44.9 |          58.9 |        |
| trained, 6 layers                        |       83.3 |          79.2 |   10.9 |
| trained, 6 layers, the first 3 as before |       81.7 |          78.3 |    5.4 |
| trained, 4 layers (0, 1, 3, 5)           |       82.0 |          74.0 |    7.3 |
| trained, 3 layers (0, 2, 5)              |       79.5 |          72.4 |    5.5 |
| student, 4 layers (0, 1, 3, 5)           |       82.4 |          77.7 |    7.3 |
| student, 4 layers (0, 2, 4, 5): ships    |       82.7 |          79.1 |    7.3 |
| student, 3 layers (0, 2, 5)              |       81.3 |          77.3 |    5.5 |

One more query for each question, with a passage that only looks right, brought nothing.
"""

import argparse
import json
import lzma
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from build_encoder import build_graph, quantise
from onnx import TensorProto, numpy_helper
from tokenizers import Tokenizer
from torch import Tensor
from transformers import BertConfig, BertModel

MODEL = Path(__file__).parent.parent / "hades" / "models" / "minilm"
PASSAGE_CHARACTERS = 350
PASSAGE_TOKENS, QUERY_TOKENS = 256, 160
TEMPERATURE = 0.04
HELD_OUT, BATCH, SEED = 1_000, 256, 1
STUDENT_LAYERS = [0, 2, 4, 5]
SHARED = ("words", "word_scales", "positions")
WIDTH, WIDE, HEADS, LAYERS = 384, 1536, 12, 6
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

Weights = dict[str, Tensor]


def read_encoder(folder: Path, graph: onnx.GraphProto | None = None) -> Weights:
    """Return the weights of the int8 encoder, or of another graph with the same layers, as floats.

    The weights have the names that transformers uses.
    """
    graph = graph or onnx.load(folder / "model.onnx").graph
    found = {one.name: numpy_helper.to_array(one) for one in graph.initializer}

    def matrix(name: str, smoothing: str | None = None) -> Any:
        codes = found[f"{name}.weight_quantized"].astype(np.float32)
        floats = (codes - found[f"{name}.weight_zero_point"]) * found[f"{name}.weight_scale"]
        if smoothing:
            floats = floats * found[f"{smoothing}.smoothing"][:, None]
        return floats.T

    weights = {
        "embeddings.word_embeddings.weight": found["words"] * found["word_scales"],
        "embeddings.position_embeddings.weight": found["positions"],
        "embeddings.token_type_embeddings.weight": np.zeros((2, WIDTH)),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        attention = f"{layer}.attention"
        three = matrix(attention, norms[-1])
        for at, part in enumerate(("query", "key", "value")):
            rows = slice(at * WIDTH, (at + 1) * WIDTH)
            weights[f"{attention}.self.{part}.weight"] = three[rows]
            weights[f"{attention}.self.{part}.bias"] = found[f"{attention}.bias"][rows]
        norms += [f"{attention}.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name, smoothing in (
            (f"{attention}.output", None),
            (f"{layer}.intermediate", norms[-2]),
            (f"{layer}.output", None),
        ):
            weights[f"{name}.dense.weight"] = matrix(name, smoothing)
            weights[f"{name}.dense.bias"] = found[f"{name}.bias"]
    for norm in norms:
        for part in ("weight", "bias"):
            weights[f"{norm}.{part}"] = found[f"{norm}.{part}"]
    return {name: torch.tensor(np.array(value, np.float32)) for name, value in weights.items()}


def make_model(weights: Weights, layers: list[int]) -> BertModel:
    """The encoder with some of its layers."""
    config = BertConfig(
        hidden_size=WIDTH,
        num_hidden_layers=len(layers),
        num_attention_heads=HEADS,
        intermediate_size=WIDE,
        hidden_act="gelu_pytorch_tanh",
        max_position_embeddings=512,
    )
    model = BertModel(config, add_pooling_layer=False)
    state = {name: value for name, value in weights.items() if ".layer." not in name}
    for new, old in enumerate(layers):
        for name, value in weights.items():
            if f".layer.{old}." in name:
                state[name.replace(f".layer.{old}.", f".layer.{new}.")] = value
    model.load_state_dict(state)
    return model.to(DEVICE)


class Texts:
    """Texts as numbers of tokens, on the device."""

    def __init__(self, texts: list[str], tokens: int) -> None:
        tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(tokens)
        read = tokenizer.encode_batch(texts)
        self.lengths = [len(one.ids) for one in read]
        table = np.zeros((len(texts), max(self.lengths)), np.int32)
        for row, one in zip(table, read, strict=True):
            row[: len(one.ids)] = one.ids
        self._ids = torch.tensor(table, device=DEVICE)
        self._lengths = torch.tensor(self.lengths, device=DEVICE)

    def vectors(self, model: BertModel, which: list[int]) -> Tensor:
        rows = torch.tensor(which, device=DEVICE)
        longest = max(self.lengths[one] for one in which)
        ids = self._ids[rows, :longest].long()
        mask = (torch.arange(longest, device=DEVICE)[None] < self._lengths[rows, None]).long()
        with torch.autocast(DEVICE, torch.bfloat16):
            hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden.float() * mask[..., None]).sum(1)
        return F.normalize(pooled, dim=1)

    @torch.no_grad()
    def all(self, model: BertModel) -> Tensor:
        model.eval()
        order = sorted(range(len(self.lengths)), key=self.lengths.__getitem__)
        found = torch.empty(len(order), WIDTH, device=DEVICE)
        for at in range(0, len(order), 1024):
            some = order[at : at + 1024]
            found[some] = self.vectors(model, some)
        return found


def with_passage(question: str, passage: str) -> str:
    title, _, text = passage.partition("\n")
    return f"{question} {title}: {text[:PASSAGE_CHARACTERS]}"


def queries(passages: list[str], examples: list[Any]) -> tuple[list[str], list[list[int]]]:
    """Texts of queries, and the numbers of the passages that each should find."""
    texts, targets = [], []
    for question, gold in examples:
        texts.append(question)
        targets.append(gold)
        for one in gold if len(gold) > 1 else ():
            texts.append(with_passage(question, passages[one]))
            targets.append([other for other in gold if other != one])
    return texts, targets


def fit(
    model: BertModel, epochs: int, rate: float, items: int, loss_of: Callable[[list[int]], Any]
) -> None:
    """Lower a loss over batches of items; word vectors stay."""
    model.train()
    model.embeddings.requires_grad_(False)
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01, fused=True)
    batches = epochs * items // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=batches + 1, pct_start=0.1, anneal_strategy="linear"
    )
    chosen, order = random.Random(SEED), list[int]()
    for _ in range(batches):
        if len(order) < BATCH:
            order = list(range(items))
            chosen.shuffle(order)
        some, order = order[:BATCH], order[BATCH:]
        loss_of(some).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()


def train(model: BertModel, texts: Texts, targets: list[list[int]], passages: Tensor) -> None:
    """Bring queries near to their targets."""
    half = passages.bfloat16()

    def loss(some: list[int]) -> Tensor:
        scores = (texts.vectors(model, some).bfloat16() @ half.T).float() / TEMPERATURE
        rows = [row for row, one in enumerate(some) for _ in targets[one]]
        wanted = [number for one in some for number in targets[one]]
        share = torch.tensor([1 / len(targets[one]) for one in some for _ in targets[one]])
        off = torch.logsumexp(scores, 1)[rows] - scores[rows, wanted]
        return off @ share.to(DEVICE) / len(some)

    fit(model, 2, 5e-5, len(targets), loss)


def make_student(teacher: BertModel, texts: Texts) -> BertModel:
    """Fewer layers that give the same vectors."""
    wanted = texts.all(teacher)
    weights = {name: value.cpu() for name, value in teacher.state_dict().items()}
    student = make_model(weights, STUDENT_LAYERS)
    for module in student.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0

    def loss(some: list[int]) -> Tensor:
        return (1 - (texts.vectors(student, some) * wanted[some]).sum(1)).mean()

    fit(student, 4, 2e-4, len(texts.lengths), loss)
    return student


@torch.no_grad()
def next_found(model: BertModel, passages: list[str], vectors: Tensor, examples: list[Any]) -> str:
    """Recall of the other gold passages given one, and of all given none, at 5 and 20."""
    texts, targets = queries(passages, examples)
    bare = {question for question, _ in examples}
    read = Texts(texts, QUERY_TOKENS).all(model)
    got: dict[str, list[list[float]]] = {"none": [], "one": []}
    for text, query, wanted in zip(texts, read, targets, strict=True):
        scores = vectors @ query
        if text not in bare:  # what was read is not asked for again
            gold = next(set(g) for q, g in examples if text.startswith(q))
            scores[list(gold - set(wanted))] = -1
        best = scores.topk(20).indices.tolist()
        got["none" if text in bare else "one"].append(
            [len(set(best[:at]) & set(wanted)) / len(wanted) for at in (5, 20)]
        )
    return " ".join(
        f"{name}: " + " ".join(f"{100 * one:.1f}" for one in np.mean(rows, 0))
        for name, rows in got.items()
    )


def write_graph(model: BertModel, folder: Path) -> None:
    """Write the int8 graph beside the encoder."""
    weights = {name: value.float().cpu().numpy() for name, value in model.state_dict().items()}
    with tempfile.TemporaryDirectory() as temporary:
        floats, made = Path(temporary) / "floats.onnx", Path(temporary) / "int8.onnx"
        onnx.save(build_graph(weights, for_int8=True, layers=len(STUDENT_LAYERS)), floats)
        quantise(floats, made)
        graph = onnx.load(made)
    share_with_encoder(graph, folder)
    (folder / "hop.onnx").write_bytes(graph.SerializeToString())


def share_with_encoder(graph: onnx.ModelProto, folder: Path) -> None:
    """Let a graph read what it shares with the encoder from the encoder's file."""
    plain = (folder / "model.onnx").read_bytes()
    shared = {one.name: one.raw_data for one in onnx.load_from_string(plain).graph.initializer}
    for tensor in graph.graph.initializer:
        if tensor.name in SHARED and tensor.raw_data == shared[tensor.name]:
            place = {"location": "model.onnx", "offset": plain.index(tensor.raw_data)}
            for key, value in (place | {"length": len(tensor.raw_data)}).items():
                tensor.external_data.add(key=key, value=str(value))
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=MODEL, help="the encoder's folder")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    data = json.loads(lzma.decompress(given.file.read_bytes()))
    passages, examples = data["p"], data["e"]
    random.Random(SEED).shuffle(examples)
    held, learnt = examples[:HELD_OUT], examples[HELD_OUT:]
    weights = read_encoder(given.out)
    plain, teacher = (make_model(weights, list(range(LAYERS))) for _ in range(2))
    vectors = Texts(passages, PASSAGE_TOKENS).all(plain)
    texts, targets = queries(passages, learnt)
    train(teacher, Texts(texts, QUERY_TOKENS), targets, vectors)
    heads = [with_passage("", one).strip() for one in passages]
    student = make_student(teacher, Texts([*texts, *heads], QUERY_TOKENS))
    write_graph(student, given.out)
    for name, model in (("plain", plain), ("teacher", teacher), ("student", student)):
        print(name, next_found(model, passages, vectors, held), flush=True)


if __name__ == "__main__":
    main()
