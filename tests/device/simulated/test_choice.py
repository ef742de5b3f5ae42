"""Which device is used where a program names none, or only once."""

import os
from unittest import mock

import pytest
import torch
import torch.distributed as dist

import lamella as ms
from lamella import communication, hal, nn, ops, runtime
from lamella.communication import groups, joining, messages, rules
from lamella.device import kinds
from lamella.parallel import parts, sharding
from tests.device.simulated import target
from tests.device.simulated.target import counts

MODULE = torch.get_device_module

pytestmark = pytest.mark.skipif(target.IS_REAL, reason="these tests ask the simulated device")
NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "DEVICE_ID", "MS_SIMULATION_LEVEL")


def simulated_world():
    for name in NAMES:
        os.environ.pop(name, None)
    os.environ.update(RANK="0", WORLD_SIZE="2", MS_SIMULATION_LEVEL="0")
    communication.init()
    return groups.group_of(None, "test")


def test_the_chosen_device_is_pytorch_s_current_one():
    module = MODULE("simulated")
    assert module.current_device() == 1
    ms.set_device("simulated", 0)
    assert module.current_device() == 0
    with ms.DeviceCtx("simulated", 1):
        assert module.current_device() == 1
    assert module.current_device() == 0


def test_a_process_of_a_launcher_uses_its_own_device_only():
    backend = MODULE("simulated")._backend
    os.environ["LOCAL_RANK"] = "1"
    ms.set_device("simulated")
    assert ms.get_context("device_id") == 1
    ops.ones(3).sum()
    ms.manual_seed(3)
    ops.rand(2)
    assert backend.was_used(1) and not backend.was_used(0)
    os.environ["LOCAL_RANK"] = "4"  # of more processes than devices
    ms.set_device("simulated")
    assert ms.get_context("device_id") == 0


def test_parts_and_shards_lie_where_the_program_runs():
    ms.set_device("CPU")
    with mock.patch.object(torch.cuda, "is_available", lambda: True):
        group = simulated_world()
        assert parts.Placement(group).mesh.device_type == "cpu"
        assert sharding.mesh_here().device_type == "cpu"


def test_parts_follow_the_device():
    assert parts.Placement(simulated_world()).mesh.device_type == "simulated"


def test_exchanges_are_compared_where_a_library_carries_the_device_s_tensors():
    dist.init_process_group("cpu:gloo,cuda:gloo", store=dist.HashStore(), rank=0, world_size=1)
    assert groups.Group("world", [0], dist.group.WORLD).compares


def test_what_a_process_only_receives_lies_on_its_device():
    asked = []

    def receive(name, like, source, group, tag=0):
        asked.append(like.device)
        return like, mock.Mock()

    group = simulated_world()
    with mock.patch.object(messages, "receive", receive):
        rules.exchange_batch("test", [], [], [1], [(2,)], [torch.float32], group)
        rules.neighbors("test", [], [], [1], [(2,)], torch.float32, group)
    assert {str(device) for device in asked} == {"simulated:1"}


def test_libraries_of_exchanges():
    assert joining.library_of("cuda") == "nccl"
    with pytest.raises(RuntimeError, match="no library that exchanges tensors of 'simulated'"):
        joining.library_of("simulated")
    dist.Backend.register_backend("sccl", lambda *_: None, devices=["simulated"])
    assert joining.library_of("simulated") == "sccl"


def test_determinism_reaches_the_library_of_products():
    os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
    ms.set_deterministic(False)
    assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
    ms.set_deterministic(True)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":16:8"  # the user's own
    ms.set_deterministic(True)
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":16:8"


def test_a_device_is_known_by_its_name():
    assert hal.is_available("simulated") and hal.device_count("simulated") == 2
    assert hal.get_device_name(1, "simulated") == "Simulated device 1"
    assert tuple(ms.get_current_device()) == ("simulated", 1)
    assert ms.Tensor([1.0], device="simulated:0").device == "simulated:0"
    assert ms.Tensor([1.0]).to("CPU").device == "CPU"
    with pytest.raises(ValueError, match="simulated 2 was asked for, but this machine shows 2"):
        ms.set_device("simulated", 2)
    with pytest.raises(ValueError, match="'CPU', 'GPU' or 'Ascend', but got 'unknown'"):
        ms.set_device("unknown")


def test_an_ascend_is_one_where_its_back_end_is_there():
    """The module of `torch_npu`, of which only the names that are read are there."""
    npu = mock.Mock(is_available=lambda: True, device_count=lambda: 8)
    with mock.patch.object(torch, "npu", npu, create=True):
        assert kinds.kind_of("Ascend") == "npu" and hal.device_count("Ascend") == 8
        assert hal.is_available("Ascend") and kinds.target_of("npu") == "Ascend"
    assert kinds.kind_of("Ascend") == "cpu" and not hal.is_available("Ascend")
    xpu = mock.Mock(is_available=lambda: True, device_count=lambda: 1)
    with mock.patch.object(torch, "xpu", xpu):
        assert kinds.kind_of("GPU") == kinds.kind_of("Ascend") == "xpu"


def test_streams_and_events_are_the_device_s():
    stream = runtime.Stream()
    assert stream.raw is not None and stream != runtime.current_stream()
    with runtime.StreamCtx(stream):
        assert runtime.current_stream() == stream
        event = stream.record_event()
    event.wait()
    stream.synchronize()
    assert event.query() and stream.query()
    counts()
    runtime.synchronize()
    ms.ms_memory_recycle()
    assert counts() == {"synchronize": 1}
    assert ms.Tensor([1.0]).to("CPU").pin_memory().is_pinned()


def test_draws_are_those_of_the_device_s_generator():
    image, boxes = ms.Tensor([20, 30, 3], ms.int32), ms.Tensor([[[0.1, 0.2, 0.6, 0.8]]])
    logits, labels = ops.ones((2, 3)), ms.Tensor([[1], [2]], ms.int32)
    weights, biases = ops.ones((7, 3)), ops.zeros(7)
    draws = {
        "mask": lambda: ops.DropoutGenMask(0, 0)((40, 40), 0.5),
        "part": lambda: ops.SampleDistortedBoundingBoxV2(3, 0)(image, boxes, ms.Tensor(0.3))[2],
        "classes": lambda: nn.SampledSoftmaxLoss(3, 7, 1, seed=3)(weights, biases, labels, logits),
        "order": lambda: ops.Randperm(9)(ms.Tensor([9], ms.int32)),
    }
    for name, draw in draws.items():
        ms.set_seed(5)
        first = draw()
        torch.manual_seed(99)  # PyTorch's generators, which none of them may take
        ms.set_seed(5)
        assert first.device == "simulated:1" and (draw() == first).all(), name
