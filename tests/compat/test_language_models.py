"""Private names of MindSpore's that packages of language models import, and what they do here."""

import importlib

import lamella.alias
import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, dataset, nn

from ..zygote import run as python


@pytest.fixture(autouse=True)
def alias():
    was = lamella.alias.installed()
    lamella.alias.install()
    yield
    if not was:
        lamella.alias.uninstall()


def named(path, name):
    return getattr(importlib.import_module(f"mindspore.{path}"), name)


@pytest.mark.parametrize("name", ["MoeFinalizeRouting", "MoeInitRoutingV2", "MoeTokenUnpermute",
                                  "FusedAddTopKDiv", "QuantBatchMatmul", "QuantV2",
                                  "DynamicQuantExt", "Scatter", "MoeDistributeDispatch"])
def test_operators(name):
    assert issubclass(named("ops.auto_generate", name), ms.ops.Primitive)


def test_blocks_of_a_cache_move_between_host_and_device():
    swap = named("_c_expression", "swap_cache")
    host, device = (Tensor(np.arange(4.0).reshape(4, 1) + start) for start in (0, 10))
    swap(host, device, Tensor([[0, 3], [2, 1]]), True)
    assert host.reshape(4).tolist() == [0.0, 12.0, 2.0, 10.0]
    swap(host, device, Tensor([[1, 0]]), False)
    assert device.reshape(4).tolist() == [12.0, 11.0, 12.0, 13.0]


def test_parts_of_a_batch():
    part = named("nn.wrap.cell_wrapper", "_MicroBatch")(2)
    assert part(1, Tensor([1, 2, 3, 4]))[0].tolist() == [3, 4]


def test_kinds_of_sources():
    vision, text, audio = (named("dataset", f"{kind}BaseDataset")
                           for kind in ("Vision", "Text", "Audio"))
    pictures = dataset.FakeImageDataset(4, (8, 8, 3), 2)
    assert isinstance(pictures, vision) and not isinstance(pictures, (text, audio))
    assert issubclass(dataset.AGNewsDataset, text) and issubclass(dataset.GTZANDataset, audio)
    assert not isinstance(dataset.GeneratorDataset([1, 2], ["x"]), (vision, text, audio))


def test_who_saves_what():
    layouts = named("train._utils", "get_parameter_redundancy")
    shares = named("train._utils", "remove_param_redundancy")
    assert layouts(nn.Dense(2, 1)) == {"bias": ((0,),), "weight": ((0,),)}
    found = shares({"a": ((0, 1), (2, 3)), "b": ((0, 1, 2, 3),), "c": ((0, 1, 2, 3),)})
    assert found == {0: {"a"}, 2: {"a"}, 1: {"b"}, 3: {"c"}}
    twice = shares({"a": ((0, 1, 2),)}, keep_redundancy=2)
    assert twice == {0: {"a"}, 1: {"a"}}


def test_parts_by_layout():
    info = named("parallel.shard", "_DistributedTensorInfo")
    layout = ms.Layout((2, 4), ("dp", "mp"))
    assert info(layout("dp", "mp")).sharding_strategy == [2, 4]
    with pytest.raises(TypeError, match="only supports Layout"):
        info(3)


def test_what_only_ascend_has():
    assert named("common.file_system", "mindio_preload")("a.ckpt") is False
    named("common.file_system", "set_mindio_server_info")(50)
    with pytest.raises(RuntimeError, match="Ascend's hardware only"):
        named("utils", "stress_detect")()
    with pytest.raises(ValueError, match="'dump_device_local_norm' is False"):
        named("ops._grad_experimental.grad_comm_ops", "get_squared_device_local_norm_param")()
    with pytest.raises(RuntimeError, match="read by 'build_searched_strategy'"):
        named("train.node_strategy_pb2", "ParallelStrategyMap")()


def test_modules_that_programs_take_for_loaded():
    program = ("import lamella.alias; lamella.alias.install()\n"
               "import mindspore, PIL\nprint(PIL.Image.Resampling.NEAREST, PIL.ImageOps.__name__)")
    done = python("-c", program)
    assert done.stdout == "0 PIL.ImageOps\n", done.stderr


def test_scatter():
    scatter = named("ops.auto_generate", "Scatter")()
    x, index, src = Tensor([[1.0, 2.0]]), Tensor([[0, 0]]), Tensor([[3.0, 4.0]])
    assert scatter(x, 1, index, src).tolist() == [[4.0, 2.0]]
    assert scatter(x, 1, index, src, "add").tolist() == [[8.0, 2.0]]
    with pytest.raises(ValueError, match="'reduction' must be one of 'none', 'add'"):
        scatter(x, 1, index, src, "max")


def test_what_needs_graphs_of_mindspores_says_what_does_the_same():
    assert named("ops.auto_generate", "MoeDistributeCombine")().name == "MoeDistributeCombine"
    with pytest.raises(RuntimeError, match="'summary' those of each layer"):
        named("common.api", "flops_collection")("train")


def test_what_a_module_lists_is_there():
    for path in ("dataset.transforms.transforms", "dataset.vision.transforms", "ops.auto_generate"):
        module = importlib.import_module(f"mindspore.{path}")
        assert [name for name in dir(module) if not hasattr(module, name)] == []
