"""Exports to servers: the requests they get, and what is stored in a real engine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.exchange.servers import read_server, send_points
from hades.exchange.snapshot import GraphSnapshot
from tests.shell import Shell

pytestmark = pytest.mark.embedded("an export is sent from beside the file")
PASSWORD = "only-in-the-environment"


@pytest.fixture
def notes(memory: hades.Memory) -> hades.Memory:
    """Two notes with common names and a told fact, indexed."""
    memory.remember("people/ann", "Ann Lee met Bob Moor in Oslo. Ann Lee works at Acme Labs.")
    memory.remember("people/bob", "Bob Moor moved to Bergen, and Ann Lee will visit.")
    memory.relate("Ann Lee", "knows", "Bob Moor")
    memory.index()
    return memory


class Stub(ThreadingHTTPServer):
    """A server on this machine that records requests and keeps documents by key."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.requests: list[tuple[str, str]] = []
        self.secrets: set[str | None] = set()
        self.stored: dict[str, dict[str, Any]] = {}
        self.made: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    """Reads a request and answers with JSON."""

    server: Stub
    secret_header = "Authorization"

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        raise NotImplementedError

    def handle_any(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        lines = [json.loads(line) for line in raw.splitlines() if line]
        path = self.path.partition("?")[0]
        self.server.requests.append((self.command, self.path))
        self.server.secrets.add(self.headers.get(self.secret_header))
        status, answer = self.answer(path, lines)
        data = json.dumps({"code": status, "error": status >= 400, **answer}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = handle_any

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class Arango(Handler):
    """The part of ArangoDB's HTTP interface that an export uses."""

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        _, _, database, api = path.split("/", 3)
        made = self.server.made
        if api == "_api/database" and self.command == "POST":
            made.add(body[0]["name"])
        elif api in ("_api/database", "_api/database/user"):
            return 200, {"result": ["_system", *made]}
        elif database not in made:
            return 404, {"error": True, "errorNum": 1228, "errorMessage": "database not found"}
        elif api == "_api/collection" and self.command == "GET":
            names = [
                {"name": name, "isSystem": False, "type": 2, "status": 3, "id": name}
                for name in self.server.stored
            ]
            return 200, {"result": names}
        elif api == "_api/collection":
            self.server.stored[body[0]["name"]] = {}
            return 200, {**body[0], "id": "1", "isSystem": False, "status": 3}
        elif api == "_api/import":
            query = self.path.partition("?")[2]
            assert "onDuplicate=replace" in query
            (name,) = [part[11:] for part in query.split("&") if part.startswith("collection=")]
            documents = body[0] if isinstance(body[0], list) else body
            self.server.stored[name].update({row["_key"]: row for row in documents})
            return 201, {"error": False, "created": len(documents)}
        elif api == "_api/gharial" and self.command == "GET":
            return 200, {"graphs": []}
        elif api == "_api/gharial":
            edges = body[0]["edgeDefinitions"]
            graph = {"name": body[0]["name"], "_id": "g", "_rev": "1", "edgeDefinitions": edges}
            return 202, {"graph": {**graph, "orphanCollections": []}}
        elif api == "_api/index" and body[0]["type"] == "vector":
            return 400, {"error": True, "errorNum": 10, "errorMessage": "vector index not enabled"}
        elif api == "_api/view" and self.command == "GET":
            return 200, {"result": []}
        return 201, {"id": "1", "name": "made", "type": "persistent", "fields": [], "result": True}


class Qdrant(Handler):
    """The part of Qdrant's HTTP interface that an export uses."""

    secret_header = "api-key"

    def answer(self, path: str, body: Any) -> tuple[int, Any]:
        stored = self.server.stored
        result: Any = True
        if path.endswith("/exists"):
            result = {"exists": path.split("/")[2] in stored}
        elif path.endswith("/points"):
            assert "wait=true" in self.path
            stored[path.split("/")[2]].update({point["id"]: point for point in body[0]["points"]})
            result = {"operation_id": 1, "status": "completed"}
        else:
            assert body[0]["vectors"] == {"size": 384, "distance": "Cosine"}
            stored[path.split("/")[2]] = {}
        return 200, {"result": result, "status": "ok", "time": 0.0}


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Stub]:
    """A running stub of the class that the test names."""
    with Stub(request.param) as stub:
        thread = threading.Thread(target=stub.serve_forever)
        thread.start()
        yield stub
        stub.shutdown()
        thread.join()


@pytest.mark.parametrize("served", [Arango], indirect=True)
def test_arango_gets_the_documents_of_the_files_and_keeps_them_once(
    notes: hades.Memory, served: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("arango", reason="python-arango sends the requests")
    monkeypatch.setenv("ARANGO_PASSWORD", PASSWORD)
    url = f"arango+http://127.0.0.1:{served.server_port}/graph"
    first = notes.export_to(url)
    notes.export(tmp_path / "files", "arango")
    in_files = {
        path.stem: {row["_key"]: row for row in map(json.loads, path.read_text().splitlines())}
        for path in (tmp_path / "files").glob("*.jsonl")
    }
    assert served.stored == in_files
    assert sum(first.counts.values()) == sum(map(len, in_files.values()))
    assert served.secrets == {f"Basic {b64encode(f'root:{PASSWORD}'.encode()).decode()}"}
    assert notes.export_to(url).counts == first.counts
    assert served.stored == in_files
    with_vectors = notes.export_to(url, embeddings=True)
    assert with_vectors.left_out == ("vectors of entities", "vectors of chunks")


@pytest.mark.parametrize("served", [Qdrant], indirect=True)
def test_qdrant_gets_every_vector_once(
    notes: hades.Memory, served: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_client", reason="qdrant-client sends the requests")
    monkeypatch.setenv("QDRANT_API_KEY", PASSWORD)
    url = f"qdrant+http://127.0.0.1:{served.server_port}/notes"
    with pytest.warns(UserWarning, match="insecure connection"):
        sent = notes.export_to(url)
    with pytest.warns(UserWarning, match="insecure connection"):
        assert notes.export_to(url) == sent
    points = served.stored["notes"].values()
    assert sent.counts == {"points": len(points)}
    ids = {point["payload"]["id"] for point in points}
    assert {"chunk:people/ann@1#0", "chunk:people/bob@1#0"} <= ids
    assert all(len(point["vector"]) == 384 for point in points)
    assert served.secrets == {PASSWORD}


def test_points_are_found_in_a_local_qdrant(notes: hades.Memory) -> None:
    qdrant = pytest.importorskip("qdrant_client", reason="its local mode is the engine")
    graph = GraphSnapshot(
        notes.inside.store,
        notes.inside.space_id,
        notes.as_of,
        notes.inside.finder.encoder.model,
        embeddings=True,
    )
    with closing(qdrant.QdrantClient(":memory:")) as client:
        for _ in range(2):
            server = read_server("qdrant+http://localhost/people")
            sent = send_points(graph, client, server, lambda *_: None)
        assert client.count("people").count == sent.counts["points"]
        points, _ = client.scroll("people", with_vectors=True)
        of = {point.payload["id"]: point for point in points}
        passage = of["chunk:people/bob@1#0"]
        nearest = client.query_points("people", passage.vector, limit=len(points)).points
    chunks = [point.payload["text"] for point in nearest if point.payload["kind"] == "chunk"]
    assert chunks[0].startswith("Bob Moor moved")


BOLT_SERVER = """
import sys
from arcadedb_embedded import create_server
folder, password, port, http_port = sys.argv[1:]
server = create_server(folder, root_password=password, config={
    "http_port": int(http_port), "bolt_port": int(port),
    "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin"})
server.start()
server.create_database("notes")
print("ready", flush=True)
sys.stdin.read()
server.stop()
"""


@pytest.fixture
def bolt_port(tmp_path: Path) -> Iterator[int]:
    """The port of an ArcadeDB server, which speaks Bolt and openCypher."""
    if not find_spec("arcadedb_embedded"):
        pytest.skip("a server that speaks Bolt: pip install arcadedb-embedded")
    ports = [_free_port(), _free_port()]
    command = [sys.executable, "-c", BOLT_SERVER, str(tmp_path / "arcade"), PASSWORD]
    server = subprocess.Popen(
        [*command, *map(str, ports)],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    while (line := server.stdout.readline()) and line != "ready\n":
        pass
    reading = threading.Thread(target=server.stdout.read)
    reading.start()
    yield ports[0]
    server.stdin.close()
    server.wait(60)
    reading.join()
    server.stdout.close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.slow
def test_a_graph_sent_by_bolt_is_there_once(
    notes: hades.Memory, bolt_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    neo4j = pytest.importorskip("neo4j", reason="the driver of Neo4j speaks Bolt")
    monkeypatch.setenv("NEO4J_USERNAME", "root")
    monkeypatch.setenv("NEO4J_PASSWORD", PASSWORD)
    # ArcadeDB cannot add a label to a node that has a unique property; Neo4j can.
    monkeypatch.setattr("hades.exchange.neo4j._INDEXES", ())
    sent = [notes.export_to(f"bolt://localhost:{bolt_port}/notes") for _ in range(2)]
    assert sent[0] == sent[1]
    with neo4j.GraphDatabase.driver(
        f"bolt://localhost:{bolt_port}", auth=("root", PASSWORD)
    ) as driver:

        def count(pattern: str) -> int:
            statement = f"MATCH {pattern} RETURN count(*) AS found"
            (row,) = driver.execute_query(statement, database_="notes").records
            found: int = row["found"]
            return found

        assert count("(n)") == sent[0].counts["nodes"]
        assert count("()-[r]->()") == sent[0].counts["relationships"]
        assert count("(:Entity {name: 'Ann Lee'})-[:KNOWS]->(:Entity {name: 'Bob Moor'})") == 1
        assert count("(:Chunk)-[:MENTIONS]->(:Organisation {name: 'Acme Labs'})") == 1
    monkeypatch.setenv("NEO4J_PASSWORD", "wrong")
    with pytest.raises(hades.Unavailable, match="refused the export"):
        notes.export_to(f"bolt://localhost:{bolt_port}/notes")


@pytest.mark.parametrize("scheme", ["arango+http", "bolt", "qdrant+http"])
def test_a_server_that_cannot_be_reached_is_one_sentence(notes: hades.Memory, scheme: str) -> None:
    for module in ("arango", "neo4j", "qdrant_client"):
        pytest.importorskip(module)
    with pytest.raises(hades.Unavailable, match=r"cannot be reached .* then send again\.$"):
        notes.export_to(f"{scheme}://127.0.0.1:{_free_port()}/notes")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("neo4j://neo4j:secret@host:7687", "environment variables NEO4J_USERNAME and"),
        ("qdrant+https://host:6333/notes?api-key=secret", "environment variables QDRANT_API_KEY"),
        ("http://host:8529", "must be one of arango"),
        ("arango+http://host:99999/notes", "write arango"),
        ("arango+http://host:8529/notes/more", "write arango"),
    ],
)
def test_a_url_with_a_secret_or_without_a_server_is_refused(url: str, message: str) -> None:
    with pytest.raises(hades.InvalidInput, match=message) as refusal:
        read_server(url)
    assert "secret@" not in str(refusal.value)


def test_the_command_takes_a_path_or_a_server(path: Path) -> None:
    shell = Shell(path)
    shell("remember", "a", "Ann Lee lives in Oslo.")
    for arguments in ([], ["graph.json", "--to", "neo4j://localhost"]):
        assert "either a file or folder" in shell.refused("export", *arguments)
