"""The nearest vectors, by an exact scan."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from hades.index.array_store import ArrayStore
from hades.index.vectors import KERNEL_FROM_LOOKS, Vectors, kernel, quantise


@pytest.fixture(scope="module")
def many() -> Vectors:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(12_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = Vectors(64)
    made.put([(np.arange(12_000), vectors.astype(np.float16))])
    return made


def test_the_scan_is_exact_with_and_without_the_kernel(many: Vectors) -> None:
    generator = np.random.default_rng(2)
    numbers = np.arange(12_000)
    every, mask = np.ones(12_000, np.bool_), generator.random(12_000) < 0.5
    for number in range(KERNEL_FROM_LOOKS + 3):
        question = generator.normal(size=64).astype(np.float32)
        question /= np.linalg.norm(question)
        exact = many.full(numbers) @ question
        exact[~mask] = -np.inf
        best = np.lexsort((numbers, -exact))[:10]
        found, near = many.nearest(question, numbers, mask, every, 10)
        assert found.tolist() == best.tolist()
        assert np.allclose(near, exact[best])
        if number == KERNEL_FROM_LOOKS:
            kernel.wait()
    assert kernel.is_ready() is (find_spec("numba") is not None)


def test_replacing_and_dropping() -> None:
    vectors = Vectors(2)
    vectors.put([(np.array([5, 7]), np.array([[1, 0], [0, 1]], np.float16))])
    vectors.put([(np.array([5]), np.array([[0, -1]], np.float16))])
    question, mask = np.array([0, 1], np.float32), np.ones(2, np.bool_)
    order = np.searchsorted([5, 7], vectors.chunks)
    assert vectors.nearest(question, order, mask, mask, 5)[0].tolist() == [1, 0]
    vectors.drop(np.array([7]))
    assert vectors.chunks.tolist() == [5]
    assert vectors.nearest(question, np.array([0]), mask, mask, 0)[0].tolist() == []


def test_quantising_keeps_the_direction() -> None:
    vectors = np.random.default_rng(3).normal(size=(50, 384)).astype(np.float32)
    codes, scales = quantise(vectors)
    back = codes * scales[:, None]
    cosine = (
        (back * vectors).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(vectors, axis=1)
    )
    assert cosine.min() > 0.999


def _spread(count: int, dims: int, seed: int) -> np.ndarray:
    """Vectors in clusters, as texts and questions about the same things are."""
    centres = np.random.default_rng(0).normal(size=(200, dims))
    generator = np.random.default_rng(seed)
    vectors = centres[generator.integers(200, size=count)]
    vectors = vectors + generator.normal(size=(count, dims)) * 0.6
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_saved_vectors_are_mapped_and_answer_the_same(
    tmp_path: Path,
) -> None:
    spread = _spread(500, 100, seed=7).astype(np.float16)
    made, read = Vectors(100), Vectors(100)
    made.put([(np.arange(500), spread)])
    store = ArrayStore(tmp_path, "arrays")
    read.take("vectors", store.save({}, 1, made.arrays("vectors")))
    numbers, mask = np.arange(500), np.ones(500, np.bool_)
    for question in _spread(3, 100, seed=8):
        for _ in range(2):
            ours, theirs = (v.nearest(question, numbers, mask, mask, 5) for v in (made, read))
            assert ours[0].tolist() == theirs[0].tolist()
    saved = store.load({}, 1)
    assert saved is not None
    with pytest.raises(ValueError, match="not complete"):
        read.take("vectors", {**saved[1], "vectors.codes": saved[1]["vectors.codes"][:-1]})


def test_what_came_since_is_found_beside_what_was_saved(
    tmp_path: Path,
) -> None:
    spread = _spread(500, 100, seed=9).astype(np.float16)
    vectors = Vectors(100)
    vectors.put([(np.arange(400), spread[:400])])
    store = ArrayStore(tmp_path, "arrays")
    vectors.take("vectors", store.save({}, 1, vectors.arrays("vectors")))
    vectors.put([(np.arange(400, 500), spread[400:])])
    numbers, mask = np.arange(500), np.ones(500, np.bool_)
    for row in (3, 399, 400, 499):
        found, near = vectors.nearest(spread[row].astype(np.float32), numbers, mask, mask, 3)
        assert (found[0], round(float(near[0]), 2)) == (row, 1.0)
    assert np.allclose(vectors.full(np.array([450, 7])), spread[[450, 7]], atol=0.003)
    vectors.drop(np.array([3, 499]))
    vectors.take("vectors", store.save({}, 2, vectors.arrays("vectors")))
    kept = np.delete(np.arange(500), [3, 499])
    assert vectors.chunks.tolist() == kept.tolist()
    assert np.allclose(vectors.full(np.arange(498)), spread[kept], atol=0.003)
