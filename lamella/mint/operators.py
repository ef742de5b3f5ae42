"""Operators as objects, with the names of MindSpore's generated modules, such as `matmul_ext_op`.

Programs call them to pass by the checks of the public functions. They take all arguments by
position, in the order of MindSpore's declarations; those that draw take a seed and an offset.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import mint, ops
from ..ops.primitive import primitive
from ..ops.primitives.attention import FlashAttentionScore
from ..ops.primitives.extended import DropoutExt, SliceExt
from ..tensors.random import Generator
from ..tensors.tensor import Tensor


def _generator(seed: Any, offset: Any) -> Generator:
    """The generator that the pair of a generator's step stands for."""
    return Generator().manual_seed(int(seed) + int(offset))


def _of_class(kind: Any) -> Callable[..., Any]:
    """What the objects of a class without attributes compute."""
    return lambda *inputs: kind()(*inputs)


def _bernoulli(input: Tensor, seed: Any, offset: Any) -> Tensor:
    return mint.bernoulli(input, generator=_generator(seed, offset))


def _multinomial(input: Tensor, num_samples: int, replacement: bool, seed: Any,
                 offset: Any) -> Tensor:
    return mint.multinomial(input, num_samples, replacement, generator=_generator(seed, offset))


def _randint(low: int, high: int, shape: Any, seed: Any, offset: Any, dtype: Any = None,
             device: Any = None) -> Tensor:
    return mint.randint(low, high, shape, generator=_generator(seed, offset), dtype=dtype)


def _normal_(input: Tensor, mean: Any, std: Any, seed: Any, offset: Any) -> Tensor:
    return input.normal_(mean, std, generator=_generator(seed, offset))


def _uniform_(input: Tensor, from_: Any, to: Any, seed: Any, offset: Any) -> Tensor:
    return input.uniform_(from_, to, generator=_generator(seed, offset))


def _cross_entropy(input: Tensor, target: Tensor, weight: Any, posWeight: Any,  # noqa: N803
                   reduction: str) -> Tensor:
    return mint.nn.functional.binary_cross_entropy_with_logits(
        input, target, weight, reduction, posWeight)


def _attention(query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Any:
    (*masks, head_num, keep_prob, scale_value, pre_tokens, next_tokens, inner_precise, layout,
     sparse_mode) = rest
    made = FlashAttentionScore(head_num, keep_prob, scale_value, pre_tokens, next_tokens,
                               inner_precise, layout, sparse_mode)
    return made(query, key, value, *masks)


def _nll_loss(logits: Tensor, labels: Tensor, weight: Any, reduction: str,
              ignore_index: int) -> Any:
    return ops.NLLLoss(reduction, ignore_index)(logits, labels, weight)


def _log_sigmoid(input: Tensor) -> tuple[Tensor, Tensor]:
    """The result, and what MindSpore's kernel keeps for the gradient."""
    return _F.logsigmoid(input), mint.exp(-mint.abs(input))


def _put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    return input.index_put_(indices, values, accumulate)


def _linspace(start: Any, end: Any, steps: Any, dtype: Any = None) -> Tensor:
    return mint.linspace(start, end, steps, dtype=dtype)


def _unique(input: Tensor, sorted: bool = True, return_inverse: bool = False,
            return_counts: bool = False) -> tuple[Tensor, ...]:
    """All three results, whatever is asked for."""
    return mint.unique(input, sorted, True, True)


def _unique_along(input: Tensor, sorted: bool, return_inverse: bool, dim: int
                  ) -> tuple[Tensor, ...]:
    return mint.unique(input, sorted, True, True, dim)


def _upsampled(x: Tensor, output_size: Any = None, scales: Any = None,
               align_corners: bool = False) -> Tensor:
    return _F.interpolate(x, output_size, scales, "bilinear", align_corners)


_F = mint.nn.functional

# classes of the generated modules whose objects take all arguments when they are called
_CLASSES: dict[str, Callable[..., Any]] = {
    "AvgPool2D": _F.avg_pool2d, "Embedding": _F.embedding, "ExpandDimsView": mint.unsqueeze,
    "InnerIndex": lambda input, indices: input.index(indices), "InnerInplaceIndexPut": _put,
    "InnerNonZero": lambda input: mint.nonzero(input).T, "LinSpaceExt": _linspace,
    "LogSigmoid": _log_sigmoid,
    "NewOnes": lambda input, size, dtype=None: input.new_ones(size, dtype=dtype),
    "NewZeros": lambda input, size, dtype=None: input.new_zeros(size, dtype=dtype),
    "ScatterAddExt": mint.scatter_add,
    "SliceExtView": _of_class(SliceExt), "Unique2": _unique,
    "UniqueDim": _unique_along, "UpsampleBilinear2D": _upsampled,
    "XLogYScalarOther": mint.xlogy, "XLogYScalarSelf": mint.xlogy,
}

# what a generated module calls an object, without its ending -> its class's name, what it computes
_OPERATORS: dict[str, tuple[str, Callable[..., Any]]] = {
    "bernoulli_ext_op": ("BernoulliExt", _bernoulli),
    "conv1d_ext_op": ("Conv1DExt", _F.conv1d),
    "conv1d_padding_op": ("Conv1DPadding", _F.conv1d),
    "dropout_ext_op": ("DropoutExt", _of_class(DropoutExt)),
    "embedding_op": ("Embedding", _F.embedding),
    "index_add_ext_op": ("IndexAddExt", lambda input, dim, index, source, alpha=1: (
        mint.index_add(input, dim, index, source, alpha=alpha))),
    "inplace_normal_op": ("InplaceNormal", _normal_),
    "inplace_uniform_op": ("InplaceUniform", _uniform_),
    "matmul_ext_op": ("MatMulExt", mint.matmul),
    "multinomial_ext_op": ("MultinomialExt", _multinomial),
    "randint_op": ("RandInt", _randint),
    "argmax_with_value_impl": ("ArgMaxWithValue", lambda input, axis, keep_dims: (
        input.argmax_with_value(axis, keep_dims)[::-1])),
    "argmin_with_value_impl": ("ArgMinWithValue", lambda input, axis, keep_dims: (
        input.argmin_with_value(axis, keep_dims)[::-1])),
    "binary_cross_entropy_with_logits_impl": ("BCEWithLogitsLoss", _cross_entropy),
    "concat_impl": ("Concat", mint.cat),
    "cross_impl": ("Cross", mint.cross),
    "elu_ext_impl": ("EluExt", _F.elu),
    "flash_attention_score_impl": ("FlashAttentionScore", _attention),
    "glu_impl": ("GLU", _F.glu),
    "grid_sampler_2d_impl": ("GridSampler2D", _F.grid_sample),
    "grid_sampler_3d_impl": ("GridSampler3D", _F.grid_sample),
    "isclose_impl": ("IsClose", mint.isclose),
    "meshgrid_impl": ("Meshgrid", lambda inputs, indexing: (
        ops.meshgrid(*inputs, indexing=indexing))),
    "nllloss_impl": ("NLLLoss", _nll_loss),
    "one_hot_ext_impl": ("OneHotExt", lambda tensor, num_classes, on_value, off_value, axis: (
        ops.one_hot(tensor, num_classes, on_value, off_value, axis))),
    "reduce_all_impl": ("ReduceAll", ops.all),
    "reduce_any_impl": ("ReduceAny", ops.any),
    "reduce_max_impl": ("ReduceMax", ops.amax),
    "reduce_min_impl": ("ReduceMin", ops.amin),
    "reverse_v2_impl": ("ReverseV2", ops.flip),
    "rms_norm_impl": ("RmsNorm", ops.rms_norm),
    "roll_impl": ("Roll", mint.roll),
    "softmax_impl": ("Softmax", lambda input, axis: ops.Softmax(axis)(input)),
    "squeeze_impl": ("Squeeze", ops.squeeze),
    "stack_ext_impl": ("StackExt", mint.stack),
    "triu_impl": ("Triu", mint.triu),
    "unique_consecutive_impl": ("UniqueConsecutive", mint.unique_consecutive),
}

__all__ = [*_OPERATORS, *_CLASSES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """An operator or a class of operators, made when it is first named."""
    if name in _CLASSES:
        return globals().setdefault(name, primitive(name, _CLASSES[name]))
    if name not in _OPERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    kind, function = _OPERATORS[name]
    operator: Any = primitive(kind, function)
    return globals().setdefault(name, operator())
