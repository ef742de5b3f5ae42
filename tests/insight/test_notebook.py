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


def test_what_is_not_finite_is_black():
    colors = picture(ms.Tensor([[np.inf, -np.inf, np.nan], [2.0, -1.0, 0.0]]))
    assert not colors[0].any()
    assert colors[1].tolist() == [[178, 24, 43], [140, 174, 210], [247] * 3]  # half way to blue
    shown = ops.zeros((2, 2))._repr_html_() + ms.Tensor([np.nan])._repr_html_()
    assert shown.count("from -0 (blue) to 0 (red)") == 4  # twice for each


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


def elements(shape):
    return ms.Tensor(np.random.default_rng(0).standard_normal(shape), ms.float32)


@pytest.mark.parametrize(("shape", "words", "height"), [
    ((), "elements, from", 192), ((4,), "elements, from", 48), ((2, 48), "elements, from", 8),
    ((2, 96), "elements, every 1 x 2, from", 8), ((1, 48), "elements, from", 6),
    ((49, 3), "elements, every 2 x 1, from", 192), ((97, 100), "elements, every 3 x 3, from", 186),
    ((3, 4, 8), "elements[0], from", 96), ((2, 3, 4, 6), "elements[0, 0], from", 128)])
def test_what_a_heat_map_shows(shape, words, height):
    """The first of every few rows and columns, scaled by the largest of those shown."""
    tensor = elements(shape)
    values = np.atleast_2d(tensor.asnumpy()[(0,) * (len(shape) - 2)])
    rows, columns = (-(-size // 48) for size in values.shape)
    values = values[::rows, ::columns]
    most = np.abs(values).max()
    shown = tensor._repr_html_()
    assert f"{words} -{most:.3g} (blue) to {most:.3g} (red)" in shown.replace("&#x27;", "'")
    assert f"width:192px;height:{height}px" in shown
    share = values[..., None] / most
    ends = np.where(share < 0, [33, 102, 172], [178, 24, 43])
    want = 247 + np.abs(share) * (ends - 247.0)
    assert np.abs(picture(tensor) - want).max() <= 0.51


@pytest.mark.parametrize("count, is_open", [(16, True), (17, False), (0, True)])
def test_few_elements_are_unfolded(count, is_open):
    shown = ops.ones((count,))._repr_html_()
    assert ("<details open>" in shown) is is_open
    assert ("<img" in shown) is ("<table>" in shown) is (count > 0)


def test_statistics_are_numpys():
    x = np.array([0.0, 4.0, -2.0, 0.0, np.inf, -np.inf, np.nan], np.float32)
    shown, finite = ms.Tensor(x)._repr_html_(), x[:4].astype(float)
    rows = re.findall(r"<tr><td style='text-align:left'>(.*?)</td><td style='text-align:right'>"
                      r"(.*?)</td></tr>", shown)
    assert rows == [("elements", "7"), ("minimum", "-2"), ("mean", f"{finite.mean():.4g}"),
                    ("maximum", "4"), ("deviation", f"{finite.std():.4g}"), ("zeros", "50.0%"),
                    ("not finite", "3")]
    assert "not finite" not in ms.Tensor([1.0])._repr_html_()
    assert "minimum" not in ms.Tensor([float("nan")])._repr_html_()
    assert ">5</td>" in ms.Tensor([3 + 4j])._repr_html_()  # the size of a complex number
    assert "<td style='text-align:right'>12,345</td>" in ops.zeros((12345,))._repr_html_()


class Strange(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ops.ones((2, 3)), name="w", requires_grad=False)

    def extend_repr(self):
        raise RuntimeError("no words")


def test_a_table_of_parameters():
    shown = Strange()._repr_html_()
    assert "<b>Strange</b> <i>6 parameters, 0 of them trained</i>" in shown
    heads = "".join(f'<th style="text-align:{side}">{name}</th>' for side, name in (
        ("left", "parameter"), ("right", "shape"), ("right", "type"), ("right", "trained")))
    cells = "".join(f"<td style='text-align:{side}'>{value}</td>" for side, value in (
        ("left", "w"), ("right", "(2, 3)"), ("right", "Float32"), ("right", "no")))
    assert f"<table><tr>{heads}</tr><tr>{cells}</tr></table>" in shown
    trained = nn.Dense(2, 3)._repr_html_()
    assert "9 parameters</i>" in trained and ">yes</td>" in trained
    assert "<details" not in nn.ReLU()._repr_html_() and "<table>" not in nn.ReLU()._repr_html_()


def test_each_cell_has_the_table_of_its_own_parameters():
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    net.scale = ms.Parameter(ops.ones(1), name="scale")
    shown = net._repr_html_()
    for name in ("scale", "0.weight", "1.bias"):
        assert shown.count(f"'>{name}</td>") == 1
    assert shown.index("'>scale</td>") < shown.index("'>0.weight</td>")


def test_a_summary_keeps_the_spaces_that_say_what_is_inside():
    shown = ms.summary(nn.SequentialCell(nn.Dense(2, 3)), ops.ones((1, 2)))._repr_html_()
    assert "text-align:left;white-space:pre'>" in shown and "<p>" in shown
    assert "white-space" not in ops.ones(2)._repr_html_()
