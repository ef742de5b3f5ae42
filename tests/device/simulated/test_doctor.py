"""`lamella doctor` on a machine with an accelerator."""

import contextlib
import io
import json

import pytest
import torch

from lamella.commands import cli, device_check, doctor
from lamella.commands.device_check import check_device
from tests.device.simulated import target
from tests.device.simulated.target import DEVICE


def test_what_works():
    found = {one.what: one for one in check_device()}
    failed = {one.what: one.text for one in found.values() if not one.works}
    if not target.IS_REAL:  # no library exchanges its tensors
        assert "PyTorch knows no library" in failed.pop("exchange between processes")
    assert not failed
    assert len(found) == 8 and "of float64" in found["product in bfloat16"].text
    assert "of the CPU's losses" in found["compiled training step"].text


def test_a_device_that_multiplies_wrongly():
    kernel = device_check.torch.Tensor.__matmul__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "__matmul__", lambda a, b: kernel(a, b) + (
            a.device.type == DEVICE.type))
        found = {one.what: one for one in check_device()}
    assert not found["product in float32"].works
    assert "from what it should be" in found["product in float32"].text
    assert found["training step"].works


def report(as_json):
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        cli._doctor(as_json)
    return written.getvalue()


def test_the_report():
    gpu = doctor.facts()["gpu"]
    assert gpu["available"] and gpu["target"] == target.NAME
    assert f"set_device({target.NAME!r})" in doctor.advice()[0]
    assert "captured step" in report(as_json=False)
    tried = json.loads(report(as_json=True))["device"]
    assert {"what", "works", "text"} == set(tried[0])
