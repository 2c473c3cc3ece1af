"""Trains the reader: it reads a question beside a text, or beside two, and judges them.

    pip install torch transformers onnx onnxruntime tokenizers numpy safetensors
    python tools/document_units.py units.json.xz training/documents/* DATA/documents/*
    python tools/train_reader.py --teacher all-mpnet-base-v2 \\
        --notes training/notes DATA/notes_train --squad DATA/squad_train/train.json.xz \\
        --units units.json.xz --near training/near \\
        --multihop DATA/multihop_train/train.json.xz --start hades/models/minilm/reader.onnx \\
        --student 0 1 2 3 4 5 --write build

The reader is a copy of the encoder with two outputs for the text `question [SEP] text` or
`question [SEP] older sentence [SEP] newer sentence`:

- speaks: the logit that the text speaks of what is asked, with the right or an outdated answer
- replaces: the logit that the newer sentence replaces the older one as an answer to the question

A text is a sentence of a note, a told fact, or a unit of a document or conversation. Several
teachers, copies of a larger encoder, learn from labelled texts with different seeds. A student then
learns the mean of their logits, also on pairs without a label: every question beside the units of
its best passages and beside near sentences of notes. The student ships in int8, and its graph reads
the word vectors from the encoder's file.
"""

import argparse
import json
import lzma
import math
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
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
from onnx import helper, numpy_helper
from situations import Question, Situation, read_situations
from tokenizers import Tokenizer
from torch import Tensor, nn
from train_hop import (
    DEVICE,
    LAYERS,
    MODEL,
    WIDTH,
    Texts,
    make_model,
    read_encoder,
    share_with_encoder,
)
from transformers import MPNetModel

RATE, BATCH, SEED = 6e-5, 512, 1
TOKENS, NEAR, READ = 128, 6, 12
TEXT_TOKENS = 96
"""The most tokens of the question and of each text; the rest is cut off."""
TEACHER_RATE, TEACHER_BATCH = 3e-5, 256
PASSAGES, PASSAGE_TOKENS, FUSED_FROM = 24, 256, 10
"""How many passages of a document question are cut into units. They have the highest sums of
1 / (FUSED_FROM + rank) by the encoder's cosine and by BM25."""
FURTHER = 40
"""The same for the student, which also learns the teachers' logits of units further down."""
ELSEWHERE = 6
"""Passages of another collection whose units the student reads with each question."""
OTHER_UNITS = 25
"""Units of these passages that do not answer, for each question with labels."""
GOLD_TIMES, NEAR_TIMES = 3, 2
"""How often a unit that answers, and a pair of `--near`, is read in an epoch."""
UNLABELLED = range(2, 30, 2)
"""Ranks by nearness of the sentences that are read with each question for the student only; its
aims there are the teachers' logits."""
SENTENCES_READ, PARAGRAPHS_NEAR, MULTIHOP_QUESTIONS = 24, 6, 12_000
"""Of questions over several paragraphs: how many sentences of the gold and of the nearest other
paragraphs the student reads with each, and how many questions are taken."""
SPEAKS, REPLACES = 0, 1
FAR_LOGIT, LOGITS_WEIGHT = 8.0, 0.1
"""The student's loss also has LOGITS_WEIGHT times the (Huber) distance of its logit from the
teachers', up to FAR_LOGIT. The cross-entropy alone teaches nothing about the order of two units
that both hardly answer."""
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

    rate, batch = RATE, BATCH

    def __init__(self, weights: dict[str, Tensor], layers: list[int]) -> None:
        super().__init__()
        head = weights.get("head")
        self.body = make_model({name: weights[name] for name in weights if name != "head"}, layers)
        self.head = nn.Linear(2 * WIDTH, 2).to(DEVICE)
        if head is not None:
            self.head.weight.data.copy_(head)
        kinds = self.body.embeddings.token_type_embeddings.weight
        self.body.embeddings.word_embeddings.requires_grad_(False)
        self.body.embeddings.position_embeddings.requires_grad_(False)
        # Type 0 stays zero, so that the positions are the encoder's, with which they are shared.
        kinds.register_hook(lambda slope: slope * torch.tensor([[0.0], [1.0]], device=DEVICE))

    def read(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Any:
        return self.body(input_ids=ids, token_type_ids=kinds, attention_mask=mask)

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast(DEVICE, torch.bfloat16):
            found = self.read(ids, kinds, mask)
        hidden = found.last_hidden_state.float()
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(torch.cat([hidden[:, 0], mean], 1))


class Teacher(Reader):
    """A larger encoder with the same two logits. It has no types of tokens."""

    rate, batch = TEACHER_RATE, TEACHER_BATCH

    def __init__(self, folder: Path) -> None:
        nn.Module.__init__(self)
        self.body = MPNetModel.from_pretrained(folder, add_pooling_layer=False).float().to(DEVICE)
        self.head = nn.Linear(2 * self.body.config.hidden_size, 2).to(DEVICE)

    def read(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Any:
        return self.body(input_ids=ids, attention_mask=mask)


def read_reader(folder: Path, file: Path) -> dict[str, Tensor]:
    """Return the weights of an int8 reader, as floats; it shares the encoder's word vectors."""
    graph = onnx.load(file).graph
    weights = read_encoder(folder, graph)
    found = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    types = np.stack([np.zeros(WIDTH, np.float32), found["type_step"]])
    codes = found["head.weight_quantized"].astype(np.float32) - found["head.weight_zero_point"]
    return {
        **weights,
        "embeddings.token_type_embeddings.weight": torch.tensor(types),
        "head": torch.tensor((codes * found["head.weight_scale"]).T),
    }


class Pairs:
    """Texts read together, as numbers of tokens; the second and later ones have type 1."""

    def __init__(self, texts: Sequence[tuple[str, ...]], folder: Path) -> None:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        is_bert = tokenizer.token_to_id("<s>") is None
        marks = ("[CLS]", "[SEP]", "[PAD]") if is_bert else ("<s>", "</s>", "<pad>")
        start, end, padding = map(tokenizer.token_to_id, marks)
        between = [end] if is_bert else [end, end]
        flat = list({text for together in texts for text in together})
        ids_of: dict[str, list[int]] = {}
        for at in range(0, len(flat), 50_000):
            part = flat[at : at + 50_000]
            read = tokenizer.encode_batch_fast(part, add_special_tokens=False)
            ids_of |= {text: one.ids[:TEXT_TOKENS] for text, one in zip(part, read, strict=True)}
        longest = max(sum(len(ids_of[text]) + 2 for text in together) for together in texts)
        ids = np.full((len(texts), longest), padding, np.int32)
        kinds = np.zeros((len(texts), longest), np.int8)
        self.lengths = []
        for row, together in enumerate(texts):
            joined = [start, *ids_of[together[0]]]
            first = len(joined) + 1
            for text in together[1:]:
                joined += between + ids_of[text]
            joined.append(end)
            ids[row, : len(joined)] = joined
            kinds[row, first : len(joined)] = 1
            self.lengths.append(len(joined))
        self._ids, self._kinds, self._lengths = (
            torch.tensor(one, device=DEVICE) for one in (ids, kinds, self.lengths)
        )

    def logits(self, model: Reader, which: Sequence[int]) -> Tensor:
        rows = torch.tensor(which, device=DEVICE)
        longest = max(self.lengths[one] for one in which)
        mask = (torch.arange(longest, device=DEVICE)[None] < self._lengths[rows, None]).long()
        return model(self._ids[rows, :longest].long(), self._kinds[rows, :longest].long(), mask)

    def feeds(self) -> Iterator[dict[str, Any]]:
        """Inputs of the graph, one text at a time."""
        for row, length in enumerate(self.lengths):
            ids, kinds = (
                table[row : row + 1, :length].long().cpu().numpy()
                for table in (self._ids, self._kinds)
            )
            yield {"input_ids": ids, "token_type_ids": kinds, "attention_mask": np.ones_like(ids)}

    def batches(self, chosen: random.Random, size: int) -> Iterator[list[int]]:
        """Batches of texts of like length, in random order, without end."""
        while True:
            order = sorted(
                range(len(self.lengths)), key=lambda one: self.lengths[one] + 8 * chosen.random()
            )
            some = [order[at : at + size] for at in range(0, len(order), size)]
            chosen.shuffle(some)
            yield from some

    @torch.no_grad()
    def all(self, model: Reader) -> Tensor:
        model.eval()
        order = sorted(range(len(self.lengths)), key=self.lengths.__getitem__)
        found = torch.empty(len(order), model.head.out_features, device=DEVICE)
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
        self.owner = torch.tensor(self.owners, device=DEVICE)

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


@dataclass(frozen=True)
class UnitQuestion:
    """A question over a collection of documents, with the units of its best passages."""

    text: str
    kind: str
    answers: list[str]
    passages: list[list[str]]
    """The units of each of its best passages, the best first."""
    further: list[str]
    """Units of the passages after these."""
    gold: set[str]
    left_out: set[str]

    @property
    def units(self) -> list[str]:
        return list(dict.fromkeys(unit for own in self.passages for unit in own))


def read_units(path: Path, encoder: Any) -> dict[str, list[UnitQuestion]]:
    """Read the units that `document_units.py` wrote; map collections to their questions."""
    collections = {}
    for line in lzma.decompress(path.read_bytes()).split(b"\n")[:-1]:
        read = json.loads(line)
        texts, passages = read["texts"], read["passages"]
        vectors = Texts([text for text, _ in passages], PASSAGE_TOKENS).all(encoder)
        asked = Texts([row["question"] for row in read["questions"]], TOKENS).all(encoder)
        nearest = (asked @ vectors.T).topk(min(len(passages), 2 * PASSAGES)).indices.tolist()
        questions = []
        for row, near in zip(read["questions"], nearest, strict=True):
            scores: Counter[int] = Counter()
            for order in (near, row["words"]):
                for rank, number in enumerate(order):
                    scores[number] += 1 / (FUSED_FROM + rank)
            best = [number for number, _ in scores.most_common(FURTHER)]
            of_passages = [[texts[unit] for unit in passages[number][1]] for number in best]
            questions.append(
                UnitQuestion(
                    row["question"],
                    row["type"],
                    row["answers"],
                    of_passages[:PASSAGES],
                    [unit for own in of_passages[PASSAGES:] for unit in own],
                    {texts[unit] for unit in row["gold"]},
                    {texts[unit] for unit in row["left_out"]},
                )
            )
        collections[read["name"]] = questions
    return collections


def unit_examples(questions: Iterable[UnitQuestion], chosen: random.Random) -> list[Example]:
    examples = []
    for one in questions:
        if not one.gold and one.kind != "unknown":
            continue
        examples += [Example((one.text, unit), SPEAKS, 1.0) for unit in one.gold] * GOLD_TIMES
        others = [unit for unit in one.units if unit not in one.gold | one.left_out]
        others = chosen.sample(others, min(OTHER_UNITS, len(others)))
        examples += [Example((one.text, unit), SPEAKS, 0.0) for unit in others]
    return examples


def unlabelled_units(
    collections: dict[str, list[UnitQuestion]], chosen: random.Random
) -> list[Example]:
    """Questions with all units of their passages, and with some of another collection."""
    examples = []
    names = sorted(collections)
    for name in names:
        others = [other for other in names if other != name]
        for one in collections[name]:
            read = dict.fromkeys([*one.units, *one.further])
            if others:
                elsewhere = chosen.choice(collections[chosen.choice(others)])
                read |= dict.fromkeys(
                    unit for own in elsewhere.passages[:ELSEWHERE] for unit in own
                )
            examples += [Example((one.text, unit), SPEAKS, 0.0) for unit in read]
    return examples


def multihop_unlabelled(path: Path, encoder: Any, chosen: random.Random) -> list[Example]:
    """Questions over several paragraphs, with sentences of these and of near ones."""
    data = json.loads(lzma.decompress(path.read_bytes()))
    paragraphs = data["p"]
    questions = chosen.sample(data["e"], min(MULTIHOP_QUESTIONS, len(data["e"])))
    vectors = Texts([one.replace("\n", ". ") for one in paragraphs], PASSAGE_TOKENS).all(encoder)
    asked = Texts([question for question, _ in questions], TOKENS).all(encoder)
    examples = []
    for at in range(0, len(questions), 1024):
        nearest = (asked[at : at + 1024] @ vectors.T).topk(PARAGRAPHS_NEAR).indices.tolist()
        for (question, gold), near in zip(questions[at : at + 1024], nearest, strict=True):
            sentences = [
                f"{title}. {sentence}"
                for number in dict.fromkeys([*gold, *near])
                for title, _, text in [paragraphs[number].partition("\n")]
                for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z0-9])", text)
            ]
            some = chosen.sample(sentences, min(SENTENCES_READ, len(sentences)))
            examples += [Example((question, text), SPEAKS, 0.0) for text in some]
    return examples


def near_examples(folder: Path, without: Sequence[str]) -> tuple[list[Example], list[Example]]:
    """Texts with questions that they answer and near ones that they do not; and those left out."""
    learnt, kept = list[Example](), list[Example]()
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").split("\n"):
            if line.strip():
                row = json.loads(line)
                text = f"{row['heading']}. {row['text']}" if row["heading"] else row["text"]
                own = kept if row["domain"] in without else learnt
                own += [Example((asked, text), SPEAKS, 1.0) for asked in row["yes"]]
                own += [Example((asked, text), SPEAKS, 0.0) for asked in row["no"]]
    return learnt, kept


def fact_examples(folder: Path) -> list[Example]:
    """Each question of a domain beside each of its told facts."""
    examples = []
    for file in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
        facts = [row for row in rows if "relation" in row]
        for row in rows:
            for fact in facts if "q" in row else ():
                told = [fact["source"], fact["relation"], fact["target"]]
                text = " ".join(told).replace("_", " ")
                examples.append(Example((row["q"], text), SPEAKS, float(told in row["gold"])))
    return examples


def fit(
    model: Reader, pairs: Pairs, epochs: int, rate: float, loss_of: Any, seed: int = SEED
) -> None:
    model.train()
    trained = [one for one in model.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.01, fused=True)
    steps = epochs * len(pairs.lengths) // model.batch
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=steps + 1, pct_start=0.1, anneal_strategy="linear"
    )
    started = time.monotonic()
    for some in islice(pairs.batches(random.Random(seed), model.batch), steps):
        loss_of(some).backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    loss_of(some).item()  # waits for the device
    print(f"{steps} steps in {time.monotonic() - started:.0f} s", flush=True)


def weights_of(heads: Tensor) -> Tensor:
    return torch.where(heads == REPLACES, PAIRS_WEIGHT, 1.0)


def teach(folder: Path, pairs: Pairs, examples: list[Example], epochs: int, seed: int) -> Reader:
    torch.manual_seed(seed)
    model = Teacher(folder)
    heads = torch.tensor([one.head for one in examples], device=DEVICE)
    labels = torch.tensor([one.label for one in examples], device=DEVICE)

    def loss(some: list[int]) -> Tensor:
        logits = pairs.logits(model, some).gather(1, heads[some][:, None])[:, 0]
        return F.binary_cross_entropy_with_logits(logits, labels[some], weights_of(heads[some]))

    fit(model, pairs, epochs, model.rate, loss, seed)
    return model


def make_student(
    weights: Any, pairs: Pairs, heads: Tensor, wanted: Tensor, layers: list[int], epochs: int
) -> Reader:
    """Train some layers of the encoder to give the wanted logits."""
    torch.manual_seed(SEED)
    student = Reader(weights, layers)

    def loss(some: list[int]) -> Tensor:
        logits = pairs.logits(student, some).gather(1, heads[some][:, None])[:, 0]
        aims = wanted[some].gather(1, heads[some][:, None])[:, 0]
        weights = weights_of(heads[some])
        clipped = [one.clamp(-FAR_LOGIT, FAR_LOGIT) for one in (logits, aims)]
        apart = F.smooth_l1_loss(*clipped, reduction="none")
        crossed = F.binary_cross_entropy_with_logits(logits, torch.sigmoid(aims), reduction="none")
        return (weights * (crossed + LOGITS_WEIGHT * apart)).mean()

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


UNIT_WEIGHTS = (0.25, 0.5, 1.0, 2.0)
"""Weights of ln(1 + rank of the passage) beside the logit, to compare."""


def in_words(text: str) -> str:
    return " ".join(("", *re.findall(r"\w+", text.lower()), ""))


def measure_units(
    name: str, model: Reader, collection: str, questions: list[UnitQuestion], to: Path
) -> None:
    """The first unit, the first passages, and doubt, over the units of 24 passages."""
    texts = [(one.text, unit) for one in questions for unit in one.units]
    logits = iter(Pairs(texts, to).all(model)[:, SPEAKS].tolist())
    known, unknown = list[float](), list[float]()
    hits: dict[float, list[list[float]]] = {weight: [] for weight in UNIT_WEIGHTS}
    for one in questions:
        own = {unit: next(logits) for unit in one.units}
        best = max(own.values(), default=-9.0)
        (unknown if one.kind == "unknown" else known).append(best)
        if one.kind == "unknown":
            continue
        answers = [in_words(answer) for answer in one.answers]
        for weight, rows in hits.items():
            worth = {
                (rank, unit): own[unit] - weight * math.log(1 + rank)
                for rank, passage in enumerate(one.passages)
                for unit in passage
            }
            order = sorted(worth, key=lambda place: -worth[place])
            first = in_words(order[0][1]) if order else ""
            ranks = list(dict.fromkeys(rank for rank, _ in order))
            held = [rank for rank, own_units in enumerate(one.passages) if one.gold & {*own_units}]
            rows.append(
                [
                    float(any(answer in first for answer in answers)),
                    *(float(any(rank in held for rank in ranks[:k])) for k in (1, 5, 10)),
                ]
            )
    noticed = float(np.mean(np.array(unknown) < np.quantile(known, 0.08))) if unknown else 0.0
    shares = ", ".join(
        f"{weight}: " + "/".join(f"{100 * share:.1f}" for share in np.mean(rows, 0))
        for weight, rows in hits.items()
    )
    print(
        f"{name:10} {collection:16} first, passages 1/5/10 by logit - weight x ln rank: {shares}"
        f" | unknown AUC {auc(known, unknown):.3f} noticed {100 * noticed:.1f} at 8 % doubted",
        flush=True,
    )


def measure_pairs(name: str, kind: str, model: Reader, examples: list[Example], to: Path) -> None:
    """How well texts that answer are told from others, over all pairs and within questions."""
    logits = Pairs([one.texts for one in examples], to).all(model)[:, SPEAKS].tolist()
    sides = {1.0: list[float](), 0.0: list[float]()}
    for one, logit in zip(examples, logits, strict=True):
        sides[one.label].append(logit)
    right, wrong = sides[1.0], sides[0.0]
    noticed = float(np.mean(np.array(wrong) < np.quantile(right, 0.08)))
    print(
        f"{name:10} {kind:16} AUC {auc(right, wrong):.3f}, of those that do not answer"
        f" {100 * noticed:.1f} % are below 92 % of the others",
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
    graph.nodes.append(helper.make_node("Gemm", [both, matrix, bias], ["logits"], "head", transB=1))
    return graph.model(
        ("input_ids", "token_type_ids", "attention_mask"), "logits", model.head.out_features
    )


def write_reader(model: Reader, folder: Path, file: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        floats, small = Path(temporary) / "floats.onnx", Path(temporary) / "int8.onnx"
        onnx.save(build_reader(model), floats)
        quantise(floats, small)
        graph = onnx.load(small)
    share_with_encoder(graph, folder)
    file.write_bytes(graph.SerializeToString())


def measure_int8(model: Reader, folder: Path, file: Path, texts: list[tuple[str, ...]]) -> None:
    """How far the int8 graph's logits are from those of the trained network."""
    session = onnxruntime.InferenceSession(file)
    pairs = Pairs(texts, folder)
    small = np.stack([session.run(None, feed)[0][0] for feed in pairs.feeds()])
    apart = np.abs(small - pairs.all(model).cpu().numpy())
    print(f"int8: logits differ by {apart.mean(0)} on average", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--encoder", type=Path, default=MODEL, help="folder of the encoder")
    parser.add_argument("--teacher", type=Path, required=True, help="folder of the larger encoder")
    parser.add_argument("--notes", type=Path, nargs="+", required=True)
    parser.add_argument("--squad", type=Path)
    parser.add_argument("--units", type=Path, nargs="*", default=[])
    parser.add_argument("--near", type=Path)
    parser.add_argument("--multihop", type=Path, help="questions over several paragraphs")
    parser.add_argument(
        "--start", type=Path, help="reader.onnx that a student of six layers starts from"
    )
    parser.add_argument("--facts", type=Path, help="told facts to measure with")
    parser.add_argument("--without", nargs="*", default=[], help="domains and collections left out")
    parser.add_argument("--epochs", type=int, default=2, help="of a teacher")
    parser.add_argument("--student-epochs", type=int, default=6)
    parser.add_argument("--teachers", type=int, default=2, help="whose mean a student learns")
    parser.add_argument("--part", type=float, default=1.0, help="share of the examples, for a try")
    parser.add_argument(
        "--student",
        type=int,
        nargs="*",
        action="append",
        default=[],
        help="layers of a student; the last one named is written as reader.onnx",
    )
    parser.add_argument("--write", type=Path, help="folder for the graphs of the students")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    chosen = random.Random(SEED)
    situations = list(read_situations(given.notes))
    learnt = [one for one in situations if one.domain not in given.without]
    weights = read_encoder(given.encoder)
    encoder = make_model(weights, list(range(LAYERS)))
    collections: dict[str, list[UnitQuestion]] = {}
    for path in given.units:
        collections |= read_units(path, encoder)
    read = [one for name, own in collections.items() if name not in given.without for one in own]
    near, near_kept = near_examples(given.near, given.without) if given.near else ([], [])
    examples = note_examples(learnt, encoder) + unit_examples(read, chosen) + near * NEAR_TIMES
    if given.squad:
        examples += squad_examples(given.squad)
    examples = chosen.sample(examples, int(given.part * len(examples)))
    print(len(examples), "examples", flush=True)
    pairs = Pairs([one.texts for one in examples], given.teacher)
    teachers = [
        teach(given.teacher, pairs, examples, given.epochs, SEED + at)
        for at in range(given.teachers)
    ]
    models: dict[str, tuple[Reader, Path]] = {"teacher": (teachers[0], given.teacher)}
    more = unlabelled(learnt, encoder)
    known = {name: own for name, own in collections.items() if name not in given.without}
    more += unlabelled_units(known, chosen)
    if given.multihop:
        more += multihop_unlabelled(given.multihop, encoder, chosen)
    examples += chosen.sample(more, int(given.part * len(more)))
    texts = [one.texts for one in examples]
    heads = torch.tensor([one.head for one in examples], device=DEVICE)
    pairs = Pairs(texts, given.teacher)
    wanted = torch.stack([pairs.all(one) for one in teachers]).mean(0)
    pairs = Pairs(texts, given.encoder)
    print(len(examples), "examples for a student", flush=True)
    if given.write:  # the graphs read the word vectors from the encoder's file beside them
        given.write.mkdir(parents=True, exist_ok=True)
        if given.write != given.encoder:
            shutil.copy(given.encoder / "model.onnx", given.write)
    for layers in given.student:
        whole = given.start and len(layers) == LAYERS
        start = read_reader(given.encoder, given.start) if whole else weights
        student = make_student(start, pairs, heads, wanted, layers, given.student_epochs)
        models[f"student {len(layers)}"] = student, given.encoder
        if given.write:
            last = layers is given.student[-1]
            file = "reader.onnx" if last else f"reader-{len(layers)}.onnx"
            write_reader(student, given.encoder, given.write / file)
            measure_int8(student, given.encoder, given.write / file, texts[:200])
    for name, (model, folder) in models.items():
        for domain in given.without:
            if own := [one for one in situations if one.domain == domain]:
                measure(name, model, own, encoder, folder)
            if domain in collections:
                measure_units(name, model, domain, collections[domain], folder)
        if near_kept:
            measure_pairs(name, "near", model, near_kept, folder)
        if given.facts:
            measure_pairs(name, "facts", model, fact_examples(given.facts), folder)


if __name__ == "__main__":
    main()
