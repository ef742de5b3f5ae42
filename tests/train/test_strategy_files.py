"""Strategy files that were written are read as what they were made of."""

import json
import random

import pytest

from lamella.parallel.parameter_layout import ParameterLayout
from lamella.train.strategy_files import (
    build_searched_strategy,
    layouts_of,
    merge_pipeline_strategys,
    write_strategy,
)


def layouts(seed, stage=0):
    """Layouts of Parameters whose dimensions are cut along none, one or two axes."""
    choose, found = random.Random(seed), {}
    devices = tuple(choose.choice((1, 2, 3, 256)) for _ in range(3))
    for dims in (1, 2, 3, 4):
        free = choose.sample(range(3), 3)
        axes = []
        for _ in range(dims):
            # of a vector that two axes cut, MindSpore's format can't tell it from a matrix
            many = choose.randint(0, min(len(free), 1 if dims == 1 else 2))
            axes.append(tuple(free.pop() for _ in range(many)))
        found[f"net.{dims}"] = ParameterLayout(
            devices, tuple(axes), choose.choice((0, 2, -1)), (stage,))
    return found


@pytest.mark.parametrize("form", ["json", "ckpt"])
@pytest.mark.parametrize("seed", range(6))
def test_layouts_are_read_as_written(form, seed, tmp_path):
    path = str(tmp_path / "folder" / f"strategy.{form}")
    write_strategy(path, layouts(seed))
    assert layouts_of(path) == layouts_of(dict(build_searched_strategy(path))) == layouts(seed)
    assert layouts_of(None) is None


@pytest.mark.parametrize("form", ["json", "ckpt"])
def test_stages_are_joined(form, tmp_path):
    (tmp_path / "in").mkdir()
    stages = [layouts(seed, seed) for seed in range(3)]
    shared = ParameterLayout((2, 3, 4), ((0,), (2,)))
    for stage, its in enumerate(stages):
        names = {f"{stage}.{name}": layout for name, layout in its.items()}
        if stage != 1:
            names["shared"] = shared
        for rank in range(2):  # both processes of a stage write the same
            write_strategy(str(tmp_path / "in" / f"{stage}-{rank}.{form}"), names, stage)
    merged = str(tmp_path / "out" / f"merged.{form}")
    merge_pipeline_strategys(str(tmp_path / "in"), merged)
    want = {f"{stage}.{name}": layout for stage, its in enumerate(stages)
            for name, layout in its.items()}
    assert layouts_of(merged) == want | {"shared": shared._replace(stages=(0, 2))}


def test_what_a_file_in_json_says(tmp_path):
    path = tmp_path / "s.json"
    write_strategy(str(path), {
        "a": ParameterLayout((2, 4), ((), (0,))),
        "b": ParameterLayout((2, 4), ((1, 0), ()), 2)}, 1)
    found = json.loads(path.read_text())
    assert found["current_stage"] == 1
    assert [each["stage"] for each in found["parallel_strategy_item"].values()] == [1]
    a, b = (found["parallel_layout_item"][name] for name in "ab")
    assert (a["dev_matrix"], a["tensor_map"]) == ([2, 4], [-1, 0])
    assert b["tensor_map"] == [[1, 0], [-1]]
    assert [(each["opt_weight_shard_step"], each["opt_weight_shard_size"]) for each in (a, b)] == [
        (0, 0), (1, 2)]


def test_files_without_layouts_or_of_both_forms(tmp_path):
    into = str(tmp_path / "merged.json")
    with pytest.raises(NotADirectoryError, match="not a directory"):
        merge_pipeline_strategys(str(tmp_path / "none"), into)
    with pytest.raises(ValueError, match="must be all '.ckpt' or all '.json'"):
        merge_pipeline_strategys(str(tmp_path), into)
    for form in ("json", "ckpt"):
        folder = tmp_path / form
        folder.mkdir()
        write_strategy(str(folder / f"s.{form}"), layouts(0))  # of no stage
        with pytest.raises(ValueError, match="is empty"):
            merge_pipeline_strategys(str(folder), into)
    write_strategy(str(tmp_path / "json" / "s.ckpt"), layouts(0), 0)
    with pytest.raises(ValueError, match="must be all '.ckpt' or all '.json'"):
        merge_pipeline_strategys(str(tmp_path / "json"), into)
