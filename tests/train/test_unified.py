"""Unified checkpoints of many processes, and strategy files of pipeline stages."""

import json
import os

import numpy as np
import pytest

import lamella as ms
from lamella.parallel import (
    load_distributed_checkpoint,
    merge_pipeline_strategys,
    rank_list_for_transform,
    set_op_strategy_config,
    sync_pipeline_shared_parameters,
    transform_checkpoints,
    unified_safetensors,
)
from lamella.parallel.parameter_layout import ParameterLayout
from lamella.train import unified
from lamella.train.strategy_files import build_searched_strategy, write_strategy

WHOLES = {"a": np.arange(32, dtype=np.float32).reshape(8, 4),
          "b": np.arange(4, dtype=np.float32), "c": np.arange(24, dtype=np.int32).reshape(4, 6)}
LAYOUTS = {"a": ParameterLayout((2,), ((0,), ())), "b": ParameterLayout((2,), ((),)),
           "c": ParameterLayout((2,), ((), (0,)))}


def slice_of(name, layout, rank):
    """A process's slice of a tensor, or the corresponding one in another stage."""
    counts, index = layout.cell(rank % layout.size)
    return WHOLES[name][tuple(slice(n // c * i, n // c * (i + 1)) for n, c, i in zip(
        WHOLES[name].shape, counts, index, strict=True))]


def save(folder, rank, layouts, form, **more):
    values = {name: slice_of(name, layout, rank) for name, layout in layouts.items()} | more
    os.makedirs(f"{folder}/rank_{rank}", exist_ok=True)
    ms.save_checkpoint([{"name": name, "data": ms.Tensor(value)} for name, value in values.items()],
                       f"{folder}/rank_{rank}/net.{form}", format=form)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = str(tmp_path_factory.mktemp("unified"))
    write_strategy(f"{found}/strategy.ckpt", LAYOUTS)
    for rank in (0, 1):
        save(f"{found}/slices", rank, LAYOUTS, "safetensors", epoch=3)
    return found


def read(path):
    return {name: value.asnumpy() for name, value in
            ms.load_checkpoint(path, format="safetensors").items()}


def test_slices_become_wholes_with_an_index(folder, tmp_path):
    """The index, but for its order, is what MindSpore 2.10 writes for these files."""
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", str(tmp_path))
    assert sorted(os.listdir(tmp_path)) == ["hyper_param.safetensors", "param_name_map.json",
                                            "part0.safetensors"]
    assert json.loads((tmp_path / "param_name_map.json").read_text()) == {
        "metadata": {"total_size": 240}, "weight_map": dict.fromkeys("abc", "part0.safetensors")}
    found = read(f"{tmp_path}/part0.safetensors")
    for name, whole in WHOLES.items():
        np.testing.assert_array_equal(found[name], whole)
    assert list(read(f"{tmp_path}/hyper_param.safetensors")) == ["epoch"]


def test_accumulated_gradients_are_left_out(tmp_path):
    """Of one process's slice no other can be made."""
    layouts = {"a": LAYOUTS["a"], "accu_grads.a": LAYOUTS["a"]}
    write_strategy(f"{tmp_path}/strategy.ckpt", layouts)
    for rank in (0, 1):
        save(f"{tmp_path}/slices", rank, {"a": LAYOUTS["a"]}, "safetensors", epoch=3,
             **{"accu_grads.a": slice_of("a", LAYOUTS["a"], rank)})
    unified_safetensors(f"{tmp_path}/slices", f"{tmp_path}/strategy.ckpt", f"{tmp_path}/wholes")
    load_distributed_checkpoint(None, predict_strategy=f"{tmp_path}/strategy.ckpt",
                                unified_safetensors_dir=f"{tmp_path}/wholes",
                                dst_safetensors_dir=f"{tmp_path}/cut")
    found = read(f"{tmp_path}/cut/rank_1/net.safetensors")
    assert sorted(found) == ["a", "epoch"] and found["epoch"] == 3
    np.testing.assert_array_equal(found["a"], WHOLES["a"][4:])


def test_wholes_are_cut_for_another_arrangement(folder, tmp_path):
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", f"{tmp_path}/wholes")
    layouts = {name: ParameterLayout((4,), ((0,), *[()] * (whole.ndim - 1)))
               for name, whole in WHOLES.items()}
    write_strategy(f"{tmp_path}/four.json", layouts)
    for _ in range(2):  # the second time over the files of the first
        load_distributed_checkpoint(None, predict_strategy=f"{tmp_path}/four.json",
                                    unified_safetensors_dir=f"{tmp_path}/wholes",
                                    dst_safetensors_dir=f"{tmp_path}/cut")
    for rank in range(4):
        found = read(f"{tmp_path}/cut/rank_{rank}/net.safetensors")
        for name, layout in layouts.items():
            np.testing.assert_array_equal(found[name], slice_of(name, layout, rank))


def test_a_network_gets_wholes_under_other_names(folder, tmp_path):
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", str(tmp_path),
                        choice_func=lambda name: {"a": "weights", "c": False}.get(name, True))
    net = ms.nn.Dense(4, 8)
    missing, left = load_distributed_checkpoint(
        net, unified_safetensors_dir=str(tmp_path), name_map={"weight": "weights"})
    np.testing.assert_array_equal(net.weight.asnumpy(), WHOLES["a"])
    assert (missing, sorted(left)) == (["bias"], ["b", "epoch"])


def test_shares_of_the_files_are_written_one_by_one(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("lamella.train.unified._LARGEST", 150)
    for number in (1, 2):
        unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", str(tmp_path),
                            split_dst_file=(number, 2))
        assert os.path.isfile(f"{tmp_path}/part1.safetensors") == (number == 2)
        if number == 1:  # the index is written with the first share
            index = json.loads((tmp_path / "param_name_map.json").read_text())["weight_map"]
            os.remove(tmp_path / "param_name_map.json")
    assert sorted(os.listdir(tmp_path)) == ["hyper_param.safetensors", "part0.safetensors",
                                            "part1.safetensors"]
    for name, file in index.items():
        np.testing.assert_array_equal(read(f"{tmp_path}/{file}")[name], WHOLES[name])


def test_a_missing_process_is_named(folder, tmp_path):
    save(str(tmp_path), 0, LAYOUTS, "safetensors")
    with pytest.raises(ValueError, match="safetensor file of rank1 is needed"):
        unified_safetensors(str(tmp_path), f"{folder}/strategy.ckpt", f"{tmp_path}/out")
    with pytest.raises(ValueError, match="'src_dir' can not be a file"):
        unified_safetensors(f"{folder}/strategy.ckpt", f"{folder}/strategy.ckpt", str(tmp_path))
    with pytest.raises(ValueError, match=r"\(i, n\) with i from 1 to n, but got \(3, 2\)"):
        unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", str(tmp_path / "s"),
                            split_dst_file=(3, 2))


@pytest.mark.parametrize("form", ["json", "ckpt"])
def test_strategies_of_stages_are_joined(tmp_path, form):
    of_stage = [{"a": LAYOUTS["a"]}, {"b": LAYOUTS["b"], "c": LAYOUTS["c"]}]
    for rank in range(4):
        stage = rank // 2
        write_strategy(f"{tmp_path}/stages/{rank}.{form}", of_stage[stage], stage)
        save(f"{tmp_path}/slices", rank, of_stage[stage], "ckpt")
    merged = f"{tmp_path}/out/merged.{form}"
    merge_pipeline_strategys(f"{tmp_path}/stages", merged)
    assert sorted(build_searched_strategy(merged)) == ["0-a", "1-b", "1-c"]
    assert rank_list_for_transform(0, merged) == [3, 2, 1, 0]
    transform_checkpoints(f"{tmp_path}/slices", f"{tmp_path}/whole", "net", merged)
    found = ms.load_checkpoint(f"{tmp_path}/whole/rank_0/net0.ckpt")
    for name, whole in WHOLES.items():
        np.testing.assert_array_equal(found[name].asnumpy(), whole)


def test_wholes_are_cut_for_the_processes_of_all_stages(folder, tmp_path):
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", f"{tmp_path}/wholes")
    of_stage = [{"a": LAYOUTS["a"]}, {"b": LAYOUTS["b"], "c": LAYOUTS["c"]}]
    for stage, layouts in enumerate(of_stage):
        write_strategy(f"{tmp_path}/stages/{stage}.json", layouts, stage)
    merge_pipeline_strategys(f"{tmp_path}/stages", f"{tmp_path}/merged.json")
    load_distributed_checkpoint(None, predict_strategy=f"{tmp_path}/merged.json",
                                unified_safetensors_dir=f"{tmp_path}/wholes",
                                dst_safetensors_dir=f"{tmp_path}/cut")
    assert sorted(os.listdir(tmp_path / "cut")) == [f"rank_{rank}" for rank in range(4)]
    for rank in range(4):
        found = read(f"{tmp_path}/cut/rank_{rank}/net.safetensors")
        assert list(found) == [*of_stage[rank // 2], "epoch"] and found.pop("epoch") == 3
        for name, value in found.items():
            np.testing.assert_array_equal(value, slice_of(name, LAYOUTS[name], rank))


def test_what_is_no_folder_of_strategies_is_refused(folder, tmp_path):
    with pytest.raises(NotADirectoryError, match="is not a directory"):
        merge_pipeline_strategys(f"{folder}/strategy.ckpt", f"{tmp_path}/merged.ckpt")
    with pytest.raises(ValueError, match="must be all '.ckpt' or all '.json'"):
        merge_pipeline_strategys(str(tmp_path), f"{tmp_path}/merged.ckpt")
    with pytest.raises(ValueError, match="is empty"):  # it is of no stage
        merge_pipeline_strategys(folder, f"{tmp_path}/merged.ckpt")


@pytest.mark.parametrize("mode, path, text", [
    ("SAVE", "a.json", "absolute"), ("SAVE", "/a.ckpt", "json"), ("READ", "/a.json", "LOAD")])
def test_arguments_of_settings_without_effect_are_checked(mode, path, text):
    with pytest.raises(KeyError, match=text):
        set_op_strategy_config(mode, path)
    with pytest.raises(TypeError, match="should be a Cell"):
        sync_pipeline_shared_parameters(path)


@pytest.mark.parametrize("count, of", [(1, 1), (5, 1), (5, 2), (7, 3), (6, 3), (2, 4)])
def test_shares_of_the_files(count, of):
    """Each file is in one share, and shares differ by one file at most."""
    shares = [list(unified._share(count, (number, of))) for number in range(1, of + 1)]
    assert sum(shares, []) == list(range(count)) == list(unified._share(count, ()))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("split", [(0, 2), (3, 2), (1,), (1, 2, 3), (-1, -1)])
def test_shares_that_there_are_not(split):
    with pytest.raises(ValueError, match="'split_dst_file' must be .i, n. with i from"):
        unified._share(4, split)


@pytest.mark.parametrize("sizes, wanted", [
    ({}, []), ({"a": 1}, [["a"]]), ({"a": 6, "b": 4}, [["a", "b"]]),
    ({"a": 6, "b": 5}, [["a"], ["b"]]),
    ({"a": 11, "b": 1, "c": 9, "d": 1}, [["a"], ["b", "c"], ["d"]]),
    ({"a": 10, "b": 10}, [["a"], ["b"]]), ({"a": 3, "b": 3, "c": 3, "d": 1}, [list("abcd")])])
def test_what_fits_into_a_file(monkeypatch, sizes, wanted):
    monkeypatch.setattr(unified, "_LARGEST", 10)
    assert unified._parts(sizes) == wanted


@pytest.mark.parametrize("answer, name", [(True, "w"), (False, ""), ("v", "v"), ("", "")])
def test_names_that_a_function_chooses(answer, name):
    assert unified._chosen("w", lambda given: answer) == name
    assert unified._chosen("w", None) == "w"
    for wrong in (None, 1, b"v"):
        with pytest.raises(TypeError, match="'choice_func' must give a str or a bool"):
            unified._chosen("w", lambda given, wrong=wrong: wrong)


@pytest.mark.parametrize("files, index, wanted", [
    (["a"], None, ["a"]), (["a", "hyper_param"], None, ["a", "hyper_param"]),
    (["a", "b"], None, None),
    (["hyper_param"], None, None), ([], None, None), (["b", "a", "c"], ["c", "a"], ["a", "c"]),
    (["a", "b", "hyper_param"], ["b"], ["b", "hyper_param"])])
def test_files_of_wholes(tmp_path, files, index, wanted):
    for name in files:
        (tmp_path / f"{name}.safetensors").touch()
    (tmp_path / "a.txt").touch()
    if index:
        (tmp_path / "param_name_map.json").write_text(json.dumps({"weight_map": {
            name: f"{name}.safetensors" for name in index}}))
    if wanted is None:
        with pytest.raises(ValueError, match="must have one safetensors file, or the index"):
            unified._files_in(str(tmp_path))
    else:
        assert unified._files_in(str(tmp_path)) == [f"{name}.safetensors" for name in wanted]


@pytest.mark.parametrize("form", ["safetensors", "ckpt"])
def test_the_slices_of_one_process(folder, tmp_path, form):
    """Only its folder is written; a network gets those of its rank, or they are given back."""
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", f"{tmp_path}/wholes")
    options = {"predict_strategy": f"{folder}/strategy.ckpt",
               "unified_safetensors_dir": f"{tmp_path}/wholes"}
    for rank in (1, 0):
        load_distributed_checkpoint(None, dst_safetensors_dir=f"{tmp_path}/cut", rank_id=rank,
                                    output_format=form, **options)
        assert len(os.listdir(tmp_path / "cut")) == 2 - rank
        found = ms.load_checkpoint(f"{tmp_path}/cut/rank_{rank}/net.{form}", format=form)
        given = load_distributed_checkpoint(ms.nn.ReLU(), rank_id=rank, return_param_dict=True,
                                            **options)
        for values in (found, given):
            assert sorted(values) == ["a", "b", "c", "epoch"]
            for name, layout in LAYOUTS.items():
                np.testing.assert_array_equal(values[name].asnumpy(), slice_of(name, layout, rank))
    for rank in (None, 0):  # that of the settings
        given = load_distributed_checkpoint(ms.nn.ReLU(), rank_id=rank, return_param_dict=True,
                                            **options)
        np.testing.assert_array_equal(given["a"].asnumpy(), WHOLES["a"][:4])
    with pytest.raises(ValueError, match="'dst_safetensors_dir' must be given where 'network' is"):
        load_distributed_checkpoint(None, **options)


def test_without_a_strategy_wholes_are_given(folder, tmp_path):
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", f"{tmp_path}/wholes")
    load_distributed_checkpoint(None, unified_safetensors_dir=f"{tmp_path}/wholes",
                                dst_safetensors_dir=f"{tmp_path}/cut")
    assert os.listdir(tmp_path / "cut") == ["rank_0"]
    found = read(f"{tmp_path}/cut/rank_0/net.safetensors")
    assert sorted(found) == ["a", "b", "c", "epoch"]
    np.testing.assert_array_equal(found["c"], WHOLES["c"])


def test_parameters_that_no_strategy_names_are_left_out(folder, tmp_path):
    """But for what is no Parameter."""
    unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", f"{tmp_path}/wholes")
    given = load_distributed_checkpoint(
        ms.nn.ReLU(), predict_strategy=None, unified_safetensors_dir=f"{tmp_path}/wholes",
        name_map={"x": "a"}, return_param_dict=True)
    assert sorted(given) == ["b", "c", "epoch", "x"]
    write_strategy(f"{tmp_path}/some.json", {"x": LAYOUTS["a"]})
    given = load_distributed_checkpoint(
        ms.nn.ReLU(), predict_strategy=f"{tmp_path}/some.json", rank_id=1, name_map={"x": "a"},
        unified_safetensors_dir=f"{tmp_path}/wholes", return_param_dict=True)
    assert sorted(given) == ["epoch", "x"]
    np.testing.assert_array_equal(given["x"].asnumpy(), WHOLES["a"][4:])


def test_two_values_of_one_name_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="would both have the name 'same'"):
        unified_safetensors(f"{folder}/slices", f"{folder}/strategy.ckpt", str(tmp_path / "out"),
                            choice_func=lambda name: "same")
    assert not (tmp_path / "out").exists()
