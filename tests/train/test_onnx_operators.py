"""Each operator that a network may use, exported to ONNX and run by ONNX Runtime.

The operators of a group are exported together, as results of one network: an export takes seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

DRAW = np.random.default_rng(3)
INPUTS = {  # what the operators are applied to, by the names of the arguments
    "x": DRAW.standard_normal((2, 3, 4)).astype(np.float32),
    "y": DRAW.standard_normal((2, 3, 4)).astype(np.float32),
    "p": DRAW.uniform(0.1, 0.9, (2, 3, 4)).astype(np.float32),
    "i": DRAW.integers(0, 3, (2, 3, 4)).astype(np.int32),
    "m": DRAW.standard_normal((2, 4, 6, 6)).astype(np.float32)}
KERNEL = Tensor(DRAW.standard_normal((4, 4, 3, 3)).astype(np.float32))
WEIGHT = Tensor(DRAW.standard_normal((5, 4)).astype(np.float32))

UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log1p log2
    neg reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc relu relu6 silu
    gelu elu selu softplus softsign hardswish hardsigmoid leaky_relu logsigmoid mish
    log_softmax softmax softmin isnan isinf isfinite zeros_like ones_like""".split()
BINARY = """add sub mul div pow maximum minimum atan2 floor_div equal not_equal less less_equal
    greater greater_equal logical_and logical_or logical_xor fmod""".split()
REDUCING = "mean sum amax amin prod argmax argmin any all logsumexp std var cumsum".split()


def of(name: str) -> Callable[..., Any]:
    return getattr(ops, name)


def domain(name: str) -> str:
    """The input that lies where a function is defined."""
    return "x" if name not in ("log", "log1p", "log2", "sqrt", "rsqrt", "acos", "asin", "atanh",
                               "acosh", "pow") else "p"


def unary(name: str) -> Callable[..., Any]:
    if name == "acosh":
        return lambda given: ops.acosh(given["p"] + 1.5)
    if name in ("softmax", "log_softmax", "softmin"):
        return lambda given: of(name)(given["x"], -1)
    return lambda given: of(name)(given[domain(name)])


def reducing(name: str) -> Callable[..., Any]:
    if name in ("any", "all"):
        return lambda given: of(name)(given["x"] > 0, 1)
    return lambda given: of(name)(given["x"], 1)


GROUPS: dict[str, dict[str, Callable[[dict[str, Tensor]], Any]]] = {
    "unary": {name: unary(name) for name in UNARY},
    "binary": {name: lambda g, name=name: of(name)(g["p"], g["y"] if name != "pow" else g["x"])
               for name in BINARY},
    "reducing": {name: reducing(name) for name in REDUCING} | {
        "max": lambda g: ops.max(g["x"], 1), "min": lambda g: ops.min(g["x"], 1),
        "norm": lambda g: ops.norm(g["x"], dim=1),
        "topk": lambda g: ops.topk(g["x"], 2), "sort": lambda g: ops.sort(g["x"]),
        "sort descending": lambda g: ops.sort(g["i"], 1, True),
        "argsort": lambda g: ops.argsort(g["x"]), "Sort": lambda g: ops.Sort(0)(g["y"]),
        "TopK": lambda g: ops.TopK(sorted=True)(g["p"], 1)},
    "shape": {
        "reshape": lambda g: ops.reshape(g["x"], (3, -1)),
        "transpose": lambda g: ops.transpose(g["x"], (2, 0, 1)),
        "expand_dims": lambda g: ops.expand_dims(g["x"], 1),
        "squeeze": lambda g: ops.squeeze(g["x"][:1], 0),
        "concat": lambda g: ops.concat((g["x"], g["y"]), 1),
        "stack": lambda g: ops.stack((g["x"], g["y"])),
        "split": lambda g: ops.split(g["x"], 2, 2), "chunk": lambda g: ops.chunk(g["x"], 2, 2),
        "unstack": lambda g: ops.unstack(g["x"]), "tile": lambda g: ops.tile(g["x"], (1, 2, 1)),
        "broadcast_to": lambda g: ops.broadcast_to(g["x"][:, :1], (2, 5, 4)),
        "flatten": lambda g: ops.flatten(g["x"]), "flip": lambda g: ops.flip(g["x"], (1,)),
        "roll": lambda g: ops.roll(g["x"], 1, 1), "pad": lambda g: ops.pad(g["x"], (1, 2)),
        "tril": lambda g: ops.tril(g["x"]), "triu": lambda g: ops.triu(g["x"]),
        "swapaxes": lambda g: ops.swapaxes(g["x"], 0, 2), "index": lambda g: g["x"][:, 1:, ::2],
        "repeat_interleave": lambda g: ops.repeat_interleave(g["x"], 2, 1),
        "meshgrid": lambda g: ops.meshgrid(g["x"][0, 0], g["x"][0, :, 0]),
        "cast": lambda g: ops.cast(g["x"], ms.int32)},
    "choosing": {
        "where": lambda g: ops.where(g["x"] > 0, g["x"], g["y"]),
        "select": lambda g: ops.select(g["x"] > 0, g["x"], g["y"]),
        "masked_fill": lambda g: ops.masked_fill(g["x"], g["x"] > 0, 7.0),
        "clamp": lambda g: ops.clamp(g["x"], -0.5, 0.5),
        "clip_by_value": lambda g: ops.clip_by_value(g["x"], -0.5, 0.5),
        "gather": lambda g: ops.gather(g["x"], g["i"][0, 0], 1),
        "gather_elements": lambda g: ops.gather_elements(g["x"], 1, g["i"][:, :2]),
        "gather_nd": lambda g: ops.gather_nd(g["x"], g["i"][0, :, :1] % 2),
        "one_hot": lambda g: ops.one_hot(g["i"], 3, Tensor(1.0), Tensor(0.0)),
        "index_select": lambda g: ops.index_select(g["x"], 1, g["i"][0, 0]),
        "tensor_scatter_elements": lambda g: ops.tensor_scatter_elements(
            g["x"], g["i"], g["y"] * 0 + 1, 1),
        "arange": lambda g: ops.arange(4) + g["i"][0, 0], "full_like": lambda g: ops.full_like(
            g["x"], 3.0)},
    "products": {
        "matmul": lambda g: ops.matmul(g["x"], g["y"].swapaxes(1, 2)),
        "bmm": lambda g: ops.bmm(g["x"], g["y"].swapaxes(1, 2)),
        "dense": lambda g: ops.dense(g["x"], WEIGHT), "operator @": lambda g: g["x"] @ WEIGHT.T,
        "einsum": lambda g: ops.einsum("bij,bkj->bik", g["x"], g["y"]),
        "tensor_dot": lambda g: ops.tensor_dot(g["x"], WEIGHT, ((2,), (1,))),
        "outer": lambda g: ops.outer(g["x"][0, 0], g["y"][0, 0]),
        "baddbmm": lambda g: ops.baddbmm(g["x"][:, :, :3], g["x"], g["y"].swapaxes(1, 2)),
        "layer_norm": lambda g: NORMED(g["x"]),
        "cross_entropy": lambda g: ops.cross_entropy(g["x"][0], g["i"][0, :, 0]),
        "mse_loss": lambda g: ops.mse_loss(g["x"], g["y"])},
    "images": {
        "conv2d": lambda g: ops.conv2d(g["m"], KERNEL),
        "conv2d same": lambda g: ops.conv2d(g["m"], KERNEL, pad_mode="same", stride=2),
        "conv2d_transpose": lambda g: TRANSPOSED(g["m"]),
        "max_pool2d": lambda g: ops.max_pool2d(g["m"], 2, 2),
        "avg_pool2d": lambda g: ops.avg_pool2d(g["m"], 2, 2),
        "adaptive_avg_pool2d": lambda g: ops.adaptive_avg_pool2d(g["m"], (1, 1)),
        "batch_norm": lambda g: NORM(g["m"]), "group_norm": lambda g: GROUPED(g["m"]),
        "instance_norm": lambda g: INSTANCE(g["m"]),
        "interpolate nearest": lambda g: ops.interpolate(g["m"], size=(12, 12), mode="nearest"),
        "interpolate bilinear": lambda g: ops.interpolate(g["m"], size=(12, 12),
                                                          mode="bilinear"),
        "pixel_shuffle": lambda g: ops.pixel_shuffle(g["m"], 2),
        "prelu": lambda g: ops.prelu(g["m"], WEIGHT[0])},
}
TRANSPOSED = nn.Conv2dTranspose(4, 2, 3)
NORM, GROUPED = nn.BatchNorm2d(4).set_train(False), nn.GroupNorm(2, 4)
NORMED = nn.LayerNorm((4,))
INSTANCE = nn.InstanceNorm2d(4)


class Net(nn.Cell):
    """Applies each operator of a group; results that are tuples are joined to one."""

    def __init__(self, group: str):
        super().__init__()
        self.calls = list(GROUPS[group].values())

    def construct(self, x: Tensor, y: Tensor, p: Tensor, i: Tensor, m: Tensor) -> tuple:
        given = {"x": x, "y": y, "p": p, "i": i, "m": m}
        return tuple(out for call in self.calls for out in flat(call(given)))


def flat(out: Any) -> tuple:
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, tuple]]:
    """What ONNX Runtime and Lamella give for each operator of a group, exported once."""
    known: dict[str, dict[str, tuple]] = {}

    def of_group(group: str) -> dict[str, tuple]:
        if group not in known:
            path = str(tmp_path_factory.mktemp("onnx") / "net.onnx")
            given = {name: Tensor(value) for name, value in INPUTS.items()}
            ms.export(Net(group), *given.values(), file_name=path, file_format="ONNX")
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            names = [one.name for one in session.get_inputs()]
            found: list[Any] = list(session.run(None, {n: INPUTS[n] for n in names}))
            known[group] = {}
            for name, call in GROUPS[group].items():
                wanted = flat(call(given))
                known[group][name] = found[:len(wanted)], wanted
                del found[:len(wanted)]
        return known[group]

    return of_group


@pytest.mark.parametrize(("group", "name"), [
    (group, name) for group, calls in GROUPS.items() for name in calls])
def test_onnx_runtime_gives_the_same(group: str, name: str, results: Any) -> None:
    found, wanted = results(group)[name]
    for got, want in zip(found, wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-4, atol=1e-5)


class Lacking(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return ops.cumprod(x, 1)


class Reading(nn.Cell):
    def construct(self, x: Tensor) -> Tensor:
        return x if float(x.sum()) > 0 else -x


def test_errors_name_the_operator_and_the_line(tmp_path: Path) -> None:
    def line_of(kind: type) -> int:
        return kind.construct.__code__.co_firstlineno + 1  # type: ignore[attr-defined]

    given = Tensor(INPUTS["x"])
    with pytest.raises(RuntimeError) as caught:
        ms.export(Lacking(), given, file_name=str(tmp_path / "a"), file_format="ONNX")
    assert f"the operator 'cumprod' ({__file__}:{line_of(Lacking)})" in str(caught.value)
    with pytest.raises(RuntimeError) as caught:
        ms.export(Reading(), given, file_name=str(tmp_path / "a"), file_format="ONNX")
    assert f"can't be recorded ({__file__}:{line_of(Reading)})" in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1 and not list(tmp_path.iterdir())


def test_inputs_are_called_as_in_construct(tmp_path: Path) -> None:
    class Several(nn.Cell):
        def construct(self, first: Tensor, *others: Tensor) -> Tensor:
            return first + others[0] * others[1]

    path, x = str(tmp_path / "net.onnx"), Tensor(INPUTS["x"])
    ms.export(Several(), x, x, x, file_name=path, file_format="ONNX")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [one.name for one in session.get_inputs()] == ["first", "others0", "others1"]
