"""`lamella doctor` on a machine with an accelerator."""

import contextlib
import io
import json

import pytest
import torch

from lamella.commands import cli, device_check, doctor
from lamella.commands.device_check import check_device


def test_what_works():
    found = {one.what: one for one in check_device()}
    failed = {one.what: one.text for one in found.values() if not one.works}
    assert list(failed) == ["exchange between processes"]  # it has no library for that
    assert "PyTorch knows no library" in failed["exchange between processes"]
    assert len(found) == 8 and "of float64" in found["product in bfloat16"].text
    assert "of the CPU's losses" in found["compiled training step"].text


def test_a_device_that_multiplies_wrongly():
    device = torch.device("simulated", 1)
    kernel = device_check.torch.Tensor.__matmul__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "__matmul__", lambda a, b: kernel(a, b) + (
            a.device.type == device.type))
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
    assert gpu["available"] and gpu["target"] == "simulated" and len(gpu["devices"]) == 2
    assert "set_device('simulated')" in doctor.advice()[0]
    assert "captured step" in report(as_json=False)
    tried = json.loads(report(as_json=True))["device"]
    assert {"what", "works", "text"} == set(tried[0])
