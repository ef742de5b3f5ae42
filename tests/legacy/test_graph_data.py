"""Graphs in mindrecord files, beside dictionaries of neighbours."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella.dataset.mindrecord import FileWriter
from lamella.legacy.graph_data import GraphData, OutputFormat, SamplingStrategy

from ..zygote import run as python

NODES = {5: 0, 1: 0, 7: 1, 2: 1, 9: 0, 4: 1}  # number -> type
EDGES = [(5, 7, 1.0), (5, 2, 3.0), (1, 2, 1.0), (7, 5, 1.0), (2, 1, 1.0), (5, 1, 1.0), (2, 5, 1.0)]
FEATURE = {node: np.arange(3, dtype=np.float32) + node for node in NODES}
NONE = np.array([-1], np.int32)


def write(path, nodes=NODES, edges=EDGES, files=1):
    number, whole = {"type": "int32", "shape": [-1]}, {"type": "int64"}
    writer = FileWriter(str(path), files)
    writer.add_schema({
        "first_id": whole, "second_id": whole, "third_id": whole, "type": {"type": "int32"},
        "attribute": {"type": "string"}, "weight": {"type": "float32"},
        "node_feature_index": number, "edge_feature_index": number,
        "node_feature_1": {"type": "float32", "shape": [-1]}, "node_feature_2": number,
        "edge_feature_1": {"type": "float32", "shape": [-1]}})
    zero = {"node_feature_1": np.zeros(1, np.float32), "node_feature_2": np.zeros(1, np.int32),
            "edge_feature_1": np.zeros(1, np.float32)}
    rows = [{**zero, "first_id": node, "second_id": 0, "third_id": 0, "type": kind,
             "attribute": "n", "weight": 0.0, "edge_feature_index": NONE,
             "node_feature_index": np.array([1, 2] if kind == 0 else [1], np.int32),
             "node_feature_1": FEATURE[node], "node_feature_2": np.array([node * 10], np.int32)}
            for node, kind in nodes.items()]
    rows += [{**zero, "first_id": 100 + i, "second_id": a, "third_id": b, "type": 3,
              "attribute": "e", "weight": weight, "node_feature_index": NONE,
              "edge_feature_index": np.array([1], np.int32),
              "edge_feature_1": np.array([a, b], np.float32)}
             for i, (a, b, weight) in enumerate(edges)]
    writer.write_raw_data(rows)
    writer.commit()
    return str(path) if files == 1 else f"{path}0"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write(tmp_path_factory.mktemp("graph") / "graph")


@pytest.fixture
def graph(place):
    ms.dataset.config.set_seed(3)
    return GraphData(place)


def after(node, kind):
    return [b for a, b, _ in EDGES if a == node and NODES[b] == kind]


def test_nodes_edges_and_what_there_is(graph):
    assert graph.get_all_nodes(0).tolist() == [5, 1, 9] and graph.get_all_nodes(0).dtype == np.int32
    edges = graph.get_all_edges(3)
    assert edges.tolist() == list(range(100, 107))
    ends = graph.get_nodes_from_edges(edges)
    assert ends.tolist() == [[a, b] for a, b, _ in EDGES]
    assert graph.get_edges_from_nodes([tuple(pair) for pair in ends]).tolist() == edges.tolist()
    assert graph.get_edges_from_nodes([(5, 7), (7, 2)]).tolist() == [100, -1]
    assert graph.graph_info() == {
        "node_type": [0, 1], "edge_type": [3], "node_num": {0: 3, 1: 3}, "edge_num": {3: 7},
        "node_feature_type": [1, 2], "edge_feature_type": [1]}


def test_several_files(tmp_path):
    graph = GraphData(write(tmp_path / "graph", files=2))
    assert sorted(graph.get_all_nodes(0)) == [1, 5, 9]


def test_all_neighbours_in_three_forms(graph):
    rows = graph.get_all_neighbors([5, 1, 9], 1)
    assert rows.tolist() == [[5, 7, 2], [1, 2, -1], [9, -1, -1]] and rows.dtype == np.int32
    assert [row[1:1 + len(after(row[0], 1))] for row in rows.tolist()] == [
        after(node, 1) for node in (5, 1, 9)]
    pairs = graph.get_all_neighbors(np.array([5, 1, 9]), 1, OutputFormat.COO)
    assert pairs.tolist() == [[5, 7], [5, 2], [1, 2]]
    begins, others = graph.get_all_neighbors([5, 9, 1], 1, output_format=OutputFormat.CSR)
    assert begins.tolist() == [0, 2, 2] and others.tolist() == [7, 2, 2]


def test_features_follow_the_arrangement_of_nodes(graph):
    rows = graph.get_all_neighbors([5, 1, 9], 1)
    vectors, numbers = graph.get_node_feature(rows, [1, 2])
    assert vectors.shape == (3, 3, 3) and vectors.dtype == np.float32
    assert numbers.tolist() == [[50, 0, 0], [10, 0, 0], [90, 0, 0]] and numbers.dtype == np.int32
    for row, of_row in zip(rows.tolist(), vectors, strict=True):
        for node, vector in zip(row, of_row, strict=True):
            assert (vector == FEATURE.get(node, np.zeros(3))).all()
    assert graph.get_edge_feature([101, 103], [1])[0].tolist() == [[5, 2], [7, 5]]


def test_drawn_neighbours_are_neighbours(graph):
    rows = graph.get_sampled_neighbors([5, 1, 9], [2, 3], [1, 0])
    assert rows.shape == (3, 1 + 2 + 6) and rows.dtype == np.int32
    for node, *rest in rows.tolist():
        for i, first in enumerate(rest[:2]):
            assert first in after(node, 1) if after(node, 1) else first == -1
            for second in rest[2 + 3 * i:5 + 3 * i]:
                near = [] if first == -1 else after(first, 0)
                assert second in near if near else second == -1


def test_the_weights_of_edges_and_the_seed(place, graph):
    def draw(graph, strategy):
        return graph.get_sampled_neighbors([5], [4000], [1], strategy)

    heavy = draw(graph, SamplingStrategy.EDGE_WEIGHT)
    assert abs((heavy[0, 1:] == 2).mean() - 0.75) < 0.04  # 3 of 4, within six deviations
    alike = draw(graph, SamplingStrategy.RANDOM)
    assert abs((alike[0, 1:] == 2).mean() - 0.5) < 0.05
    ms.dataset.config.set_seed(3)
    again = GraphData(place)
    assert (draw(again, SamplingStrategy.EDGE_WEIGHT) == heavy).all()


def test_what_is_no_neighbour(graph):
    rows = graph.get_neg_sampled_neighbors([5, 1], 2, 1)
    assert rows[0].tolist() == [5, 4, 4] and rows[1, 0] == 1 and sorted(rows[1, 1:]) == [4, 7]
    assert graph.get_neg_sampled_neighbors([5], 1, 0)[0, 1] == 9


def test_walks_follow_edges(graph):
    walks = graph.random_walk([5, 1, 9], [1, 0, 1])
    assert walks.shape == (3, 4) and walks[2].tolist() == [9, -1, -1, -1]
    for walk in walks[:2].tolist():
        for step, kind in enumerate([1, 0, 1]):
            assert walk[step + 1] in after(walk[step], kind)
    home = graph.random_walk([2] * 2000, [0, 1], step_home_param=1e-9)
    fives = home[home[:, 1] == 5]
    assert (fives[:, 2] == 2).all() and len(fives) > 800
    away = graph.random_walk([2] * 500, [0, 1], step_home_param=1e9, default_node=8)
    assert (away[away[:, 1] == 5][:, 2] == 7).all()


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda g: g.get_all_nodes(4), ValueError, "no nodes of type 4; there are \\[0, 1\\]"),
    (lambda g: g.get_all_nodes("0"), TypeError, "'get_all_nodes', 'node_type'"),
    (lambda g: g.get_all_neighbors([8], 1), ValueError, "no node with number 8"),
    (lambda g: g.get_all_neighbors([], 1), ValueError, "one or more nodes"),
    (lambda g: g.get_all_neighbors(5, 1), TypeError, "must be a list or an array"),
    (lambda g: g.get_all_neighbors([5.5], 1), TypeError, "must hold ints"),
    (lambda g: g.get_all_neighbors([5], 6), ValueError, "must be a type of nodes"),
    (lambda g: g.get_sampled_neighbors([5], [1, 2], [1]), ValueError, "1 to 6 hops"),
    (lambda g: g.get_sampled_neighbors([5], [0], [1]), ValueError, "'neighbor_nums'"),
    (lambda g: g.get_sampled_neighbors([5], [1], [1], 0), TypeError, "'strategy'"),
    (lambda g: g.get_node_feature([5], [3]), ValueError, "no node has a feature 3"),
    (lambda g: g.get_nodes_from_edges([1]), ValueError, "no edge with number 1"),
    (lambda g: g.random_walk([5], [1], step_home_param=0.0), ValueError, "'step_home_param'"),
])
def test_wrong_arguments(graph, call, error, text):
    with pytest.raises(error, match=text):
        call(graph)


def test_files_that_hold_no_graph(tmp_path, place):
    writer = FileWriter(str(tmp_path / "other"))
    writer.add_schema({"label": {"type": "int32"}})
    writer.write_raw_data([{"label": 1}])
    writer.commit()
    with pytest.raises(ValueError, match="holds no graph"):
        GraphData(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="'working_mode' must be 'local'"):
        GraphData(place, working_mode="server")
    with pytest.raises(ValueError, match="no node with number 3"):
        GraphData(write(tmp_path / "loose", edges=[(5, 3, 1.0)]))


def test_by_the_names_of_mindspore(tmp_path, place):
    script = tmp_path / "program.py"
    script.write_text(f"""
import mindspore.dataset as ds
from mindspore.dataset.engine import SamplingStrategy
from mindspore.dataset.engine.graphdata import OutputFormat

graph = ds.GraphData({place!r}, num_parallel_workers=2)
drawn = graph.get_sampled_neighbors([5], [2], [1], SamplingStrategy.EDGE_WEIGHT)
print(len(drawn[0]), OutputFormat.CSR)
""")
    done = python("-m", "lamella", "run", script)
    assert done.stdout == "3 2\n", done.stderr


def test_a_share_of_steps_goes_home_and_to_what_is_near(graph):
    """From 5 to 2 and on: back to 5 weighs 1/3; 1, which 5 knows as well, weighs 1."""
    walks = graph.random_walk([5] * 3000, [1, 0], step_home_param=3.0, step_away_param=1000.0)
    from_two = walks[walks[:, 1] == 2]
    assert abs(len(from_two) / 3000 - 0.75) < 0.05  # the first step weighs 3 to 1
    assert abs((from_two[:, 2] == 1).mean() - 0.75) < 0.06
    # nothing is away at first
    first = graph.random_walk([5] * 3000, [1], step_away_param=float("inf"))
    assert abs((first[:, 1] == 2).mean() - 0.75) < 0.05


def test_as_many_that_are_no_neighbours_as_there_are(graph, tmp_path):
    rows = graph.get_neg_sampled_neighbors([1] * 20, 2, 1)
    assert np.sort(rows[:, 1:]).tolist() == [[4, 7]] * 20
    full = GraphData(write(tmp_path / "full", nodes=dict.fromkeys((5, 7), 0),
                           edges=[(5, 7, 0.25), (7, 5, 1.0)]))
    assert full.get_neg_sampled_neighbors([5, 7], 3, 0).tolist() == [[n, -1, -1, -1]
                                                                     for n in (5, 7)]


@pytest.mark.parametrize("weight, share", [(0.5, 1.0), (0.0, 0.5)])
def test_weights_below_1_count_unless_all_are_0(tmp_path, weight, share):
    ms.dataset.config.set_seed(3)
    graph = GraphData(write(tmp_path / "graph", edges=[(5, 7, weight), (5, 2, 0.0)]))
    drawn = graph.get_sampled_neighbors([5], [2000], [1], SamplingStrategy.EDGE_WEIGHT)[0, 1:]
    assert abs((drawn == 7).mean() - share) < 0.06


@pytest.mark.parametrize("hops", [1, 6])
def test_as_many_hops_as_there_may_be(graph, hops):
    assert graph.get_sampled_neighbors([5], [1] * hops, [1, 0] * (hops // 2) or [1]).shape == (
        1, 1 + hops)
    for count in (0, 7):
        with pytest.raises(ValueError, match="1 to 6 hops"):
            graph.get_sampled_neighbors([5], [1] * count, [1] * count)
