"""Resharding checkpoints: against results of MindSpore, and round trips."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn
from lamella.parallel import (
    build_searched_strategy,
    load_distributed_checkpoint,
    merge_sliced_parameter,
    rank_list_for_transform,
    restore_group_info_list,
    transform_checkpoint_by_rank,
    transform_checkpoints,
)
from lamella.parallel.parameter_layout import ParameterLayout
from lamella.train import resharding
from lamella.train.resharding import cut_slice, files_by_rank, joined, place_of, stage_size

RECORDED = json.loads(Path(__file__).with_name("recorded_slices.json").read_text())
SHAPES = {"w": (16, 16), "b": (32,), "c": (8, 16, 8)}


def numbers(shape):
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def write_strategy(path, layouts):
    items = {name: {"dev_matrix": devices, "tensor_map": axes, "param_split_shape": [],
                    "indices_offset": [], "field": 0, "opt_weight_shard_step": step,
                    "opt_weight_shard_size": size}
             for name, (devices, axes, step, size) in layouts.items()}
    path.write_text(json.dumps({"parallel_layout_item": items}))
    return str(path)


def write_whole(folder):
    (folder / "rank_0").mkdir(parents=True)
    ms.save_checkpoint([{"name": name, "data": Tensor(numbers(shape))}
                        for name, shape in SHAPES.items()], str(folder / "rank_0" / "a.ckpt"))
    return str(folder)


def slices_of(folder, count, prefix="p"):
    return [{name: value.asnumpy() for name, value in
             ms.load_checkpoint(f"{folder}/rank_{rank}/{prefix}{rank}.ckpt").items()}
            for rank in range(count)]


@pytest.mark.parametrize("number", range(len(RECORDED)))
def test_slices_are_those_that_mindspore_makes(number, tmp_path):
    case = RECORDED[number]
    strategy = write_strategy(tmp_path / "d.json", case["layouts"])
    transform_checkpoints(write_whole(tmp_path / "in"), str(tmp_path / "out"), "p", None, strategy)
    for got, want in zip(slices_of(tmp_path / "out", len(case["slices"])), case["slices"],
                         strict=True):
        assert {name: [list(part.shape), part.flat[0], part.astype(np.float64).sum()]
                for name, part in got.items()} == want


@pytest.mark.parametrize("number", range(0, len(RECORDED), 3))
def test_from_one_arrangement_to_another_and_back_to_one_process(number, tmp_path):
    first, second = RECORDED[number], RECORDED[number - 1]
    paths = [write_strategy(tmp_path / f"{i}.json", case["layouts"])
             for i, case in enumerate((first, second))]
    whole = write_whole(tmp_path / "in")
    transform_checkpoints(whole, str(tmp_path / "1"), "p", None, paths[0])
    transform_checkpoints(str(tmp_path / "1"), str(tmp_path / "2"), "q", *paths)
    transform_checkpoints(str(tmp_path / "2"), str(tmp_path / "3"), "r", paths[1], None)
    found, = slices_of(tmp_path / "3", 1, "r")
    for name, shape in SHAPES.items():
        np.testing.assert_array_equal(found[name], numbers(shape))


def test_as_few_ranks_as_suffice(tmp_path):
    source = write_strategy(tmp_path / "s.json", {"w": ([2, 4], [-1, 0], 0, 0)})
    target = write_strategy(tmp_path / "t.json", {"w": ([2], [0, -1], 0, 0)})
    assert rank_list_for_transform(0, source, target) == [3, 2, 1, 0]
    assert rank_list_for_transform(1, None, target) == [0]
    rows = write_strategy(tmp_path / "r.json", {"w": ([4], [0, -1], 0, 0)})
    assert rank_list_for_transform(1, rows, target) == [3, 2]
    transform_checkpoints(write_whole(tmp_path / "in"), str(tmp_path / "1"), "p", None, rows)
    files = {rank: f"{tmp_path}/1/rank_{rank}/p{rank}.ckpt" for rank in (3, 2)}
    transform_checkpoint_by_rank(1, files, f"{tmp_path}/made.ckpt", rows, target)
    made = ms.load_checkpoint(f"{tmp_path}/made.ckpt")["w"].asnumpy()
    np.testing.assert_array_equal(made, numbers((16, 16))[8:])
    with pytest.raises(ValueError, match="slice .* of parameter 'w', .* in none"):
        transform_checkpoint_by_rank(0, files, f"{tmp_path}/made.ckpt", rows, target)


def test_merging_slices_and_loading_them(tmp_path):
    layouts = {"weight": ([2, 2], [1, 0], 0, 0)}
    strategy = write_strategy(tmp_path / "s.json", layouts)
    net = nn.Dense(4, 6, has_bias=False)
    whole = numbers((6, 4))
    parts = [whole[:3, :2], whole[:3, 2:], whole[3:, :2], whole[3:, 2:]]
    files = []
    for rank, part in enumerate(parts):
        files.append(str(tmp_path / f"{rank}.ckpt"))
        ms.save_checkpoint([{"name": "weight", "data": Tensor(part)}], files[-1])
    load_distributed_checkpoint(net, files, train_strategy_filename=strategy)
    np.testing.assert_array_equal(net.weight.asnumpy(), whole)
    ms.save_checkpoint({"a": Tensor(1.0), "b": Tensor(2.0)}, str(tmp_path / "two"))
    with pytest.raises(ValueError, match="'a' and 'b' would both have the name 'b'"):
        load_distributed_checkpoint(net, [str(tmp_path / "two.ckpt")], name_map={"a": "b"})
    half = nn.Dense(2, 6, has_bias=False)
    predict = write_strategy(tmp_path / "p.json", {"weight": ([2], [-1, 0], 0, 0)})
    load_distributed_checkpoint(half, files, predict, strategy, rank_id=1)
    np.testing.assert_array_equal(half.weight.asnumpy(), whole[:, 2:])
    slices = [ms.Parameter(Tensor(part), name="weight") for part in parts]
    merged = merge_sliced_parameter(slices, build_searched_strategy(strategy))
    np.testing.assert_array_equal(merged.asnumpy(), whole)
    with pytest.raises(KeyError, match="'strategy'"):
        merge_sliced_parameter(slices, {"other": 1})
    with pytest.raises(ValueError, match="device_count, 4, but it is 3"):
        merge_sliced_parameter(slices[:3], build_searched_strategy(strategy))
    with pytest.raises(ValueError, match="same name"):
        merge_sliced_parameter([slices[0], ms.Parameter(Tensor(parts[1]), name="b")])


def number_field(number, value):
    found = bytearray([number << 3])
    value &= (1 << 64) - 1
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def text_field(number, content):
    return bytes([number << 3 | 2, len(content)]) + content


def test_checkpoints_that_have_some_parameters_each(tmp_path):
    net, other = nn.Dense(3, 2), nn.Dense(3, 2)
    for parameter in net.get_parameters():
        ms.save_checkpoint([parameter], f"{tmp_path}/{parameter.name}.ckpt")
    assert ms.load_segmented_checkpoints(str(tmp_path), other).keys() == {"weight", "bias"}
    for one, two in zip(net.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), two.asnumpy())
    with pytest.raises(ValueError, match="holds none of the names"):
        ms.load_segmented_checkpoints(str(tmp_path), choice_func=lambda name: name == "bias")
    with pytest.raises(ValueError, match="no folder"):
        ms.load_segmented_checkpoints(f"{tmp_path}/none")


def test_the_checkpoint_of_a_process_that_holds_the_same(tmp_path):
    strategy = write_strategy(tmp_path / "s.json", {"w": ([2, 2], [0, -1], 0, 0)})
    paths = [tmp_path / f"rank_{rank}" / "w.ckpt" for rank in range(4)]
    for path in paths:
        path.parent.mkdir()
    found = [None]
    for rank in (3, 1, 2, 0):  # rank 2 has what this process, rank 0, has
        paths[rank].write_bytes(b"")
        found.append(ms.get_ckpt_path_with_strategy(str(paths[0]), strategy))
    assert found == [None, None, None, str(paths[2]), str(paths[0])]


def test_protocol_buffers(tmp_path):
    dims = {"dev_matrix": [2, 4], "tensor_map": [1, -1]}
    layout = b"".join(text_field(i + 1, b"".join(number_field(1, n) for n in numbers))
                      for i, numbers in enumerate(dims.values()))
    layout += number_field(5, 0) + number_field(6, 1) + number_field(7, -1)
    item = text_field(1, b"net.w") + text_field(2, layout)
    path = tmp_path / "strategy.ckpt"
    path.write_bytes(number_field(1, 0) + text_field(3, item))
    found = build_searched_strategy(str(path))["net.w"]
    assert (found.dev_matrix[0].dim, found.tensor_map[0].dim) == ([2, 4], [1, -1])
    assert (found.opt_weight_shard_step, found.opt_weight_shard_size) == (1, -1)
    group = tmp_path / "group.pb"
    group.write_bytes(text_field(2, text_field(1, bytes([0, 4, 8]))))
    assert restore_group_info_list(str(group)) == [0, 4, 8]
    group.write_bytes(text_field(1, text_field(1, b"g")))
    with pytest.raises(ValueError, match="no restore rank list"):
        restore_group_info_list(str(group))
    for damaged in (path.read_bytes()[:-3], b"\x0f", b"\xff" * 12, b"\x1a\x7f"):
        path.write_bytes(damaged)
        with pytest.raises(TypeError, match="JSON, .*or a protocol buffer"):
            build_searched_strategy(str(path))


@pytest.mark.parametrize("call, kind, text", [
    (lambda f: rank_list_for_transform("0"), TypeError, "should be a int"),
    (lambda f: rank_list_for_transform(0, 3), TypeError, "src_strategy_file should be a str"),
    (lambda f: rank_list_for_transform(0, f"{f}/no.json"), ValueError, "no such file"),
    (lambda f: transform_checkpoints(f"{f}/no", f, "p"), NotADirectoryError, "not a directory"),
    (lambda f: transform_checkpoints(f, f, "p"), ValueError, "checkpoints of one format"),
    (lambda f: transform_checkpoint_by_rank(0, [], "x.ckpt"), TypeError, "should be a dict"),
    (lambda f: transform_checkpoint_by_rank(0, {}, "x"), ValueError, "should end with .ckpt"),
    (lambda f: transform_checkpoint_by_rank(True, {}, "x.ckpt"), TypeError, "should be a int"),
    (lambda f: transform_checkpoint_by_rank(0, {}, 3), TypeError, "should be a str"),
    (lambda f: transform_checkpoint_by_rank(0, {2: f"{f}/no"}, "x.ckpt"), ValueError,
     "in rank 2 not exits"),
    (lambda f: rank_list_for_transform(True), TypeError, "should be a int, but got True"),
    (lambda f: rank_list_for_transform(0, None, 3), TypeError, "dst_strategy_file should be a str"),
    (lambda f: transform_checkpoints(f, f, 3), TypeError, "ckpt_prefix should be a str"),
    (lambda f: merge_sliced_parameter(()), TypeError, "should be list"),
    (lambda f: merge_sliced_parameter([ms.Parameter(1.0, name="a")], [3]), TypeError,
     "'strategy' should be dict"),
    (lambda f: merge_sliced_parameter([ms.Parameter(1.0, name="a"), 3]), TypeError, "at index 1"),
    (lambda f: merge_sliced_parameter([]), ValueError, "should not be empty"),
    (lambda f: merge_sliced_parameter([1]), TypeError, "should be 'Parameter'"),
    (lambda f: load_distributed_checkpoint(3, []), TypeError, "must be a Cell"),
    (lambda f: build_searched_strategy(3), TypeError, "must be a str"),
    (lambda f: restore_group_info_list(f"{f}/no"), ValueError, "no such file"),
], ids=range(21))
def test_wrong_arguments(call, kind, text, tmp_path):
    with pytest.raises(kind, match=text):
        call(str(tmp_path))


SHAPE = (12, 24)
LAYOUTS = [ParameterLayout((1,), ((), ())), ParameterLayout((2,), ((0,), ())),
           ParameterLayout((3,), ((0,), ())), ParameterLayout((4,), ((), (0,))),
           ParameterLayout((2, 3), ((1,), (0,))), ParameterLayout((2, 3), ((), (1,))),
           ParameterLayout((3, 4), ((0,), (1,))), ParameterLayout((2, 2, 2), ((2, 0), (1,))),
           ParameterLayout((2, 3), ((), ()), -1), ParameterLayout((2, 2), ((0,), ()), 2)]


def elements(layout, rank):
    """The numbers of the elements that a process has."""
    whole = torch.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    counts, index = layout.cell(rank)
    rows, columns = (n // c for n, c in zip(SHAPE, counts, strict=True))
    return whole[index[0] * rows:(index[0] + 1) * rows,
                 index[1] * columns:(index[1] + 1) * columns]


@pytest.mark.parametrize("one, other", [(i, k) for i in range(10) for k in range(i, 10)])
def test_slices_that_have_elements_in_common(one, other):
    first, second = LAYOUTS[one], LAYOUTS[other]
    for rank, theirs in itertools.product(range(first.size), range(second.size)):
        common = np.intersect1d(elements(first, rank), elements(second, theirs)).size > 0
        assert resharding._overlaps(first, rank, second, theirs) is common


@pytest.mark.parametrize("layout", LAYOUTS)
def test_wholes_are_cut_and_joined(layout):
    whole = torch.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE)
    slices = {}
    for rank in range(layout.size):
        part = cut_slice("w", whole, layout, rank)
        assert torch.equal(part, elements(layout, rank)) and part.is_contiguous()
        slices[layout.cell(rank)[1]] = part
    counts = layout.cell(0)[0]
    assert torch.equal(joined("w", slices, counts), whole)
    raws = [cut_slice("w", whole, layout, rank) for rank in range(layout.size)]
    assert torch.equal(resharding.merged("w", raws, layout), whole)
    if len(slices) > 1:
        slices.pop(next(iter(slices)))
        with pytest.raises(ValueError, match=f"cut in {np.prod(counts)} slices, 1 are missing"):
            joined("w", slices, counts)
        with pytest.raises(ValueError, match=f"device_count, {layout.size}, but it is"):
            resharding.merged("w", raws[1:], layout)


@pytest.mark.parametrize("shape, dim", [((7, 6), 0), ((4, 7), 1)])
def test_dimensions_that_do_not_divide(shape, dim):
    layout = ParameterLayout((2, 3), ((1,), (0,)))
    with pytest.raises(ValueError, match=f"can't be cut in {(2, 3)[dim]} along dimension {dim}"):
        cut_slice("w", torch.zeros(shape), layout, 0)


@pytest.mark.parametrize("devices, rank, place", [
    ((2, 2), 0, (0, 0)), ((2, 2), 3, (0, 3)), ((2, 2), 4, (1, 0)), ((2, 2), 11, (2, 3)),
    ((1,), 0, (0, 0)), ((1,), 2, (2, 0)), ((2,), 3, (1, 1)), (None, 5, (0, 0))])
def test_the_stage_of_a_process(devices, rank, place):
    layouts = None if devices is None else {"w": ParameterLayout(devices, ((),))}
    assert place_of(rank, layouts) == place
    assert stage_size(layouts) == np.prod(devices or (1,))


def test_the_last_file_of_each_rank(tmp_path):
    for name in ("rank_0/a.ckpt", "rank_0/b.ckpt", "rank_0/c.txt", "rank_10/a.ckpt",
                 "rank_2/a.txt", "rank_1x/a.ckpt", "rank_x/a.ckpt", "rank_3[/a.ckpt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert files_by_rank(str(tmp_path), ".ckpt") == {
        0: str(tmp_path / "rank_0" / "b.ckpt"), 10: str(tmp_path / "rank_10" / "a.ckpt")}
    assert list(files_by_rank(str(tmp_path), ".txt")) in ([0, 2], [2, 0])


@pytest.mark.parametrize("shapes, fits", [
    ([(2, 3), (1, 3)], True), ([(2,), (0,), (3,)], True), ([(2, 3), (2, 4)], False),
    ([(2,), (2, 1)], False), ([(2, 3, 1), (2, 3)], False)])
@pytest.mark.parametrize("strategy", [None, {}])
def test_slices_along_the_first_dimension(shapes, fits, strategy):
    slices = [ms.Parameter(Tensor(numbers(shape) + i), name="w", requires_grad=False,
                           layerwise_parallel=True) for i, shape in enumerate(shapes)]
    if not fits:
        with pytest.raises(ValueError, match="same name and, but for .* at index 1"):
            merge_sliced_parameter(slices, strategy)
        return
    made = merge_sliced_parameter(slices, strategy)
    np.testing.assert_array_equal(made.asnumpy(), np.concatenate([s.asnumpy() for s in slices]))
    assert (made.name, made.requires_grad, made.layerwise_parallel) == ("w", False, True)


def test_stages_of_a_pipeline(tmp_path):
    """Stage 0 has a, stage 1 b, both c; two processes each, which cut the first dimension."""
    source = {"a": ParameterLayout((2,), ((0,), ()), 0, (0,)),
              "b": ParameterLayout((2,), ((0,), ()), 0, (1,)),
              "c": ParameterLayout((2,), ((0,), ()), 0, (0, 1))}
    target = {name: layout._replace(devices=(1,), axes=((), ()), stages=(stage,))
              for (name, layout), stage in zip(source.items(), (0, 1, 0), strict=True)}
    wanted = [resharding._needed_by(rank, source, target) for rank in range(3)]
    assert wanted == [[3, 2, 1, 0], [3, 2], []]
    assert resharding._needed_by(0, source, None) == [3, 2, 1, 0]
    assert resharding._needed_by(1, {"a": source["a"]}, {"a": source["a"]}) == [1]
    assert resharding._needed_by(0, source, {"b": target["b"]}) == []
    with pytest.raises(ValueError, match="src_strategy_file is empty"):
        resharding._needed_by(0, {}, target)
    wholes = {name: numbers((4, 3)) + i for i, name in enumerate(source)}
    files = {}
    for rank in range(4):
        files[rank] = str(tmp_path / f"{rank}.ckpt")
        ms.save_checkpoint([{"name": name, "data": Tensor(wholes[name][2 * (rank % 2):][:2])}
                            for name, layout in source.items() if rank // 2 in layout.stages],
                           files[rank])
    for rank, names in ((0, ["a", "c"]), (1, ["b"])):
        made = str(tmp_path / f"made{rank}.ckpt")
        resharding._transform(rank, files, made, "ckpt", source, target)
        found = ms.load_checkpoint(made)
        assert sorted(found) == names
        for name in names:
            np.testing.assert_array_equal(found[name].asnumpy(), wholes[name])


@pytest.mark.parametrize("strategies", [False, True])
def test_texts_in_a_checkpoint_belong_to_its_run(strategies, tmp_path):
    (tmp_path / "in" / "rank_0").mkdir(parents=True)
    ms.save_checkpoint([{"name": "w", "data": Tensor(numbers((4, 2)))}],
                       str(tmp_path / "in" / "rank_0" / "a.ckpt"),
                       append_dict={"note": "text", "epoch_num": 3})
    layouts = {"w": ([2], [0, -1], 0, 0)}
    target = write_strategy(tmp_path / "t.json", layouts) if strategies else None
    transform_checkpoints(str(tmp_path / "in"), str(tmp_path / "out"), "p", None, target)
    first, *others = slices_of(tmp_path / "out", 2 if strategies else 1)
    if strategies:
        assert first.keys() == others[0].keys() == {"w"}
        np.testing.assert_array_equal(others[0]["w"], numbers((4, 2))[2:])
    else:
        assert first.keys() == {"w", "epoch_num"} and first["epoch_num"] == 3


def test_texts_are_not_loaded_into_a_network(tmp_path):
    path = str(tmp_path / "a.ckpt")
    net = nn.Dense(2, 4, has_bias=False)
    ms.save_checkpoint([{"name": "weight", "data": Tensor(numbers((4, 2)))}], path,
                       append_dict={"note": "text"})
    found = load_distributed_checkpoint(net, [path], return_param_dict=True)
    assert found.keys() == {"weight"}
    np.testing.assert_array_equal(net.weight.asnumpy(), numbers((4, 2)))
