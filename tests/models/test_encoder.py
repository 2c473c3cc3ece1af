"""The encoder: what a vector promises, whichever model makes it."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from chat_making import SLOW, endless, scripted
from hang_guard import within_a_minute

import hades
from hades.models import onnx_graph, openai_encoder
from hades.models.encoder import MINILM_FOLDER, MiniLM, count_tokens, hop_encoder, load_encoder
from hades.models.openai_encoder import KEY_VARIABLE, OpenAIEncoder

pytestmark = pytest.mark.encoder

GOLDEN = json.loads((MINILM_FOLDER / "golden.json").read_text())
VARIED = [entry["text"] for entry in GOLDEN] + ["", "🙂", "x" * 5000, "word " * 2000, "\ud800 half"]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


@pytest.mark.parametrize("entry", GOLDEN, ids=lambda entry: ascii(entry["text"][:20]))
def test_vectors_are_those_of_the_weights_without_int8(
    minilm: MiniLM, entry: dict[str, Any]
) -> None:
    (vector,) = minilm.encode([entry["text"]])
    assert vector @ np.array(entry["vector"]) >= 0.98


@pytest.mark.parametrize(
    ("text", "paraphrase", "unrelated"),
    [
        ("How do I reset my password?", "I forgot my login secret", "The soup needs more salt"),
        ("The database lost its connection", "We cannot reach PostgreSQL", "Cats sleep a lot"),
        (
            "Marie Curie won two Nobel prizes",
            "A physicist honoured twice",
            "Bus tickets got dearer",
        ),
    ],
)
def test_paraphrases_are_nearer_than_strangers(
    minilm: MiniLM, text: str, paraphrase: str, unrelated: str
) -> None:
    base, near, far = minilm.encode([text, paraphrase, unrelated])
    assert base @ near > base @ far + 0.1


def test_vectors_are_unit_float32_whatever_the_text(minilm: MiniLM) -> None:
    vectors = minilm.encode(VARIED)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(VARIED), minilm.dims) == (len(VARIED), 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.encode([]).shape == (0, 384)


def test_a_text_has_one_vector_in_any_company(minilm: MiniLM) -> None:
    together = minilm.encode(VARIED)
    alone = np.concatenate([minilm.encode([text]) for text in VARIED])
    reversed_order = minilm.encode(VARIED[::-1])[::-1]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    np.testing.assert_array_equal(together, reversed_order)


def test_threads_share_an_encoder(minilm: MiniLM) -> None:
    expected = minilm.encode(VARIED)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(minilm.encode, [VARIED] * 4):
            np.testing.assert_array_equal(vectors, expected)


def test_nul_is_ignored(minilm: MiniLM) -> None:
    np.testing.assert_array_equal(minilm.encode(["a\x00b"]), minilm.encode(["ab"]))


def test_text_beyond_the_limit_is_cut_off(minilm: MiniLM) -> None:
    room = minilm.max_tokens - 2
    full, longer, shorter = minilm.encode(["the " * room, "the " * 400, "the " * (room - 1)])
    np.testing.assert_array_equal(full, longer)
    assert not np.array_equal(full, shorter)


def test_tokens_are_counted_whole() -> None:
    assert count_tokens([]) == []
    assert count_tokens(["", "hello world", "the " * 1000]) == [0, 2, 1000]


def test_a_missing_model_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(hades.NotFound, match=r"model\.onnx is missing"):
        MiniLM(tmp_path)


def test_the_default_is_built_in() -> None:
    encoder = load_encoder()
    assert (encoder.model, encoder.dims, encoder.max_tokens) == (
        "minilm-notes-int8-2",
        384,
        256,
    )


@pytest.mark.parametrize(
    "setting", ["", "word2vec", "folder:", "openai:http://host/v1", "openai:x#y"]
)
def test_an_unknown_setting_is_refused(setting: str) -> None:
    with pytest.raises(hades.InvalidInput, match="Unknown encoder"):
        load_encoder(setting)


# A folder


def test_a_folder_is_an_encoder(minilm: MiniLM) -> None:
    encoder = load_encoder(f"folder:{MINILM_FOLDER}")
    np.testing.assert_array_equal(encoder.encode(VARIED[:6]), minilm.encode(VARIED[:6]))
    assert encoder.dims == 384
    assert encoder.model.startswith("minilm-")


def test_a_folder_is_named_by_its_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "mine", tmp_path / "b" / "mine"
    for folder in (first, second):
        (folder / "onnx").mkdir(parents=True)
        shutil.copy(MINILM_FOLDER / "model.onnx", folder / "onnx" / "model.onnx")
        shutil.copy(MINILM_FOLDER / "tokenizer.json", folder)
    assert load_encoder(f"folder:{first}").model == load_encoder(f"folder:{second}").model
    (second / "sentence_bert_config.json").write_text('{"max_seq_length": 64}')
    assert load_encoder(f"folder:{second}").max_tokens == 64
    assert load_encoder(f"folder:{first}").model != load_encoder(f"folder:{second}").model


def test_a_pooling_that_is_not_known_is_refused(tmp_path: Path) -> None:
    shutil.copytree(MINILM_FOLDER, tmp_path / "mine")
    (tmp_path / "mine" / "1_Pooling").mkdir()
    config = tmp_path / "mine" / "1_Pooling" / "config.json"
    config.write_text('{"word_embedding_dimension": 384, "pooling_mode_max_tokens": true}')
    with pytest.raises(hades.InvalidInput, match="use mean or cls"):
        load_encoder(f"folder:{tmp_path / 'mine'}")


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_tokens_are_pooled_where_the_graph_does_not(tmp_path: Path, pooling: str) -> None:
    table = np.random.default_rng(0).normal(size=(30522, 4)).astype(np.float32)
    write_token_graph(tmp_path / "model.onnx", table)
    shutil.copy(MINILM_FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    other = {"mean": "pooling_mode_cls_token", "cls": "pooling_mode_mean_tokens"}[pooling]
    chosen = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}[pooling]
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({chosen: True, other: False}))

    (vector,) = load_encoder(f"folder:{tmp_path}").encode(["hello world"])

    tokens = table[[101, 7592, 2088, 102]]
    expected = tokens[0] if pooling == "cls" else tokens.mean(axis=0)
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), rtol=1e-5)


def write_token_graph(path: Path, table: np.ndarray[Any, Any]) -> None:
    """A graph shaped as model hubs export them: a vector per token, and BERT's pooler."""
    onnx = pytest.importorskip("onnx")
    make, ints, floats = onnx.helper, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = make.make_graph(
        [
            make.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"]),
            make.make_node(
                "ReduceMax", ["last_hidden_state"], ["pooler_output"], axes=[1], keepdims=0
            ),
        ],
        "tokens",
        [make.make_tensor_value_info(name, ints, ["batch", "tokens"]) for name in names],
        [
            make.make_tensor_value_info("pooler_output", floats, ["batch", 4]),
            make.make_tensor_value_info("last_hidden_state", floats, ["batch", "tokens", 4]),
        ],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    opsets = [make.make_opsetid("", 17)]
    onnx.save(make.make_model(graph, opset_imports=opsets, ir_version=8), path)


# An endpoint


class Endpoint(ThreadingHTTPServer):
    """An embeddings server whose vectors are [length of text, 1], in reversed order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EndpointHandler)
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class EndpointHandler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append(body)
        self.server.keys.append(self.headers.get("authorization"))
        if self.server.failures:
            status, headers = self.server.failures.pop(0)
            self.answer(status, {"error": {"message": "not now"}}, headers)
            return
        vectors = [
            {"index": place, "embedding": [len(text), 1]}
            for place, text in enumerate(body["input"])
        ]
        self.answer(200 if self.path == "/v1/embeddings" else 404, {"data": vectors[::-1]}, {})

    def answer(self, status: int, content: dict[str, Any], headers: dict[str, str]) -> None:
        payload = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(payload))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def noted_waits() -> tuple[list[float], Callable[[float], Awaitable[None]]]:
    """A list of pauses, and a sleep that writes them there and does not wait."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    return waits, sleep


def test_an_endpoint_is_an_encoder(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "secret")
    encoder = load_encoder(f"openai:{endpoint.url}#mini")
    texts = ["x" * (n + 1) for n in range(100)]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(vectors[:, 0] / vectors[:, 1], np.arange(1, 101), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    assert [len(request["input"]) for request in endpoint.requests] == [64, 36]
    assert endpoint.requests[0]["model"] == "mini"
    assert set(endpoint.keys) == {"Bearer secret"}
    assert encoder.dims == 2
    assert encoder.encode([]).shape == (0, 2)
    assert "secret" not in encoder.model


def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    waits, sleep = noted_waits()
    endpoint.failures = [(429, {"retry-after": "7"}), (503, {})]
    encoder = OpenAIEncoder(endpoint.url, "mini", sleep=sleep)
    assert encoder.encode(["hello"]).shape == (1, 2)
    assert waits == [7.0, 1.0]


def test_a_refusal_is_final_and_says_why(endpoint: Endpoint) -> None:
    endpoint.failures = [(400, {})]
    with pytest.raises(
        hades.InvalidInput, match=r"refused the texts for model mini: 400 .*not now"
    ):
        OpenAIEncoder(endpoint.url, "mini").encode(["hello"])
    assert len(endpoint.requests) == 1


def test_a_wrong_key_is_said_so(endpoint: Endpoint) -> None:
    endpoint.failures = [(401, {})]
    with pytest.raises(hades.Denied, match=KEY_VARIABLE):
        OpenAIEncoder(endpoint.url, "mini").encode(["hello"])


def test_an_endpoint_that_stays_away_is_given_up() -> None:
    waits, sleep = noted_waits()
    encoder = OpenAIEncoder("http://127.0.0.1:9/v1", "mini", sleep=sleep)
    with pytest.raises(hades.Unavailable, match="did not answer in 5 attempts"):
        encoder.encode(["hello"])
    assert waits == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("slow", SLOW, ids=SLOW)
def test_an_endpoint_that_is_slow_is_given_up(monkeypatch: pytest.MonkeyPatch, slow: str) -> None:
    """One deadline holds for the head, the body and all attempts."""
    monkeypatch.setattr(openai_encoder, "DEADLINE_SECONDS", 0.3)
    stop = threading.Event()
    with scripted(SLOW[slow](stop)) as server:
        encoder = OpenAIEncoder(server.url, "mini")
        said = within_a_minute(lambda: encoder.encode(["hello"]))
        stop.set()
    assert isinstance(said, hades.Unavailable)
    assert "did not answer within 0.3 seconds" in str(said)


def test_an_endpoint_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_encoder, "REPLY_BYTES_AT_MOST", 1_000_000)
    with scripted(endless) as server:
        said = within_a_minute(lambda: OpenAIEncoder(server.url, "mini").encode(["hello"]))
    assert isinstance(said, hades.InvalidInput)
    assert "more than 1000000 bytes" in str(said)


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, hades.models.encoder as e; e.load_encoder();"
        "assert not {'onnxruntime', 'tokenizers', 'httpx'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("info", "exact"),
    [
        ("model name\t: Xeon\nflags\t\t: fpu avx2 avx512bw avx512_vnni\n", True),
        ("flags\t\t: fpu avx2 avx_vnni sse\n", True),
        ("model name\t: avx_vnni\nflags\t\t: fpu avx2 avx512bw\n", False),
        ("Features\t: fp asimd asimddp i8mm\n", False),
        (None, False),
    ],
    ids=["avx512", "avx2", "without", "arm", "not-linux"],
)
def test_vnni_is_read_from_the_processor_flags(
    info: str | None, exact: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "cpuinfo"
    if info is not None:
        file.write_text(info)
    monkeypatch.setattr(onnx_graph, "_CPU_INFO", file)
    onnx_graph._has_exact_int8.cache_clear()
    try:
        assert onnx_graph._has_exact_int8() is exact
    finally:
        onnx_graph._has_exact_int8.cache_clear()


QUESTION = "In which town was the director of Harbour Nights born?"

FILM = "Harbour Nights: A 1974 drama film written and directed by Ilona Kesk."

NEXT = "Ilona Kesk\nIlona Kesk (born 1931 in Tartu) was an Estonian film maker and painter."

NEARER_IN_WORDS = "Harbour Nights (album)\nThe album was recorded in the director's home town."


def test_the_next_passage_is_nearer_than_what_only_sounds_alike() -> None:
    plain = load_encoder()
    hop = hop_encoder(plain)
    assert hop is not None
    pages = plain.encode([NEXT, NEARER_IN_WORDS])
    following, alike = pages @ hop.encode([f"{QUESTION} {FILM}"])[0]
    assert following > alike
    following, alike = pages @ plain.encode([f"{QUESTION} {FILM}"])[0]
    assert following < alike


def test_moving_to_another_encoder(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "cats purr")
        memory.remember("b", "stocks fell")
        before = memory.search("kitten", 1, retriever="meaning")
        made = memory.reembed(f"folder:{MINILM_FOLDER}")
        assert made == 2
        assert memory.reembed(f"folder:{MINILM_FOLDER}") == 0
        assert memory.search("kitten", 1, retriever="meaning")[0].chunk == before[0].chunk
    with hades.open(path) as memory:
        assert memory.search("kitten", 1, retriever="meaning")[0].chunk.topic == "a"
        assert memory.inside.finder.encoder.model.startswith("minilm-")
        with pytest.raises(hades.InvalidInput):
            memory.reembed("nonsense")
