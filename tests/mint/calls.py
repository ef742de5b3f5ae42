"""Calls of `mint` functions: one table that MindSpore 2.10, PyTorch and Lamella can each evaluate.

``python -m tests.mint.calls mindspore`` (with MindSpore 2.10) or ``... torch`` prints what each
call gives, as JSON. `results.json` holds MindSpore's result where it has a kernel for a CPU, else
PyTorch's, which the documentation of `mint` describes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

CALLS = """
mint.abs(x)
mint.acos(u) mint.acosh(y) mint.asin(u) mint.asinh(x) mint.atan(x) mint.atanh(u) mint.atan2(x, y)
mint.arccos(u) mint.arcsin(u) mint.arctan(x) mint.arctan2(x, y)
mint.acos(t) mint.sin(i) mint.sqrt(i) mint.exp(i) mint.log2(i) mint.tanh(t)
mint.add(x, y) mint.add(x, 2) mint.add(x, y, alpha=3) mint.add(i, 1.5) mint.add(i, x[0])
mint.sub(x, y) mint.sub(x, y, alpha=2) mint.sub(i, 2, alpha=2)
mint.mul(x, y) mint.mul(i, 2.5) mint.div(x, y) mint.div(x, 2) mint.div(i, 2)
mint.div(x, y, rounding_mode="floor") mint.div(i, 2, rounding_mode="trunc") mint.divide(x, 3)
mint.addbmm(m, b, b) mint.addmm(m, m, m, beta=2, alpha=0.5) mint.addmv(v, m, v)
mint.baddbmm(b, b, b, beta=0.5) mint.addcdiv(x, y, y, value=2) mint.addcmul(x, y, y, value=2)
mint.all(t) mint.all(t, 1) mint.any(t) mint.any(t, 0) mint.any(t, 0, True)
mint.allclose(x, x) mint.equal(x, x) mint.equal(x, y) mint.eq(x, y) mint.eq(x, 1.0)
mint.amax(x, 1) mint.amax(x) mint.amin(x, (0, 1), True) mint.max(x) mint.max(x, 1)
mint.max(x, 1, True) mint.max(x, y) mint.min(x) mint.min(x, dim=0) mint.min(x, y)
mint.argmax(x) mint.argmax(x, 1, True) mint.argmin(x) mint.argmin(x, dim=0)
mint.arange(5) mint.arange(1, 2, 0.25) mint.arange(5, dtype=f32)
mint.argsort(x) mint.argsort(x, 0, True) mint.sort(x) mint.sort(x, dim=0, descending=True)
mint.bincount(i) mint.bincount(i, v, 5) mint.bitwise_and(i, 2) mint.bitwise_or(i, i)
mint.bitwise_xor(i, 3) mint.bitwise_not(i) mint.bmm(b, b) mint.broadcast_to(v, (2, 3))
mint.cat((x, y)) mint.cat((x, y), 1) mint.cat((i, v)) mint.concat((x, y), dim=-1)
mint.cdist(x, y) mint.cdist(x, y, 1.0) mint.ceil(x) mint.chunk(v, 2) mint.chunk(x, 2, 1)
mint.clamp(x, -1, 1) mint.clamp(x, max=0.5) mint.clamp(x, y, y) mint.clip(x, 0.0, 1.0)
mint.clone(x) mint.conv2d(img, ker) mint.conv2d(img, ker, padding=1, stride=2)
mint.cos(x) mint.cosh(x) mint.cross(x, y) mint.count_nonzero(t) mint.count_nonzero(t, 1)
mint.cummax(x, 1) mint.cummin(x, 0) mint.cumprod(x, 1) mint.cumprod(i, 0) mint.cumsum(x, 0)
mint.cumsum(i, 0) mint.cumsum(t, 0) mint.cumsum(small, 0) mint.cumsum(x, 0, dtype=f64)
mint.diag(v) mint.diag(m, 1) mint.diff(x) mint.diff(x, 1, 0) mint.dot(v, v) mint.dstack((x, y))
mint.einsum("ij,kj->ik", x, y) mint.erf(x) mint.erfc(x) mint.erfinv(u) mint.exp(x) mint.exp2(x)
mint.expm1(x) mint.eye(3) mint.eye(2, 3, dtype=i32) mint.fix(x) mint.flatten(b)
mint.flatten(b, 1) mint.flip(x, (0,)) mint.float_power(x, 2) mint.floor(x)
mint.floor_divide(x, y) mint.floor_divide(x, 2) mint.fmod(x, y) mint.fmod(x, 2) mint.frac(x)
mint.full((2,), 3) mint.full((2,), 1.5) mint.full((2,), 3, dtype=f32) mint.full_like(x, 3)
mint.gather(x, 1, places) mint.gcd(i, i) mint.greater(x, y) mint.greater_equal(x, y)
mint.gt(x, 0) mint.ge(x, 0) mint.histc(x, 4, -2, 2) mint.hstack((x, y))
mint.index_add(x, 0, rows, y) mint.index_add(x, 0, rows, y, alpha=2)
mint.index_select(x, 0, rows) mint.inverse(m) mint.isclose(x, y) mint.isfinite(odd)
mint.isinf(odd) mint.isnan(odd) mint.isneginf(odd) mint.kthvalue(x, 2) mint.kthvalue(x, 1, 0, True)
mint.le(x, y) mint.lerp(x, y, 0.25) mint.lerp(x, y, y) mint.less(x, y) mint.less_equal(x, 0.5)
mint.linspace(0, 1, 5) mint.linspace(0, 10, 4, dtype=i32) mint.log(y) mint.log10(y) mint.log1p(y)
mint.logaddexp(x, y) mint.logaddexp2(x, y) mint.logical_and(t, t) mint.logical_not(x)
mint.logical_or(t, t) mint.logical_xor(t, t) mint.logsumexp(x, 1) mint.logsumexp(x, 1, True)
mint.lt(x, 1) mint.masked_select(x, x > 0) mint.matmul(x, m) mint.matmul(b, m) mint.maximum(x, y)
mint.mean(x) mint.mean(x, 1, True) mint.mean(x, dim=0, dtype=f64) mint.median(x) mint.median(x, 1)
mint.meshgrid(i, i) mint.meshgrid(i, i, indexing="xy") mint.minimum(x, y) mint.mm(x, m)
mint.mv(m, v) mint.nan_to_num(odd) mint.nan_to_num(odd, 1.0, 2.0, 3.0) mint.nansum(odd[:2])
mint.nansum(x, 1) mint.narrow(x, 1, 0, 2) mint.ne(x, y) mint.neg(x) mint.negative(i)
mint.nonzero(t) mint.norm(x) mint.norm(x, 1, 1) mint.norm(x, 2, (0, 1)) mint.norm(x, "fro")
mint.norm(x, float("inf"), 0, True) mint.norm(x, "nuc") mint.ones((2, 3)) mint.ones(2, dtype=i32)
mint.ones_like(i) mint.ones_like(x, dtype=i32) mint.outer(v, v) mint.permute(b, (2, 0, 1))
mint.polar(y, x) mint.pow(x, 2) mint.pow(2, i) mint.pow(y, x) mint.prod(x) mint.prod(x, 1)
mint.prod(i) mint.prod(i, 0, True, dtype=f32) mint.ravel(x) mint.reciprocal(x) mint.remainder(x, y)
mint.remainder(x, 2) mint.repeat_interleave(x, 2) mint.repeat_interleave(x, 2, 1)
mint.repeat_interleave(x, rows, dim=0) mint.reshape(x, (3, 2)) mint.roll(x, 1) mint.roll(x, 1, 1)
mint.round(x) mint.round(x, decimals=1) mint.rsqrt(y) mint.scatter(x, 1, places, y)
mint.scatter(x, 1, places, 9.0) mint.scatter_add(x, 1, places, y) mint.searchsorted(v, x)
mint.searchsorted(v, v, right=True) mint.select(x, 0, 1) mint.select(x, 1, -1) mint.sigmoid(x)
mint.sign(x) mint.sin(x) mint.sinc(x) mint.sinh(x) mint.softmax(x, 1) mint.softmax(x, 0, dtype=f64)
mint.split(v, 2) mint.split(x, [1, 2], 1) mint.sqrt(y) mint.square(x) mint.squeeze(x[:1], 0)
mint.stack((x, y)) mint.stack((x, y), -1) mint.std(x) mint.std(x, 1) mint.std(x, 1, correction=0)
mint.std_mean(x, dim=0, keepdim=True) mint.sum(x) mint.sum(x, 1) mint.sum(i) mint.sum(t, 0, True)
mint.sum(small) mint.swapaxes(b, 0, 2) mint.t(x) mint.t(v) mint.take(x, rows) mint.tan(x)
mint.tanh(x) mint.tile(x, (2, 1)) mint.topk(x, 2) mint.topk(x, 1, 0, False) mint.trace(m)
mint.transpose(b, 0, 2) mint.tril(m) mint.tril(m, -1) mint.triu(m, 1) mint.trunc(x)
mint.triangular_solve(m, m) mint.triangular_solve(m, m, upper=False) mint.unbind(x)
mint.unbind(x, 1) mint.unique(i) mint.unique(i, return_inverse=True, return_counts=True)
mint.unique_consecutive(i) mint.unique_consecutive(i, True, True) mint.unsqueeze(x, 1)
mint.var(x) mint.var(x, 1, correction=0) mint.var_mean(x, 1) mint.vdot(v, v) mint.where(x > 0, x, y)
mint.where(x > 0, x, 0) mint.where(t) mint.xlogy(y, y) mint.xlogy(2, y) mint.zeros((2, 3))
mint.zeros(2, dtype=i32) mint.zeros_like(x) mint.conv_tbc(b, b, v) mint.floor_divide(i, 2)
linalg.inv(m) linalg.matrix_norm(m) linalg.matrix_norm(m, 1) linalg.norm(x) linalg.norm(v, 1)
linalg.vector_norm(x) linalg.vector_norm(x, 1, dim=1, keepdim=True)
special.erfc(x) special.exp2(x) special.expm1(x) special.log1p(y) special.log_softmax(x, 1)
special.round(x) special.sinc(x)
F.adaptive_avg_pool1d(b, 2) F.adaptive_avg_pool2d(img, 2) F.adaptive_avg_pool3d(img, 2)
F.adaptive_max_pool1d(b, 2) F.adaptive_max_pool1d(b, 2, return_indices=True)
F.adaptive_max_pool2d(img, 2, return_indices=True) F.avg_pool1d(b, 2) F.avg_pool1d(b, 2, 1, 1)
F.avg_pool2d(img, 2) F.avg_pool2d(img, 3, 1, 1, True, False)
F.avg_pool2d(img, 2, divisor_override=3)
F.avg_pool3d(img, 2) F.batch_norm(x, v, v * v + 1) F.batch_norm(x, v, v * v + 1, v, v, False)
F.binary_cross_entropy(p, p) F.binary_cross_entropy(p, p, reduction="none")
F.binary_cross_entropy_with_logits(x, p) F.binary_cross_entropy_with_logits(x, p, pos_weight=v)
F.conv1d(b, b[:, :, :2]) F.conv1d(b, b[:, :, :2], v, padding=1) F.conv1d(b, b, padding="same")
F.conv2d(img, ker, padding="same") F.conv2d(img[0], ker, dilation=2, padding=(2, 2))
F.conv3d(img[None], ker[None])
F.conv_transpose2d(img, ker.swapaxes(0, 1), stride=2, output_padding=1)
F.cosine_embedding_loss(x, y, sides) F.cross_entropy(x, rows) F.cross_entropy(x, p)
F.cross_entropy(x, rows, v + 2, label_smoothing=0.1) F.dropout(x, 0.0) F.dropout(x, 0.5, False)
F.elu(x) F.elu(x, 2.0) F.embedding(rows, x) F.flatten(b) F.flatten(b, 1)
F.fold(img.reshape(1, 8, 4), (3, 3), 2) F.gelu(x) F.gelu(x, approximate="tanh") F.glu(img)
F.glu(img, 1)
F.grid_sample(img, img[:, :, :, :2], align_corners=False) F.group_norm(img, 2)
F.group_norm(img, 1, rows + 0.5, rows + 1.0) F.hardshrink(x) F.hardsigmoid(x) F.hardswish(x)
F.hardtanh(x) F.hardtanh(x, -0.5, 0.5) F.interpolate(img, scale_factor=2) F.interpolate(img, 3)
F.interpolate(img, (3, 5), mode="bilinear", align_corners=True)
F.interpolate(img, scale_factor=1.5, mode="bilinear") F.interpolate(b, 5, mode="linear")
F.interpolate(img, scale_factor=2.0, mode="bicubic") F.kl_div(x, p) F.kl_div(x, p, reduction="sum")
F.kl_div(x, y, log_target=True) F.l1_loss(x, y) F.layer_norm(x, (3,)) F.layer_norm(x, (3,), v, v)
F.leaky_relu(x) F.leaky_relu(x, 0.5) F.linear(x, x) F.linear(x, m, v) F.log_softmax(x, 1)
F.log_softmax(x, dim=0, dtype=f64) F.logsigmoid(x) F.max_pool2d(img, 2)
F.max_pool2d(img, 2, 1, 1, return_indices=True) F.mish(x) F.mse_loss(x, y)
F.mse_loss(x, y, reduction="sum") F.nll_loss(x, rows) F.nll_loss(x, rows, v, reduction="none")
F.normalize(x) F.normalize(x, 1.0, 0) F.one_hot(rows) F.one_hot(rows, 4) F.pad(x, (1, 2))
F.pad(x, (1, 2), value=3.0) F.pad(b, (1, 1), mode="circular") F.pad(b, (1, 1), mode="reflect")
F.pad(b, (1, 1), mode="replicate") F.pixel_shuffle(img.reshape(1, 4, 2, 4), 2) F.prelu(x, v)
F.relu(x) F.relu6(x * 5) F.selu(x) F.sigmoid(x) F.silu(x) F.smooth_l1_loss(x, y)
F.smooth_l1_loss(x, y, reduction="none", beta=0.5) F.soft_margin_loss(x, y) F.softmax(x, 1)
F.softmax(b, 0) F.softplus(x) F.softplus(x, 2, 1) F.softshrink(x) F.tanh(x) F.threshold(x, 0.5, 9.0)
F.unfold(img, 2) F.unfold(img, 2, padding=1, stride=2) F.upsample(img, scale_factor=2)
F.relu_(x * 1) F.elu_(x * 1) F.hardtanh_(x * 1) F.threshold_(x * 1, 0.5, 9.0)
F.silu(x * 1, inplace=True) F.relu6(x * 5, inplace=True)
"""


def calls() -> list[str]:
    """The calls, one after another: a line may hold several."""
    found: list[str] = []
    for word in " ".join(CALLS.split()).split(" "):
        if found and found[-1].count("(") > found[-1].count(")"):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def arrays() -> dict[str, Any]:
    """What the names in the calls are."""
    x = np.array([[0.5, -1.25, 2.0], [-0.75, 1.5, 0.25]], np.float32)
    image = np.linspace(-1, 1, 32, dtype=np.float32).reshape(1, 2, 4, 4) ** 3
    return {
        "x": x, "y": np.array([[1.5, 2.0, 1.25], [3.0, 1.0, 2.5]], np.float32), "u": x / 4,
        "t": np.array([[True, False], [True, True]]), "i": np.array([3, 1, 1]),
        "small": np.array([100, 100, 100], np.int8), "v": np.array([0.5, 1.0, 2.0], np.float32),
        "m": np.array([[2.0, 1.0, 0.0], [0.5, 3.0, 1.0], [1.0, 0.0, 4.0]], np.float32),
        "b": np.arange(27, dtype=np.float32).reshape(3, 3, 3) / 9 - 1, "img": image,
        "ker": image[:, :, :2, :2] + 0.5, "p": np.abs(x) / 2.5, "rows": np.array([1, 0]),
        "places": np.array([[0, 2, 1], [2, 1, 0]]), "sides": np.array([1, -1]),
        "odd": np.array([1.0, np.nan, np.inf, -np.inf], np.float32),
    }


def plain(result: Any) -> Any:
    """A result as JSON: a tensor as its type, its shape and its numbers."""
    if isinstance(result, (tuple, list)):
        return [plain(part) for part in result]
    if not hasattr(result, "dtype"):
        return result
    array = result.numpy() if not hasattr(result, "asnumpy") else result.asnumpy()
    if np.iscomplexobj(array):
        array = np.stack((array.real, array.imag), -1)
    kind = str(result.dtype).lower().removeprefix("torch.").removeprefix("mindspore.")
    return {"type": {"bool_": "bool"}.get(kind, kind), "shape": list(array.shape),
            "numbers": [n if np.isfinite(n) else str(n) for n in array.reshape(-1).tolist()]}


def space(framework: str) -> tuple[dict[str, Any], Any]:
    """The names for the calls, and a function that waits until a call is done."""
    if framework == "torch":
        import torch

        return ({"mint": torch, "F": torch.nn.functional, "linalg": torch.linalg,
                 "special": torch.special, "f32": torch.float32, "f64": torch.float64,
                 "i32": torch.int32, **{k: torch.tensor(v) for k, v in arrays().items()}},
                lambda: None)
    import importlib

    ms = importlib.import_module(framework)
    mint = importlib.import_module(f"{framework}.mint")
    names = {"mint": mint, "F": mint.nn.functional, "linalg": mint.linalg, "special": mint.special,
             "f32": ms.float32, "f64": ms.float64, "i32": ms.int32,
             **{k: ms.Tensor(v) for k, v in arrays().items()}}
    wait = ms.runtime.synchronize if framework == "mindspore" else lambda: None
    return names, wait


def main() -> None:
    """Print the results of all calls, null for those that failed."""
    results: dict[str, Any] = {}
    names, wait = space(sys.argv[1])
    for call in calls():
        try:
            result = eval(call, dict(names))
            wait()
            results[call] = plain(result)
            wait()
        except Exception as error:
            results[call] = None
            print(call, str(error).strip().split("\n")[0][:90], file=sys.stderr)
            try:
                wait()
            except Exception:  # of the call before
                print("  late error", call, file=sys.stderr)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
