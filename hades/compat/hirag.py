"""HiRAG × PathRAG: a class with its three functions and its configuration.

The hierarchy narrows the graph (stage A), paths are searched in what is left (stage B), and both
become a prompt. See docs/hierarchy.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import yaml
from pydantic import Field

from hades.compat.source_class import Share, SourceConfig, validated
from hades.context.text.layout import flat
from hades.context.text.paths import cluster_summary, format_path_prompt
from hades.domain.answer import Diagnostic, Path
from hades.domain.graph import Reason, row_of
from hades.domain.rules import clean_mapping
from hades.domain.weights import TYPE_PRIORS
from hades.errors import InvalidInput
from hades.graph.arrays import Floats32
from hades.operations.indexing import catch_up, ready
from hades.recall.bridge_cache import held
from hades.recall.paths.hierarchy_paths import (
    CandidateGraph,
    Narrowing,
    best_paths,
    descend,
    path_scoring,
)
from hades.recall.paths.path_text import PathWriter

if TYPE_CHECKING:
    from hades.memory import View

Width = Annotated[int, Field(ge=1, le=64)]


class PathConfig(SourceConfig):
    """The search and scoring of paths (stage B)."""

    M: int = Field(default=6, ge=1, le=20, description="paths")
    L: int = Field(default=5, ge=2, le=5, description="edges of a path at most")
    lambda_: float = Field(default=0.3, ge=0, le=1, alias="lambda")
    eps: float = Field(default=1e-6, gt=0, lt=1)
    relation_boost: dict[str, Share] = Field(
        default={
            "refers_to": 0.8,
            "implements": 0.7,
            "cites": 0.6,
            "derives_from": 0.6,
            "coref": 0.4,
        },
        max_length=1_000,
    )


class DemotionConfig(SourceConfig):
    """The penalty of a node's score for each of its edges."""

    deg_alpha: float = Field(default=0.005, ge=0, le=1_000)


class HiRAGConfig(SourceConfig):
    """The configuration `hirag_pathrag`."""

    topic_k: int = Field(default=8, ge=1, le=64, description="clusters of level 2 at most")
    beam: tuple[Width, Width, Width] = (8, 4, 2)
    cand_cap: int = Field(default=500, ge=1, le=10_000, description="nodes of the candidate graph")
    path: PathConfig = PathConfig()
    beam_demote: DemotionConfig = DemotionConfig()

    @classmethod
    def read(cls, given: str | Mapping[str, Any]) -> HiRAGConfig:
        """Read a configuration: YAML or a mapping, with or without the key `hirag_pathrag`."""
        values: Any = given
        if isinstance(given, str):
            try:
                values = yaml.safe_load(given) or {}
            except (yaml.YAMLError, ValueError, RecursionError) as error:
                raise InvalidInput(f"This is not YAML: {flat(str(error))[:200]}.") from error
        if isinstance(values, Mapping) and set(values) == {"hirag_pathrag"}:
            values = values["hirag_pathrag"]
        return validated(cls, values, "hirag_pathrag")


class HiRAG:
    """Paths through the part of a memory that its hierarchy leads to.

    >>> HiRAG(memory).retrieve("How do graph networks oversmooth?")["prompt"]     # doctest: +SKIP
    """

    def __init__(self, view: View, config: HiRAGConfig | str | Mapping[str, Any] = "") -> None:
        self.view = view
        self.config = config if isinstance(config, HiRAGConfig) else HiRAGConfig.read(config)
        known = view.inside.store.edges.relation
        self.reasons = tuple(
            Diagnostic(Reason.IGNORED, "hirag", f"no edge has the relation {relation!r}")
            for relation in self.config.path.relation_boost
            if relation not in TYPE_PRIORS and known(relation) is None
        )
        """Diagnostics for the boosts of the configuration that have no effect."""

    def retrieve(self, query: str, *, with_paths: bool = True) -> dict[str, Any]:
        """Return the evidence of the hierarchy and its paths for a query.

        `candidates` is the part of the graph that stage A found, `chunks` its entry passages, best
        first, `paths` the best paths, and `prompt` a text for a model. Without `with_paths`, stage
        B is left out.
        """
        ready(self.view.inside, query, None)
        vector = self.view.inside.finder.encoder.encode([query])[0]
        candidates = self.get_hierarchy_candidates(vector)
        paths = self.get_best_paths(candidates) if with_paths else []
        rows = [row_of(node) for node in candidates.entries]
        placed = self.view.inside.store.chunks.find(rows, self.view.as_of)
        return {
            "query": query,
            "candidates": candidates,
            "chunks": [placed[row].chunk for row in rows if row in placed],
            "paths": paths,
            "prompt": format_path_prompt(paths, self.hierarchy_summary(candidates)),
        }

    def get_hierarchy_candidates(
        self,
        q_emb: Sequence[float],
        k_topic: int | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> CandidateGraph:
        """Return the part of the graph that a vector leads to (stage A).

        `thresholds` may have `topic`, the least cosine of a cluster and the vector (0).
        """
        topics = self.config.topic_k if k_topic is None else k_topic
        if not isinstance(topics, int) or not 1 <= topics <= 64:
            raise InvalidInput("`k_topic` is a whole number from 1 to 64.")
        limits = Narrowing(
            topics=topics,
            beams=self.config.beam,
            least=_threshold(clean_mapping(thresholds or {}, "thresholds")),
            cap=self.config.cand_cap,
            demotion=self.config.beam_demote.deg_alpha,
        )
        catch_up(self.view.inside, None)
        with self.view.inside.query_context() as query:
            return descend(query, _unit(q_emb, query.indexes.vectors.dims), limits)

    def get_best_paths(
        self,
        candidate_graph: CandidateGraph,
        M: int | None = None,
        L: int | None = None,
        relation_boosts: Mapping[str, float] | None = None,
    ) -> list[Path]:
        """Return the `M` best paths of 2 to `L` edges between entry passages (stage B).

        Stored bridges (`Memory.refresh_bridges`) are included.
        """
        if not isinstance(candidate_graph, CandidateGraph):
            raise InvalidInput("`candidate_graph` is the result of `get_hierarchy_candidates`.")
        given = {"M": M, "L": L, "relation_boost": relation_boosts}
        values = self.config.path.model_dump(by_alias=True)
        values |= {name: value for name, value in given.items() if value is not None}
        config = HiRAGConfig.read({"path": values}).path
        scoring = path_scoring(config.relation_boost, config.lambda_, config.eps)
        with self.view.inside.query_context() as query:
            return best_paths(query, candidate_graph, scoring, config.M, config.L)

    def hierarchy_summary(self, candidates: CandidateGraph) -> str:
        """Return a line for each chosen cluster of level 1: topic ▸ subtopic: summary."""
        names = [name for name, _ in candidates.clusters]
        return cluster_summary(names, self.view.hierarchy().clusters)

    def bridge_cache(self) -> list[tuple[int, Path]]:
        """Return the stored bridges that hold, best first, each with the change that stored it."""
        inside = self.view.inside
        catch_up(inside, None)
        with inside.query_context() as query:
            writer = PathWriter(query)
            return [
                (bridge.change, writer.path(numbers, bridge.weight))
                for bridge in inside.store.bridges.of_space(inside.space_id)
                if (numbers := held(query, bridge))
            ]


def _threshold(thresholds: Mapping[str, float]) -> float:
    if unknown := set(thresholds) - {"topic"}:
        raise InvalidInput(f"There is no threshold {min(unknown)!r}: use `topic`.")
    least = thresholds.get("topic", 0.0)
    if not isinstance(least, int | float) or not -1 <= least <= 1:
        raise InvalidInput("The threshold `topic` is a cosine, a number from -1 to 1.")
    return float(least)


def _unit(given: Sequence[float], dims: int) -> Floats32:
    """Return a vector scaled to length 1; raise InvalidInput if that is not possible."""
    try:
        vector = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    length = math.sqrt(float((vector * vector).sum()))
    if vector.shape != (dims,) or not 0 < length < math.inf:
        raise InvalidInput(f"`q_emb` is a list of {dims} finite numbers that are not all 0.")
    return (vector / length).astype(np.float32)
