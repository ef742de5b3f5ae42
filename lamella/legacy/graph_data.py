"""Graphs in mindrecord files, as `GraphData` of MindSpore 2.0 read them: nodes, edges, features.

A row of the file is a node (``attribute`` is ``"n"``) or an edge (``"e"``) with a number, a type,
and its features in ``node_feature_1``, ``edge_feature_1``, ...; an edge leads from ``second_id`` to
``third_id``, and may have a ``weight``. Neighbours are what edges of a node lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np

from ..core.require import of_type, positive_int
from ..dataset import config
from ..dataset.mindrecord import FileReader

__all__ = ["GraphData", "OutputFormat", "SamplingStrategy"]

_NONE = -1  # stands where there is no neighbour


class SamplingStrategy(IntEnum):
    """How neighbours are drawn: all alike, or by the weights of their edges."""

    RANDOM = 0
    EDGE_WEIGHT = 1


class OutputFormat(IntEnum):
    """How neighbours are given: a row for each node, pairs, or one list with offsets."""

    NORMAL = 0
    COO = 1
    CSR = 2


def _numbers(value: Any, argument: str, function: str) -> np.ndarray:
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise TypeError(f"For '{function}', '{argument}' must be a list or an array, but got "
                        f"{value!r} of type {type(value).__name__}.")
    numbers = np.asarray(value)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"For '{function}', '{argument}' must hold ints, but got {value!r}.")
    return numbers.astype(np.int32)


class _Kind:
    """The nodes or the edges of a graph: their types, and what each has as features."""

    def __init__(self, what: str):
        self.what = what
        self.of_type: dict[int, list[int]] = {}  # type -> numbers
        self.features: dict[int, dict[int, np.ndarray]] = {}  # feature -> number -> its value
        self.known: set[int] = set()

    def add(self, row: dict[str, Any]) -> int:
        number = int(row["first_id"])
        if number in self.known:
            raise ValueError(f"For 'GraphData', there are two {self.what}s with number {number}.")
        self.known.add(number)
        self.of_type.setdefault(int(row["type"]), []).append(number)
        for feature in np.atleast_1d(row[f"{self.what}_feature_index"]).tolist():
            if feature >= 0:
                value = np.asarray(row[f"{self.what}_feature_{feature}"])
                self.features.setdefault(feature, {})[number] = value
        return number

    def all(self, kind: Any, function: str) -> np.ndarray:
        of_type(kind, int, f"{self.what}_type", function)
        if kind not in self.of_type:
            raise ValueError(f"For '{function}', there are no {self.what}s of type {kind}; there "
                             f"are {sorted(self.of_type)}.")
        return np.array(self.of_type[kind], np.int32)

    def check(self, numbers: np.ndarray, function: str) -> None:
        for number in np.unique(numbers).tolist():
            if number not in self.known and number != _NONE:
                raise ValueError(f"For '{function}', there is no {self.what} with number {number}.")

    def values(self, numbers: Any, types: Any, function: str) -> list[np.ndarray]:
        numbers = _numbers(numbers, f"{self.what}_list", function)
        self.check(numbers, function)
        found = []
        for feature in _numbers(types, "feature_types", function).ravel().tolist():
            if feature not in self.features:
                raise ValueError(f"For '{function}', no {self.what} has a feature {feature}; there "
                                 f"are {sorted(self.features)}.")
            values = self.features[feature]
            first = next(iter(values.values()))
            default = np.zeros_like(first)
            rows = [values.get(number, default) for number in numbers.ravel().tolist()]
            if any(row.shape != first.shape for row in rows):
                raise ValueError(f"For '{function}', feature {feature} doesn't have one shape.")
            shape = () if first.size == 1 else first.shape  # one number adds no dimension
            whole = np.stack(rows) if rows else np.zeros((0, *first.shape), first.dtype)
            found.append(whole.reshape(*numbers.shape, *shape))
        return found


class GraphData:
    """A graph with typed nodes and edges, read from mindrecord files.

    Args:
        dataset_file: one of the files.
        num_parallel_workers, hostname, port, num_client, auto_shutdown: accepted as MindSpore does.
        working_mode: ``"local"``; a server for several processes is not there.

    Raises:
        ValueError: if `working_mode` is another, or the file holds no such graph.
        RuntimeError: if the file isn't there.

    Nodes and edges are int32 numbers. What is drawn at random follows the seed of data pipelines.

    Examples:
        >>> import os, tempfile
        >>> from lamella.dataset.mindrecord import FileWriter
        >>> from lamella.legacy.graph_data import GraphData
        >>> place = os.path.join(tempfile.mkdtemp(), "graph")
        >>> writer = FileWriter(place)
        >>> number = {"type": "int32", "shape": [-1]}
        >>> _ = writer.add_schema({
        ...     **dict.fromkeys(("first_id", "second_id", "third_id"), {"type": "int64"}),
        ...     "type": {"type": "int32"}, "attribute": {"type": "string"},
        ...     "node_feature_index": number, "edge_feature_index": number})
        >>> import numpy as np
        >>> none = {"node_feature_index": np.array([-1], np.int32),
        ...         "edge_feature_index": np.array([-1], np.int32)}
        >>> _ = writer.write_raw_data([
        ...     {"first_id": i, "second_id": 0, "third_id": 0, "type": 0, "attribute": "n", **none}
        ...     for i in range(3)])
        >>> _ = writer.write_raw_data([
        ...     {"first_id": i, "second_id": a, "third_id": b, "type": 0, "attribute": "e", **none}
        ...     for i, (a, b) in enumerate([(0, 1), (0, 2), (2, 0)])])
        >>> _ = writer.commit()
        >>> graph = GraphData(place)
        >>> graph.get_all_neighbors(graph.get_all_nodes(0), 0).tolist()
        [[0, 1, 2], [1, -1, -1], [2, 0, -1]]
    """

    def __init__(self, dataset_file: str, num_parallel_workers: int | None = None,
                 working_mode: str = "local", hostname: str = "127.0.0.1", port: int = 50051,
                 num_client: int = 1, auto_shutdown: bool = True):
        if working_mode != "local":
            raise ValueError(f"For 'GraphData', 'working_mode' must be 'local', but got "
                             f"{working_mode!r}.")
        self._nodes, self._edges = _Kind("node"), _Kind("edge")
        self._ends: dict[int, tuple[int, int]] = {}
        self._edge_of: dict[tuple[int, int], int] = {}
        # node -> what its edges lead to, with their weights
        self._after: dict[int, list[tuple[int, float]]] = {}
        reader = FileReader(str(dataset_file))
        missing = {"first_id", "second_id", "third_id", "type", "attribute", "node_feature_index",
                   "edge_feature_index"} - set(reader.schema())
        if missing:
            raise ValueError(f"For 'GraphData', {dataset_file} holds no graph: there are no fields "
                             f"{sorted(missing)}.")
        for row in reader.get_next():
            if row["attribute"] == "n":
                self._nodes.add(row)
            else:
                ends = int(row["second_id"]), int(row["third_id"])
                self._ends[edge := self._edges.add(row)] = ends
                self._edge_of.setdefault(ends, edge)
                weight = float(np.asarray(row.get("weight", 1.0)).ravel()[0])
                self._after.setdefault(ends[0], []).append((ends[1], weight))
        for ends in self._ends.values():
            self._nodes.check(np.array(ends), "GraphData")
        self._type_of = {node: kind for kind, nodes in self._nodes.of_type.items()
                         for node in nodes}
        seed = config.get_seed()
        self._random = np.random.default_rng(None if seed == 5489 else seed)

    def get_all_nodes(self, node_type: int) -> np.ndarray:
        """The nodes of a type; raises ValueError if there are none."""
        return self._nodes.all(node_type, "get_all_nodes")

    def get_all_edges(self, edge_type: int) -> np.ndarray:
        """The edges of a type; raises ValueError if there are none."""
        return self._edges.all(edge_type, "get_all_edges")

    def get_nodes_from_edges(self, edge_list: Any) -> np.ndarray:
        """The two ends of each edge, shape (edges, 2)."""
        edges = _numbers(edge_list, "edge_list", "get_nodes_from_edges").ravel()
        self._edges.check(edges, "get_nodes_from_edges")
        return np.array([self._ends[e] for e in edges.tolist()], np.int32).reshape(-1, 2)

    def get_edges_from_nodes(self, node_list: Any) -> np.ndarray:
        """The edge between each pair of nodes; -1 where there is none."""
        pairs = _numbers([list(pair) for pair in node_list], "node_list", "get_edges_from_nodes")
        return np.array([self._edge_of.get((a, b), _NONE) for a, b in pairs.tolist()], np.int32)

    def _neighbours(self, node: int, kind: int) -> tuple[list[int], list[float]]:
        found = [(other, weight) for other, weight in self._after.get(node, ())
                 if self._type_of[other] == kind]
        return [other for other, _ in found], [weight for _, weight in found]

    def _type(self, kind: Any, argument: str, function: str) -> int:
        of_type(kind, (int, np.integer), argument, function)
        if kind not in self._nodes.of_type:
            raise ValueError(f"For '{function}', '{argument}' must be a type of nodes, which are "
                             f"{sorted(self._nodes.of_type)}, but got {kind}.")
        return int(kind)

    def _some(self, node_list: Any, argument: str, function: str) -> list[int]:
        nodes = _numbers(node_list, argument, function)
        if nodes.ndim != 1 or not nodes.size:
            raise ValueError(f"For '{function}', '{argument}' must be a list of one or more nodes, "
                             f"but got {node_list!r}.")
        self._nodes.check(nodes, function)
        return nodes.tolist()

    def get_all_neighbors(self, node_list: Any, neighbor_type: int,
                          output_format: OutputFormat = OutputFormat.NORMAL) -> Any:
        """The neighbours of a type of each node.

        Returns:
            by `output_format`: rows of a node and its neighbours, filled up with -1; pairs of both,
            shape (pairs, 2); or where each node's begin, and all neighbours.
        """
        name = "get_all_neighbors"
        nodes, kind = self._some(node_list, "node_list", name), self._type(
            neighbor_type, "neighbor_type", name)
        of_type(output_format, OutputFormat, "output_format", name)
        found = [self._neighbours(node, kind)[0] for node in nodes]
        if output_format == OutputFormat.COO:
            return np.array([(node, other) for node, others in zip(nodes, found, strict=True)
                             for other in others], np.int32).reshape(-1, 2)
        if output_format == OutputFormat.CSR:
            begins = np.cumsum([0, *map(len, found[:-1])]).astype(np.int32)
            return begins, np.array([other for others in found for other in others], np.int32)
        rows = np.full((len(nodes), 1 + max(map(len, found))), _NONE, np.int32)
        for row, node, others in zip(rows, nodes, found, strict=True):
            row[:1 + len(others)] = [node, *others]
        return rows

    def get_sampled_neighbors(self, node_list: Any, neighbor_nums: Any, neighbor_types: Any,
                              strategy: SamplingStrategy = SamplingStrategy.RANDOM) -> np.ndarray:
        """Neighbours drawn with replacement, theirs, and so on; -1 for those of a node without any.

        Args:
            neighbor_nums, neighbor_types: how many of each, and of which type, for at most 6 hops.

        Returns:
            a row for each node: itself, those of the first hop, those of the second, ...
        """
        name = "get_sampled_neighbors"
        nodes = self._some(node_list, "node_list", name)
        counts = _numbers(neighbor_nums, "neighbor_nums", name).ravel().tolist()
        kinds = _numbers(neighbor_types, "neighbor_types", name).ravel().tolist()
        if not 1 <= len(counts) <= 6 or len(counts) != len(kinds):
            raise ValueError(f"For '{name}', 'neighbor_nums' and 'neighbor_types' must have one "
                             f"element for each of 1 to 6 hops, but got {counts} and {kinds}.")
        of_type(strategy, SamplingStrategy, "strategy", name)
        for count, kind in zip(counts, kinds, strict=True):
            positive_int(count, "neighbor_nums", name)
            self._type(kind, "neighbor_types", name)
        rows = []
        for node in nodes:
            row, hop = [node], [node]
            for count, kind in zip(counts, kinds, strict=True):
                hop = [drawn for one in hop for drawn in self._draw(one, count, kind, strategy)]
                row += hop
            rows.append(row)
        return np.array(rows, np.int32)

    def _draw(self, node: int, count: int, kind: int, strategy: SamplingStrategy) -> list[int]:
        others, weights = self._neighbours(node, kind)
        if not others:
            return [_NONE] * count
        odds = None
        if strategy == SamplingStrategy.EDGE_WEIGHT and sum(weights) > 0:
            odds = np.array(weights) / sum(weights)
        return self._random.choice(others, count, p=odds).tolist()

    def get_neg_sampled_neighbors(self, node_list: Any, neg_neighbor_num: int,
                                  neg_neighbor_type: int) -> np.ndarray:
        """A row for each node: itself, and nodes of a type that are no neighbours of it, drawn
        without replacement where there are enough; -1 where there are none."""
        name = "get_neg_sampled_neighbors"
        nodes = self._some(node_list, "node_list", name)
        count = positive_int(neg_neighbor_num, "neg_neighbor_num", name)
        kind = self._type(neg_neighbor_type, "neg_neighbor_type", name)
        rows = []
        for node in nodes:
            near = {node, *self._neighbours(node, kind)[0]}
            far = [other for other in self._nodes.of_type[kind] if other not in near]
            drawn = (self._random.choice(far, count, replace=len(far) < count).tolist() if far
                     else [_NONE] * count)
            rows.append([node, *drawn])
        return np.array(rows, np.int32)

    def get_node_feature(self, node_list: Any, feature_types: Any) -> list[np.ndarray]:
        """Features of nodes in any arrangement, each of its shape and that of the feature.

        A node without the feature, and -1, have zeros; a feature of one number adds no dimension.
        """
        return self._nodes.values(node_list, feature_types, "get_node_feature")

    def get_edge_feature(self, edge_list: Any, feature_types: Any) -> list[np.ndarray]:
        """Features of edges, as `get_node_feature` gives those of nodes."""
        return self._edges.values(edge_list, feature_types, "get_edge_feature")

    def graph_info(self) -> dict[str, Any]:
        """The types of nodes and edges, how many there are of each, and the types of features."""
        nodes, edges = self._nodes, self._edges
        return {"node_type": sorted(nodes.of_type), "edge_type": sorted(edges.of_type),
                "node_num": {kind: len(nodes.of_type[kind]) for kind in sorted(nodes.of_type)},
                "edge_num": {kind: len(edges.of_type[kind]) for kind in sorted(edges.of_type)},
                "node_feature_type": sorted(nodes.features),
                "edge_feature_type": sorted(edges.features)}

    def random_walk(self, target_nodes: Any, meta_path: Sequence[int], step_home_param: float = 1.0,
                    step_away_param: float = 1.0, default_node: int = -1) -> np.ndarray:
        """Walks from nodes to neighbours of the types `meta_path`, shape (nodes, steps + 1).

        A step back weighs 1 / `step_home_param`, one to a neighbour of the node before 1, and any
        other 1 / `step_away_param`. A walk that can't go on has `default_node` from there.

        After Grover and Leskovec, "node2vec" (2016), https://arxiv.org/abs/1607.00653.
        """
        name = "random_walk"
        nodes = self._some(target_nodes, "target_nodes", name)
        kinds = [self._type(kind, "meta_path", name)
                 for kind in _numbers(meta_path, "meta_path", name).ravel().tolist()]
        for argument, value in (("step_home_param", step_home_param),
                                ("step_away_param", step_away_param)):
            if not of_type(value, (int, float), argument, name) > 0:
                raise ValueError(f"For '{name}', '{argument}' must be above 0, but got {value}.")
        walks = np.full((len(nodes), 1 + len(kinds)), of_type(default_node, int, "default_node",
                                                              name), np.int32)
        for walk, node in zip(walks, nodes, strict=True):
            walk[0], before = node, _NONE
            for step, kind in enumerate(kinds, 1):
                others, weights = self._neighbours(node, kind)
                if not others:
                    break
                near = {other for other, _ in self._after.get(before, ())}
                odds = np.array([
                    weight * (1 / step_home_param if other == before
                              else 1.0 if before == _NONE or other in near
                              else 1 / step_away_param)
                    for other, weight in zip(others, weights, strict=True)])
                whole = odds.sum()
                before, node = node, int(self._random.choice(
                    others, p=odds / whole if whole > 0 else None))
                walk[step] = node
        return walks
