import numpy as np
import pytest

from hades.index import scan
from hades.index.vectors import Vectors, quantise


@pytest.fixture(scope="module")
def many() -> Vectors:
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(12_000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = Vectors(64)
    made.put(np.arange(12_000), vectors.astype(np.float16))
    return made


def test_the_scan_is_exact_with_and_without_the_kernel(many: Vectors) -> None:
    scan.warm()
    generator = np.random.default_rng(2)
    numbers = np.arange(12_000)
    mask = generator.random(12_000) < 0.5
    for _ in range(6):
        question = generator.normal(size=64).astype(np.float32)
        question /= np.linalg.norm(question)
        exact = many.full(numbers) @ question
        exact[~mask] = -np.inf
        best = np.lexsort((numbers, -exact))[:10]
        found, near = many.nearest(question, numbers, mask, 10)
        assert found.tolist() == best.tolist()
        assert np.allclose(near, exact[best])
        if many._kernel is not None:
            many._kernel.join()
    assert many._kernel_is_ready()


def test_replacing_and_dropping() -> None:
    vectors = Vectors(2)
    vectors.put(np.array([5, 7]), np.array([[1, 0], [0, 1]], np.float16))
    vectors.put(np.array([5]), np.array([[0, -1]], np.float16))
    question, mask = np.array([0, 1], np.float32), np.ones(2, np.bool_)
    order = np.searchsorted([5, 7], vectors.chunks)
    assert vectors.nearest(question, order, mask, 5)[0].tolist() == [1, 0]
    vectors.drop(np.array([7]))
    assert vectors.chunks.tolist() == [5]
    assert vectors.nearest(question, np.array([0]), mask, 0)[0].tolist() == []


def test_quantising_keeps_the_direction() -> None:
    vectors = np.random.default_rng(3).normal(size=(50, 384)).astype(np.float32)
    codes, scales = quantise(vectors)
    back = codes * scales[:, None]
    cosine = (
        (back * vectors).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(vectors, axis=1)
    )
    assert cosine.min() > 0.999
