"""How many devices of each kind there are, and the settings of each."""

from __future__ import annotations

import pytest
import torch

from lamella.device import kinds
from lamella.device.device_context import ascend, cpu, gpu


@pytest.mark.parametrize("count", [0, 1, 2])
def test_devices_of_each_kind(count, monkeypatch):
    monkeypatch.setattr(kinds, "count", lambda kind: count if kind in ("cuda", "npu") else 0)
    assert cpu.is_available() and cpu.device_count() == 1
    assert gpu.device_count() == count and gpu.is_available() is (count > 0)
    assert ascend.is_available() is (count > 0)
    if count:
        assert ascend.device_count() == count
    else:
        with pytest.raises(RuntimeError, match="Ascend not exist"):
            ascend.device_count()


@pytest.mark.parametrize("setting, values, wrong", [
    (ascend.op_precision.matmul_allow_hf32, (True, False), 1),
    (ascend.op_precision.conv_allow_hf32, (True, False), 0),
    (ascend.op_tuning.op_compile, (True, False), 1),
    (ascend.op_tuning.aoe_tune_mode, ("online", "offline"), "on"),
    (ascend.op_tuning.aoe_job_type, ("1", "2"), 1)], ids=lambda v: getattr(v, "__name__", None))
def test_settings_of_ascend(setting, values, wrong):
    for value in values:
        setting(value)
        assert setting.value is value
    with pytest.raises(ValueError, match=f"For '{setting.__name__}', the value must be one of"):
        setting(wrong)
    assert setting.value is values[-1]


@pytest.mark.parametrize("place, name", [("cuda.matmul", "matmul"), ("cudnn", "conv")])
def test_how_exactly_gpus_multiply(place, name):
    its = torch.backends
    for part in place.split("."):
        its = getattr(its, part)
    set_to, before = getattr(gpu.op_precision, f"{name}_allow_tf32"), its.allow_tf32
    try:
        for value in (True, False, True):
            set_to(value)
            assert its.allow_tf32 is value
        with pytest.raises(TypeError, match=f"For '{name}_allow_tf32', the value must be a bool"):
            set_to(0)
        assert its.allow_tf32 is True
    finally:
        its.allow_tf32 = before
