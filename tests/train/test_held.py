"""The file that says how the Parameters of a checkpoint are cut."""

import json

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn
from lamella.parallel.auto_parallel import AutoParallel
from lamella.train import held


@pytest.fixture
def settings():
    yield ms.set_auto_parallel_context
    ms.reset_auto_parallel_context()


def test_a_whole_value_is_its_own_part():
    for value in (ms.Parameter(1.0, name="w"), ms.Tensor([1.0]), 3, None, torch.ones(2)):
        assert held.held_part(value) is value


def test_tensors_are_written_where_the_settings_name_a_file(tmp_path, settings):
    net, path = nn.Dense(3, 2), tmp_path / "strategy.json"
    named = [*((p.name, p) for p in net.get_parameters()), ("step", 4), ("text", "x")]
    held.write_layouts(net, named)
    assert list(tmp_path.iterdir()) == []
    settings(strategy_ckpt_config={"save_file": str(path)})
    for save_obj in (net, {"w": 1}):
        held.write_layouts(save_obj, named)
        content = json.loads(path.read_text())
        assert sorted(content["parallel_layout_item"]) == ["bias", "weight"]
        assert content["current_stage"] == 0 and content["parallel_strategy_item"] == {}
        path.unlink()


def test_the_file_of_a_network_comes_before_that_of_the_settings(tmp_path, settings):
    settings(strategy_ckpt_config={"save_file": "settings.json"})
    inner = AutoParallel(nn.Dense(3, 2))
    for outer in (inner, nn.SequentialCell(nn.ReLU(), inner)):
        assert held._strategy_file(outer) == "settings.json"
    inner.save_param_strategy_file(str(tmp_path / "own.json"))
    for outer in (inner, nn.SequentialCell(nn.ReLU(), inner)):
        assert held._strategy_file(outer) == str(tmp_path / "own.json")
    assert held._strategy_file(nn.ReLU()) == held._strategy_file(np.ones(2)) == "settings.json"
