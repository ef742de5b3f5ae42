"""What notebooks show: facts of Tensors, pictures of their elements, networks."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

import lamella as ms
from lamella import nn, ops


def picture(tensor):
    data = re.search(r"base64,([^']+)'", tensor._repr_html_()).group(1)
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))


def test_facts_of_a_tensor():
    shown = ms.Tensor([[1.0, 0.0], [-3.0, float("nan")]])._repr_html_()
    for fact in ("(2, 2)", "Float32", "-3", "-0.6667", "33.3%", "not finite"):
        assert fact in shown
    parameter = ms.Parameter(ops.ones((2, 3)), name="fc<weight>")._repr_html_()
    assert "Parameter fc&lt;weight&gt;" in parameter


def test_the_heat_map_is_red_above_zero_and_blue_below():
    colors = picture(ms.Tensor([[1.0, 0.0], [-1.0, float("nan")]]))
    assert colors.shape == (2, 2, 3)
    assert colors[0, 0].tolist() == [178, 24, 43] and colors[1, 0].tolist() == [33, 102, 172]
    assert colors[0, 1].tolist() == [247] * 3 and colors[1, 1].tolist() == [0] * 3


@pytest.mark.parametrize(("shape", "size"), [((), (1, 1)), ((5,), (1, 5)), ((3, 4, 2, 6), (2, 6)),
                                             ((1000, 100), (48, 34))])
def test_heat_maps_of_every_shape(shape, size):
    assert picture(ops.ones(shape)).shape[:2] == size


@pytest.mark.parametrize("tensor", [
    ms.Tensor([True, False]), ms.Tensor([1 + 2j]), ms.Tensor([1, 2], ms.int8),
    ms.Tensor([1.5], ms.bfloat16), ops.zeros((0, 3)), ms.Tensor([float("inf")] * 3)], ids=str)
def test_every_type_is_shown(tensor):
    assert str(tensor.dtype) in tensor._repr_html_()


def test_a_network_is_foldable():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.SequentialCell(nn.Dense(3, 1)))
    net[0].bias.requires_grad = False
    shown = net._repr_html_()
    assert shown.count("<details") == 4 and shown.count(" open>") == 1
    assert "13 parameters, 10 of them trained" in shown and "2.0.weight" in shown
    assert "input_channels=3" in shown


def test_reports_are_frames_of_their_own():
    report = ms.inspect_gradients(lambda x: x * x, ms.Tensor([1.0]))
    assert report._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
