"""Trains the reader: it reads a question beside a sentence, or beside two, and judges them.

    pip install torch transformers onnx onnxruntime tokenizers numpy
    python tools/train_reader.py --notes training/notes DATA/notes_train \\
        --squad DATA/squad_train/train.json.xz

The reader is a copy of the encoder with two outputs for the text `question [SEP] sentence` or
`question [SEP] older sentence [SEP] newer sentence`:

- speaks: the logit that the sentence speaks of what is asked, with the right or an outdated answer
- replaces: the logit that the newer sentence replaces the older one as an answer to the question

Several teachers with all layers learn from situations and single paragraphs, with different seeds.
A student with fewer layers then learns the mean of their logits, also on pairs without a label.
The student ships in int8, and its graph reads the word vectors from the encoder's file.
"""

import argparse
import json
import lzma
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
import torch.nn.functional as F
from build_encoder import Graph, add_layers, add_sum, embed_per_row, quantise
from onnx import helper
from situations import Question, Situation, read_situations
from tokenizers import Tokenizer
from torch import Tensor, nn
from train_hop import LAYERS, MODEL, WIDTH, Texts, make_model, read_encoder, share_with_encoder

RATE, BATCH, SEED = 6e-5, 512, 1
TOKENS, NEAR, READ = 128, 6, 12
UNLABELLED = range(2, 30, 2)
"""Ranks by nearness of the sentences that are read with each question for the student only; its
aims there are the teachers' logits."""
SPEAKS, REPLACES = 0, 1
PAIRS_WEIGHT = 4.0
"""The weight in the loss of a pair of sentences beside a single one: there are far fewer pairs."""
WEIGHTS = (0, 0.02, 0.04, 0.08, 0.15, 9)
"""Weights of the logit beside the cosine, to compare."""


@dataclass(frozen=True)
class Example:
    """Texts to read together, the output to look at, and its label."""

    texts: tuple[str, ...]
    head: int
    label: float


class Reader(nn.Module):
    """The encoder's layers, and two logits from the first token's vector beside the mean of all."""

    def __init__(self, weights: dict[str, Tensor], layers: list[int]) -> None:
        super().__init__()
        self.body = make_model(weights, layers)
        self.head = nn.Linear(2 * WIDTH, 2).cuda()
        kinds = self.body.embeddings.token_type_embeddings.weight
        self.body.embeddings.word_embeddings.requires_grad_(False)
        self.body.embeddings.position_embeddings.requires_grad_(False)
        # Type 0 stays zero, so that the positions are the encoder's, with which they are shared.
        kinds.register_hook(lambda slope: slope * torch.tensor([[0.0], [1.0]], device="cuda"))

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16):
            found = self.body(input_ids=ids, token_type_ids=kinds, attention_mask=mask)
        hidden = found.last_hidden_state.float()
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(torch.cat([hidden[:, 0], mean], 1))


class Pairs:
    """Texts read together, as numbers of tokens; the second and later ones have type 1."""

    def __init__(self, texts: Sequence[tuple[str, ...]], folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        start, end = (tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        flat = list({text for together in texts for text in together})
        read = tokenizer.encode_batch(flat, add_special_tokens=False)
        ids_of = {
            text: [*one.ids[: TOKENS // 2 - 1], end] for text, one in zip(flat, read, strict=True)
        }
        width = 1 + max(sum(len(ids_of[text]) for text in together) for together in texts)
        ids, kinds = (np.zeros((len(texts), width), np.int32) for _ in range(2))
        self.lengths = []
        for row, together in enumerate(texts):
            parts = [ids_of[text] for text in together]
            joined = [start, *(number for part in parts for number in part)]
            ids[row, : len(joined)] = joined
            kinds[row, 1 + len(parts[0]) : len(joined)] = 1
            self.lengths.append(len(joined))
        self._ids, self._kinds, self._lengths = (
            torch.tensor(one, device="cuda") for one in (ids, kinds, self.lengths)
        )

    def logits(self, model: Reader, which: Sequence[int]) -> Tensor:
        rows = torch.tensor(which, device="cuda")
        longest = max(self.lengths[one] for one in which)
        mask = (torch.arange(longest, device="cuda")[None] < self._lengths[rows, None]).long()
        return model(self._ids[rows, :longest].long(), self._kinds[rows, :longest].long(), mask)

    def feeds(self) -> Iterator[dict[str, Any]]:
        """Inputs of the graph, one text at a time."""
        for row, length in enumerate(self.lengths):
            ids, kinds = (
                table[row : row + 1, :length].long().cpu().numpy()
                for table in (self._ids, self._kinds)
            )
            yield {"input_ids": ids, "token_type_ids": kinds, "attention_mask": np.ones_like(ids)}

    def batches(self, chosen: random.Random) -> Iterator[list[int]]:
        """Batches of texts of like length, in random order, without end."""
        while True:
            order = sorted(
                range(len(self.lengths)), key=lambda one: self.lengths[one] + 8 * chosen.random()
            )
            some = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
            chosen.shuffle(some)
            yield from some

    @torch.no_grad()
    def all(self, model: Reader) -> Tensor:
        model.eval()
        order = sorted(range(len(self.lengths)), key=self.lengths.__getitem__)
        found = torch.empty(len(order), 2, device="cuda")
        for at in range(0, len(order), 1024):
            found[order[at : at + 1024]] = self.logits(model, order[at : at + 1024])
        return found


class Sentences:
    """Every sentence of some situations, to be found by the encoder."""

    def __init__(self, situations: list[Situation], encoder: Any) -> None:
        self.texts, self.dates, self.owners = [], [], []
        self.starts: list[dict[Any, int]] = []
        for number, situation in enumerate(situations):
            start = {}
            for place in situation.places():
                start[place] = len(self.texts)
                self.texts.append(situation.sentence(place))
                self.dates.append(situation.notes[place[0]]["date"])
                self.owners.append(number)
            self.starts.append(start)
        self.vectors = Texts(self.texts, TOKENS).all(encoder)
        self.owner = torch.tensor(self.owners, device="cuda")

    def nearest(self, vector: Tensor, count: int, without: int = -1, until: str = "9999") -> Any:
        """The nearest sentences written by a date, but for one situation."""
        scores = self.vectors @ vector
        scores = torch.where(self.owner == without, -2.0, scores)
        best = scores.topk(min(len(self.texts), 4 * count)).indices.tolist()
        return [at for at in best if self.dates[at] <= until][:count]


def note_examples(situations: list[Situation], encoder: Any) -> list[Example]:
    sentences = Sentences(situations, encoder)
    asked = [one.text for situation in situations for one in situation.questions]
    vectors = iter(Texts(asked, TOKENS).all(encoder))
    examples = []
    for number, situation in enumerate(situations):
        for question in situation.questions:
            near = sentences.nearest(next(vectors), NEAR, without=number)
            examples += [Example((question.text, sentences.texts[at]), SPEAKS, 0.0) for at in near]
            right = set(question.gold + question.stale)
            examples += [
                Example((question.text, situation.sentence(place)), SPEAKS, float(place in right))
                for place in situation.places(question.asked)
            ]
            examples += pair_examples(situation, question)
    return examples


def unlabelled(situations: list[Situation], encoder: Any) -> list[Example]:
    """Questions with sentences near to them, of any situation; the teachers label them."""
    sentences = Sentences(situations, encoder)
    asked = [one.text for situation in situations for one in situation.questions]
    vectors = Texts(asked, TOKENS).all(encoder)
    nearest = torch.cat(
        [(some @ sentences.vectors.T).topk(UNLABELLED.stop).indices for some in vectors.split(2048)]
    )
    return [
        Example((text, sentences.texts[at]), SPEAKS, 0.0)
        for text, near in zip(asked, nearest[:, list(UNLABELLED)].tolist(), strict=True)
        for at in near
    ]


def pair_examples(situation: Situation, question: Question) -> list[Example]:
    """An older answer with each sentence of a later note of its topic.

    The later one replaces the older one if it is right and the older one is outdated.
    """
    examples = []
    for older in question.gold + question.stale:
        for newer in situation.places(question.asked):
            if newer[0] > older[0] and situation.topic_of(newer[0]) == situation.topic_of(older[0]):
                label = older in question.stale and newer in question.gold
                texts = (question.text, situation.sentence(older), situation.sentence(newer))
                examples.append(Example(texts, REPLACES, float(label)))
    return examples


def squad_examples(path: Path) -> list[Example]:
    rows = json.loads(lzma.decompress(path.read_bytes()))
    return [
        Example((question, text), SPEAKS, label)
        for question, right, near in rows
        for label, texts in ((1.0, right), (0.0, near))
        for text in texts
    ]


def fit(
    model: Reader, pairs: Pairs, epochs: int, rate: float, loss_of: Any, seed: int = SEED
) -> None:
    model.train()
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01, fused=True)
    steps = epochs * len(pairs.lengths) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps + 1, pct_start=0.1, anneal_strategy="linear"
    )
    started = time.monotonic()
    for some in islice(pairs.batches(random.Random(seed)), steps):
        loss_of(some).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    print(f"{steps} steps in {time.monotonic() - started:.0f} s", flush=True)


def weights_of(heads: Tensor) -> Tensor:
    return torch.where(heads == REPLACES, PAIRS_WEIGHT, 1.0)


def teach(weights: Any, pairs: Pairs, examples: list[Example], epochs: int, seed: int) -> Reader:
    torch.manual_seed(seed)
    model = Reader(weights, list(range(LAYERS)))
    heads = torch.tensor([one.head for one in examples], device="cuda")
    labels = torch.tensor([one.label for one in examples], device="cuda")

    def loss(some: list[int]) -> Tensor:
        logits = pairs.logits(model, some).gather(1, heads[some][:, None])[:, 0]
        return F.binary_cross_entropy_with_logits(logits, labels[some], weights_of(heads[some]))

    fit(model, pairs, epochs, RATE, loss, seed)
    return model


def make_student(
    teacher: Reader, pairs: Pairs, heads: Tensor, wanted: Tensor, layers: list[int], epochs: int
) -> Reader:
    """Train a reader with fewer layers to give the wanted logits."""
    weights = {name: value.cpu() for name, value in teacher.body.state_dict().items()}
    student = Reader(weights, layers)
    student.head.load_state_dict(teacher.head.state_dict())

    def loss(some: list[int]) -> Tensor:
        logits = pairs.logits(student, some).gather(1, heads[some][:, None])[:, 0]
        aims = wanted[some].gather(1, heads[some][:, None])[:, 0]
        return F.binary_cross_entropy_with_logits(
            logits, torch.sigmoid(aims), weights_of(heads[some])
        )

    fit(student, pairs, epochs, 2e-4, loss)
    return student


def auc(right: list[float], wrong: list[float]) -> float:
    values = np.array([*right, *wrong])
    ranks = values.argsort().argsort() + 1
    both = len(right) * len(wrong)
    return float((ranks[: len(right)].sum() - len(right) * (len(right) + 1) / 2) / max(1, both))


def measure(name: str, model: Reader, situations: list[Situation], encoder: Any, to: Path) -> None:
    """Order and doubt over the nearest sentences of a domain, and which of two replaces which."""
    sentences = Sentences(situations, encoder)
    questions = [
        (number, one) for number, situation in enumerate(situations) for one in situation.questions
    ]
    vectors = Texts([one.text for _, one in questions], TOKENS).all(encoder)
    found = [
        sentences.nearest(vector, READ, until=one.asked)
        for vector, (_, one) in zip(vectors, questions, strict=True)
    ]
    texts = [
        (one.text, sentences.texts[at])
        for (_, one), near in zip(questions, found, strict=True)
        for at in near
    ]
    logits = Pairs(texts, to).all(model)[:, SPEAKS].tolist()
    start, known, unknown = 0, list[float](), list[float]()
    hits: dict[str, list[list[bool]]] = {f"{weight:g}": [] for weight in WEIGHTS}
    for (number, question), near, vector in zip(questions, found, vectors, strict=True):
        own, start = np.array(logits[start : start + len(near)]), start + len(near)
        (known if question.gold else unknown).append(float(own.max(initial=-9)))
        right = {sentences.starts[number][place] for place in question.gold + question.stale}
        if not right:
            continue
        cosine = (sentences.vectors[near] @ vector).cpu().numpy()
        for weight, rows in zip(WEIGHTS, hits.values(), strict=True):
            order = [near[at] for at in np.argsort(-(cosine + weight * own), kind="stable")]
            rows.append([bool(right & set(order[:count])) for count in (1, 5)])
    doubted = float(np.quantile(known, 0.08))
    noticed = float(np.mean(np.array(unknown) < doubted))
    pairs = [
        one for number, question in questions for one in pair_examples(situations[number], question)
    ]
    said = Pairs([one.texts for one in pairs], to).all(model)[:, REPLACES].tolist()
    replaced = auc(
        *(
            [value for value, one in zip(said, pairs, strict=True) if one.label == label]
            for label in (1.0, 0.0)
        )
    )
    shares = ", ".join(
        f"{weight}: " + "/".join(f"{100 * share:.1f}" for share in np.mean(rows, 0))
        for weight, rows in hits.items()
    )
    print(
        f"{name:10} {situations[0].domain:14} first/5 by cosine + weight x logit: {shares}"
        f" | unknown AUC {auc(known, unknown):.3f} noticed {100 * noticed:.1f} at 8 % doubted"
        f" | replaces AUC {replaced:.3f}",
        flush=True,
    )


def build_reader(model: Reader) -> onnx.ModelProto:
    """The network with its two logits, prepared for int8."""
    weights = {name: value.float().cpu().numpy() for name, value in model.body.state_dict().items()}
    graph = Graph()
    layers = model.body.config.num_hidden_layers
    hidden = add_layers(graph, weights, embed_per_row(graph, weights, True), True, layers)
    total = add_sum(graph, hidden)
    one = graph.constant("one_axis", np.array([1], np.int64))
    count = graph.op("ReduceSum", ["mask_float.out", one], "count", keepdims=1)
    mean = graph.op("Div", [total, count], "mean")
    zero = graph.constant("zero_row", np.array([0], np.int64))
    first = graph.op("Gather", [hidden, zero], "first_row", axis=1)
    first = graph.op("Squeeze", [first, one], "first")
    both = graph.op("Concat", [first, mean], "both", axis=1)
    matrix = graph.constant("head.weight", model.head.weight.detach().float().cpu().numpy())
    bias = graph.constant("head.bias", model.head.bias.detach().float().cpu().numpy())
    graph.nodes.append(helper.make_node("Gemm", [both, matrix, bias], ["logits"], transB=1))
    return graph.model(("input_ids", "token_type_ids", "attention_mask"), "logits", 2)


def write_reader(model: Reader, folder: Path, name: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        floats, small = Path(temporary) / "floats.onnx", Path(temporary) / "int8.onnx"
        onnx.save(build_reader(model), floats)
        quantise(floats, small)
        graph = onnx.load(small)
    share_with_encoder(graph, folder)
    (folder / name).write_bytes(graph.SerializeToString())


def measure_int8(model: Reader, folder: Path, name: str, texts: list[tuple[str, ...]]) -> None:
    """How far the int8 graph's logits are from those of the trained network."""
    session = onnxruntime.InferenceSession(folder / name)
    pairs = Pairs(texts, folder)
    small = np.stack([session.run(None, feed)[0][0] for feed in pairs.feeds()])
    apart = np.abs(small - pairs.all(model).cpu().numpy())
    print(f"int8: logits differ by {apart.mean(0)} on average", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--encoder", type=Path, default=MODEL, help="folder of the encoder")
    parser.add_argument("--notes", type=Path, nargs="+", required=True)
    parser.add_argument("--squad", type=Path)
    parser.add_argument("--without", nargs="*", default=[], help="domains to leave out")
    parser.add_argument(
        "--epochs", type=int, default=5, help="of a teacher; students get twice as many"
    )
    parser.add_argument("--teachers", type=int, default=3, help="whose mean a student learns")
    parser.add_argument(
        "--student",
        type=int,
        nargs="*",
        action="append",
        default=[],
        help="layers of a student; the last one named is written",
    )
    parser.add_argument("--write", action="store_true", help="write it beside the encoder")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    situations = list(read_situations(given.notes))
    learnt = [one for one in situations if one.domain not in given.without]
    weights = read_encoder(given.encoder)
    encoder = make_model(weights, list(range(LAYERS)))
    examples = note_examples(learnt, encoder)
    if given.squad:
        examples += squad_examples(given.squad)
    pairs = Pairs([one.texts for one in examples], given.encoder)
    print(len(examples), "examples", flush=True)
    teachers = [
        teach(weights, pairs, examples, given.epochs, SEED + at) for at in range(given.teachers)
    ]
    model = teachers[0]
    models = {"teacher": model}
    if given.student:
        examples += unlabelled(learnt, encoder)
        pairs = Pairs([one.texts for one in examples], given.encoder)
        heads = torch.tensor([one.head for one in examples], device="cuda")
        wanted = torch.stack([pairs.all(one) for one in teachers]).mean(0)
        print(len(examples), "examples for a student", flush=True)
    for layers in given.student:
        model = make_student(teachers[0], pairs, heads, wanted, layers, 2 * given.epochs)
        models[f"student {len(layers)}"] = model
    for domain in given.without:
        own = [one for one in situations if one.domain == domain]
        for name, one in models.items():
            measure(name, one, own, encoder, given.encoder)
    if given.write:
        for name, one in models.items():
            file = "reader.onnx" if one is model else f"{name.replace(' ', '-')}.onnx"
            write_reader(one, given.encoder, file)
            measure_int8(one, given.encoder, file, [row.texts for row in examples[:200]])


if __name__ == "__main__":
    main()
