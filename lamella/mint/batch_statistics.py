"""The parts of batch normalization over several devices: statistics, their sum, and their use."""

from __future__ import annotations

from ..core.errors import op
from ..tensors.tensor import Tensor, wrap

__all__ = ["batch_norm_elemt", "batch_norm_gather_stats_with_counts", "batch_norm_stats"]


@op
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and inverse standard deviation of each channel of (N, C, ...), in float32.

    Examples:
        >>> import lamella as ms
        >>> print(*ms.mint.batch_norm_stats(ms.Tensor([[1.0], [3.0]]), 0.0))
        [2.] [1.]
    """
    raw = input._raw.float()
    others = [d for d in range(raw.dim()) if d != 1]
    return (wrap(raw.mean(others)),
            wrap((raw.var(others, correction=0) + eps).rsqrt()))


@op
def batch_norm_gather_stats_with_counts(
        input: Tensor, mean: Tensor, invstd: Tensor, running_mean: Tensor | None = None,
        running_var: Tensor | None = None, momentum: float = 0.1, eps: float = 1e-5,
        counts: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The statistics of a whole batch from those of its parts.

    Args:
        input: gives the type of the result only.
        mean, invstd: of each part, shape (parts, C).
        running_mean, running_var: are moved towards the batch's by `momentum`, in place.
        momentum, eps: as in batch normalization.
        counts: how many elements a channel of each part has; default: as many in each.

    Examples:
        >>> import lamella as ms
        >>> mean, invstd = ms.Tensor([[1.0], [3.0]]), ms.Tensor([[1.0], [1.0]])
        >>> counts = ms.Tensor([2.0, 2.0])
        >>> print(*ms.mint.batch_norm_gather_stats_with_counts(mean, mean, invstd, counts=counts))
        [2.] [0.70710677]
    """
    means = mean._raw.float()
    weights = means.new_ones(means.shape[0]) if counts is None else counts._raw.float()
    weights = weights.reshape(-1, 1)
    total = weights.sum()
    whole = (means * weights).sum(0) / total
    squares = (invstd._raw.float() ** -2 - eps + (means - whole) ** 2) * weights
    variance = squares.sum(0) / total
    if running_mean is not None and running_var is not None:
        unbiased = variance * total / (total - 1)
        for running, value in ((running_mean, whole), (running_var, unbiased)):
            running._raw.lerp_(value.to(running._raw.dtype), momentum)
    return wrap(whole), wrap((variance + eps).rsqrt())


@op
def batch_norm_elemt(input: Tensor, weight: Tensor | None = None, bias: Tensor | None = None,
                     mean: Tensor | None = None, invstd: Tensor | None = None,
                     eps: float = 1e-5) -> Tensor:
    """``(input - mean) * invstd * weight + bias`` by channel.

    >>> import lamella as ms
    >>> one = ms.Tensor([1.0])
    >>> print(ms.mint.batch_norm_elemt(ms.Tensor([[3.0]]), one, one, one, one))
    [[3.]]
    """
    raw = input._raw
    shape = (1, -1) + (1,) * (raw.dim() - 2)
    out = raw
    if mean is not None:
        out = out - mean._raw.view(shape)
    for scale in (invstd, weight):
        if scale is not None:
            out = out * scale._raw.view(shape)
    return wrap((out if bias is None else out + bias._raw.view(shape)).to(raw.dtype))
