"""Servers that the graph can be sent to: ArangoDB, Neo4j and Qdrant, by their own clients.

The elements are those of the files (`arango.rows`, `neo4j.node_properties`). They go in batches and
replace what an earlier export wrote under the same key, so that sending again is safe. Nothing is
deleted. Secrets come from the environment only.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from hades.errors import InvalidInput, Unavailable, lacking
from hades.exchange import arango, neo4j
from hades.exchange.elements import ExportedEdge, ExportedNode
from hades.exchange.snapshot import GraphSnapshot
from hades.store.records import Progress

BATCH_ROWS = 1_000
BATCH_BYTES = 4_000_000
"""The size of a batch in bytes of JSON. Qdrant accepts requests of up to 32 MB."""
CONNECT_S = 10
REQUEST_S = 120
REASON_CHARACTERS = 300
"""How much of a server's error message is shown."""
COLLECTION = "hades"
"""The collection in Qdrant if the URL names none."""
Key = TypeVar("Key")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """How much was sent to a server."""

    to: str
    counts: Mapping[str, int]
    """Rows by collection, or nodes and relationships, or points."""
    left_out: tuple[str, ...] = ()
    """Indexes that the server refused to create."""


@dataclass(frozen=True, slots=True)
class GraphServer:
    """A server as a URL names it."""

    url: str
    product: str
    address: str
    """The URL that the client of the product connects to."""
    name: str | None
    """The database or collection, if the URL names one."""

    @property
    def needs_vectors(self) -> bool:
        """Return whether the server stores only nodes that have a vector."""
        return self.product == "qdrant"


_PRODUCTS = {
    **{f"arango+{scheme}": "arango" for scheme in ("http", "https")},
    **{f"qdrant+{scheme}": "qdrant" for scheme in ("http", "https")},
    **{
        scheme + security: "neo4j"
        for scheme in ("neo4j", "bolt")
        for security in ("", "+s", "+ssc")
    },
}
"""The product of each scheme of a URL. The schemes of Neo4j are its own."""
_SECRETS = {
    "arango": "ARANGO_USERNAME and ARANGO_PASSWORD",
    "neo4j": "NEO4J_USERNAME and NEO4J_PASSWORD",
    "qdrant": "QDRANT_API_KEY",
}


def read_server(url: str) -> GraphServer:
    """Parse the URL of a server, or raise InvalidInput, also if it holds a password.

    >>> read_server("arango+http://localhost:8529/notes")
    GraphServer(url='arango+http://localhost:8529/notes', product='arango', \
address='http://localhost:8529', name='notes')
    """
    scheme, _, rest = url.partition("://")
    product = _PRODUCTS.get(scheme.lower())
    if product is None:
        raise InvalidInput(
            "The scheme of the server's URL must be one of " + ", ".join(_PRODUCTS) + "."
        )
    if "@" in rest or "?" in rest or "#" in rest:
        raise InvalidInput(
            "The URL of a server holds its host, its port and a name only: put secrets into the "
            f"environment variables {_SECRETS[product]}."
        )
    try:
        parts = urlsplit(url)
        reachable = bool(parts.hostname and parts.port != 0)
    except ValueError:
        reachable = False
    name = parts.path.strip("/") if reachable else ""
    if not reachable or "/" in name:
        raise InvalidInput(f"{url} is no URL of a server: write {scheme}://HOST:PORT/NAME.")
    transport = scheme.lower() if product == "neo4j" else scheme.lower().partition("+")[2]
    return GraphServer(url, product, f"{transport}://{parts.netloc}", name or None)


def send(graph: GraphSnapshot, server: GraphServer, on_progress: Progress) -> Sent:
    """Send a graph to a server; raise Unavailable if it cannot be reached or refuses."""
    to_server: Callable[[GraphSnapshot, GraphServer, Progress], Sent] = {
        "arango": _to_arango,
        "neo4j": _to_neo4j,
        "qdrant": _to_qdrant,
    }[server.product]
    if server.needs_vectors and not graph.dimensions:
        raise InvalidInput("There are no vectors to send yet: run `hades index` first.")
    try:
        return to_server(graph, server, on_progress)
    except ImportError as error:
        raise lacking(f"{server.url} needs", "graph-servers") from error


def _failed(server: GraphServer, error: Exception, *, reached: bool) -> Unavailable:
    reason = " ".join(str(getattr(error, "message", None) or error).split())[
        :REASON_CHARACTERS
    ].rstrip(".")
    what = "refused the export" if reached else "cannot be reached"
    return Unavailable(
        f"{server.url} {what} ({reason}); check it and {_SECRETS[server.product]}, then send again."
    )


def _batches(rows: Iterable[tuple[Key, Row]]) -> Iterator[dict[Key, list[Row]]]:
    """Yield rows by key, at most `BATCH_ROWS` and about `BATCH_BYTES` together."""
    batch: dict[Key, list[Row]] = {}
    count = 0
    size = 0
    for key, row in rows:
        weight = len(json.dumps(row))
        if count and (count == BATCH_ROWS or size + weight > BATCH_BYTES):
            yield batch
            batch = {}
            count = 0
            size = 0
        batch.setdefault(key, []).append(row)
        count += 1
        size += weight
    if batch:
        yield batch


def _send_batches(
    rows: Iterable[tuple[Key, Row]],
    write: Callable[[Key, list[Row]], object],
    on_progress: Progress,
    what: str,
) -> Counter[Key]:
    """Write rows in batches; return how many were written for each key."""
    counts: Counter[Key] = Counter()
    for batch in _batches(rows):
        for key, same in batch.items():
            write(key, same)
            counts[key] += len(same)
            on_progress(f"sending {what}", counts.total(), 0)
    return counts


def _to_arango(graph: GraphSnapshot, server: GraphServer, on_progress: Progress) -> Sent:
    from arango.client import ArangoClient
    from arango.exceptions import ArangoError

    name = server.name or arango.DATABASE
    user = os.environ.get("ARANGO_USERNAME", "root")
    password = os.environ.get("ARANGO_PASSWORD", "")
    client = ArangoClient(server.address, resolver_max_tries=1, request_timeout=REQUEST_S)
    try:
        system = client.db("_system", username=user, password=password)
        if not system.has_database(name):
            system.create_database(name)
        database = client.db(name, username=user, password=password)
        for collection in (*arango.DOCUMENTS, *arango.EDGES):
            if not database.has_collection(collection):
                database.create_collection(collection, edge=collection in arango.EDGES)
        if not database.has_graph(arango.GRAPH_NAME):
            definitions = [
                {
                    "edge_collection": edge["collection"],
                    "from_vertex_collections": edge["from"],
                    "to_vertex_collections": edge["to"],
                }
                for edge in arango.GRAPH
            ]
            database.create_graph(arango.GRAPH_NAME, definitions)

        def write(collection: str, rows: list[Row]) -> None:
            database.collection(collection).import_bulk(rows, on_duplicate="replace")

        counts = _send_batches(arango.rows(graph), write, on_progress, "documents")
        left_out = _index_arango(database, graph, ArangoError)
        return Sent(server.url, dict(counts), left_out)
    except OSError as error:
        raise _failed(server, error, reached=False) from error
    except ArangoError as error:
        raise _failed(server, error, reached=True) from error
    finally:
        client.close()


def _index_arango(database: Any, graph: GraphSnapshot, refused: type[Exception]) -> tuple[str, ...]:
    """Create the indexes and the search view; return the ones that the server refused."""
    wanted: dict[str, Callable[[], object]] = {}
    for collection, indexes in arango.INDEXES.items():
        add = database.collection(collection).add_index
        for fields in indexes:
            index = {"type": "persistent", "fields": fields, "sparse": len(fields) > 1}
            wanted[f"{collection} by {', '.join(fields)}"] = partial(add, index)
    if all(view["name"] != arango.VIEW_NAME for view in database.views()):
        create = partial(database.create_arangosearch_view, arango.VIEW_NAME, arango.VIEW)
        wanted[arango.VIEW_NAME] = create
    if graph.embeddings and graph.dimensions:
        for collection in ("entities", "chunks"):
            vectors = database.collection(collection)
            parameters = {"metric": "cosine", "dimension": graph.dimensions, "nLists": 1}
            index = {"type": "vector", "fields": ["embedding"], "params": parameters}
            wanted[f"vectors of {collection}"] = partial(
                vectors.add_index, {**index, "sparse": True}
            )
    return _refused(wanted, refused)


def _refused(
    wanted: Mapping[str, Callable[[], object]], refused: type[Exception]
) -> tuple[str, ...]:
    """Call each function; return the names of the functions that raised the exception `refused`."""
    names = []
    for name, create in wanted.items():
        try:
            create()
        except refused:
            names.append(name)
    return tuple(names)


def _to_neo4j(graph: GraphSnapshot, server: GraphServer, on_progress: Progress) -> Sent:
    from neo4j import GraphDatabase
    from neo4j.exceptions import DriverError, Neo4jError

    user = os.environ.get("NEO4J_USERNAME", "neo4j")
    password = os.environ.get("NEO4J_PASSWORD")
    account = None if password is None else (user, password)
    try:
        with GraphDatabase.driver(
            server.address,
            auth=account,
            connection_timeout=CONNECT_S,
            max_transaction_retry_time=REQUEST_S,
        ) as driver:

            def run(statement: str, rows: list[Row] | None = None) -> None:
                driver.execute_query(statement, rows=rows or [], database_=server.name)

            driver.verify_connectivity()  # a statement would be tried again for minutes
            run("RETURN 1")  # so that a wrong password is not mistaken for a refused index
            wanted = {_index_name(text): partial(run, text) for text in neo4j.indexes(graph)}
            left_out = _refused(wanted, Neo4jError)
            nodes = _send_batches(
                (_merged_node(node) for node in graph.nodes()), run, on_progress, "nodes"
            )
            edges = _send_batches(
                (_merged_edge(graph, edge) for edge in graph.edges()), run, on_progress, "edges"
            )
        counts = {"nodes": nodes.total(), "relationships": edges.total()}
        return Sent(server.url, counts, left_out)
    except (DriverError, OSError) as error:
        raise _failed(server, error, reached=False) from error
    except Neo4jError as error:
        raise _failed(server, error, reached=True) from error


def _index_name(statement: str) -> str:
    return statement.partition(" IF NOT EXISTS")[0].rpartition(" ")[2]


def _merged_node(node: ExportedNode) -> tuple[str, Row]:
    """Return the Cypher statement that writes a node, and its row."""
    label, *kinds = neo4j.labels(node)
    statement = f"UNWIND $rows AS row MERGE (n:{_quoted(label)} {{id: row.id}}) SET n = row"
    statement += "".join(f" SET n:{_quoted(kind)}" for kind in kinds)
    return statement, _present(neo4j.node_properties(node))


def _merged_edge(graph: GraphSnapshot, exported: ExportedEdge) -> tuple[str, Row]:
    """Return the Cypher statement that writes an edge between its ends, and its row.

    A told edge has its number as its key. Derived edges have the number 0, one for each pair of
    ends.
    """
    edge = exported.edge
    source = _quoted(edge.source.kind.capitalize())
    target = _quoted(edge.target.kind.capitalize())
    statement = (
        f"UNWIND $rows AS row MATCH (a:{source} {{id: row.source}}) "
        f"MATCH (b:{target} {{id: row.target}}) "
        f"MERGE (a)-[r:{_quoted(neo4j.relationship(exported))} {{edge: row.values.edge}}]->(b) "
        "SET r = row.values"
    )
    return statement, {
        "source": graph.id_of(edge.source),
        "target": graph.id_of(edge.target),
        "values": _present(neo4j.edge_properties(exported)),
    }


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _present(properties: Row) -> Row:
    return {name: value for name, value in properties.items() if value is not None}


def _to_qdrant(graph: GraphSnapshot, server: GraphServer, on_progress: Progress) -> Sent:
    from qdrant_client import QdrantClient
    from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

    try:
        client = QdrantClient(
            server.address,
            api_key=os.environ.get("QDRANT_API_KEY"),
            timeout=REQUEST_S,
            check_compatibility=False,
        )
        try:
            return send_points(graph, client, server, on_progress)
        finally:
            client.close()
    except UnexpectedResponse as error:
        raise _failed(server, error, reached=True) from error
    except (ApiException, OSError) as error:
        raise _failed(server, error, reached=False) from error


def send_points(
    graph: GraphSnapshot, client: Any, server: GraphServer, on_progress: Progress
) -> Sent:
    """Send the nodes that have a vector to a client of Qdrant, as points with a payload."""
    from qdrant_client.models import Distance, PointStruct, VectorParams

    collection = server.name or COLLECTION
    if not client.collection_exists(collection):
        size = VectorParams(size=graph.dimensions, distance=Distance.COSINE)
        client.create_collection(collection, vectors_config=size)
    nodes = map(neo4j.node_properties, graph.nodes())
    with_vector = ((collection, node) for node in nodes if node["embedding"] is not None)

    def write(collection: str, rows: list[Row]) -> None:
        points = [
            PointStruct(
                id=str(uuid5(NAMESPACE_URL, row["id"])),
                vector=row["embedding"],
                payload=_present({**row, "embedding": None}),
            )
            for row in rows
        ]
        client.upsert(collection, points=points, wait=True)

    counts = _send_batches(with_vector, write, on_progress, "points")
    return Sent(server.url, {"points": counts.total()})
