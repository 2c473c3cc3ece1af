"""How fast the built-in encoder is: the shipped int8 graph against fp32, in the same run.

python tools/build_encoder.py --reference build/minilm-fp32.onnx
python bench/encoder.py [build/minilm-fp32.onnx]
"""

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from hades.models.encoder import MINILM_FOLDER, MiniLM, count_tokens

REFERENCE = Path("build/minilm-fp32.onnx")
ROUNDS = 3
QUESTIONS = 60

WORDS = ["memory", "graph", "agent", "river", "engine", "signal", "letter", "winter", "market"]


def make_texts(count: int, words: int) -> list[str]:
    """Different texts of `words` tokens each: every word here is one token."""
    return [
        " ".join(WORDS[(i + j * (i % 8 + 1) + j // 9) % len(WORDS)] for j in range(words))
        for i in range(count)
    ]


def seconds(encoder: MiniLM, texts: list[str]) -> float:
    start = time.perf_counter()
    encoder.encode(texts)
    return time.perf_counter() - start


def show(name: str, tokens: float, int8: float, fp32: float, ratio: float) -> None:
    print(f"{name:20}{tokens:8.0f}{int8:10.1f}{fp32:10.1f}{ratio:8.1f}x")


def compare(int8: MiniLM, fp32: MiniLM) -> None:
    print(f"{'':20}{'tokens':>8}{'int8':>10}{'fp32':>10}{'ratio':>9}")
    short, passages = make_texts(200, 13), make_texts(60, 118)
    for name, texts in (("short, texts/s", short), ("passage, texts/s", passages)):
        rounds = [(seconds(int8, texts), seconds(fp32, texts)) for _ in range(ROUNDS)]
        fast, slow = (len(texts) / min(column) for column in zip(*rounds, strict=True))
        show(name, statistics.mean(count_tokens(texts)) + 2, fast, slow, fast / slow)
    fast, slow = (
        statistics.median(seconds(encoder, [text]) * 1e3 for text in short[:QUESTIONS])
        for encoder in (int8, fp32)
    )
    show("one question, ms", count_tokens(short)[0] + 2, fast, slow, slow / fast)


def main() -> None:
    reference = Path(sys.argv[1]) if len(sys.argv) > 1 else REFERENCE
    if not reference.is_file():
        sys.exit(
            f"{reference} is missing: tools/build_encoder.py --reference {reference} makes it."
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "model.onnx").symlink_to(reference.resolve())
        shutil.copy(MINILM_FOLDER / "tokenizer.json", folder)
        int8, fp32 = MiniLM(), MiniLM(Path(folder))
        print(f"from nothing to the first vector: {seconds(int8, ['first']) * 1e3:.0f} ms\n")
        seconds(fp32, ["first"])
        compare(int8, fp32)


if __name__ == "__main__":
    main()
