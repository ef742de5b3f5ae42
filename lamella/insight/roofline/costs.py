"""The cost of a kernel: its kind, its floating-point operations, the bytes that it moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from ...core.dtype import is_inexact
from ...graph.ir.operations import tensors_in

aten = torch.ops.aten

KINDS = ("product", "convolution", "attention", "recurrent", "normalization", "reduction",
         "elementwise", "movement", "optimizer", "other")


class Cost(NamedTuple):
    """What one run of a kernel takes.

    Attributes:
        kind: one of `KINDS`.
        flops: floating-point operations; a multiplication with an addition is two.
        bytes: what it has to read and write, each input and each result once.
        dtype: of what it computes.
        forms: its inputs and results, as text.
    """

    kind: str
    flops: int
    bytes: int
    dtype: str
    forms: str


def cost_of(target: Any, args: tuple, kwargs: dict[str, Any], out: Any) -> Cost:
    """The cost of a call, from its arguments and results."""
    given, made = list(tensors_in((args, kwargs))), list(tensors_in(out))
    kind = kind_of(target)
    floats = [t.dtype for t in (*made, *given) if is_inexact(t.dtype)]
    dtype = (floats or [t.dtype for t in (*made, *given)] or [torch.float32])[0]
    counted = _flops(target, kind, args, kwargs, out, given, made)
    forms = f"{_text((args, kwargs))} → {_text(out)}"
    return Cost(kind, counted, _bytes(target, args, kwargs, given, made), str(dtype)[6:], forms)


def name_of(target: Any) -> str:
    """The name of a kernel, without its namespace and its overload."""
    schema = getattr(target, "_schema", None)
    return schema.name.split("::")[-1] if schema is not None else getattr(
        target, "__name__", str(target))


def is_free(target: Any) -> bool:
    """Whether a call computes nothing: it gives a view, empty memory, or a fact about a tensor."""
    schema = getattr(target, "_schema", None)
    name = name_of(target)
    if schema is None or name in _FREE or name.startswith("sym_"):
        return True
    if schema.is_mutable or name == "_local_scalar_dense":  # which waits for the device
        return False
    return (any(r.alias_info is not None for r in schema.returns)
            or not any("Tensor" in str(r.type) for r in schema.returns))


# empty memory, and views of which the schema doesn't say that they are
_FREE = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
         "new_empty_strided", "_unsafe_view", "t_", "transpose_", "squeeze_", "unsqueeze_", "set_",
         "_assert_async", "_assert_scalar", "_assert_tensor_metadata"}

# -- kinds -----------------------------------------------------------------------------------------

# the first one of which a word is in the kernel's name counts
_BY_WORD = (("attention", "attention"), ("rnn", "recurrent"), ("lstm", "recurrent"),
            ("gru", "recurrent"), ("winograd", "convolution"),
            ("convolution", "convolution"), ("_conv", "convolution"),
            ("batch_norm", "normalization"), ("layer_norm", "normalization"),
            ("group_norm", "normalization"), ("rms_norm", "normalization"), ("pool", "reduction"),
            ("softmax", "reduction"), ("nll_loss", "reduction"), ("_fused_sgd", "optimizer"),
            ("_fused_ada", "optimizer"), ("embedding", "movement"), ("scatter", "movement"),
            ("gather", "movement"), ("index", "movement"))
_WORDS_AFTER = (("_copy", "movement"), ("pad1d", "movement"), ("pad2d", "movement"),
                ("pad3d", "movement"), ("_loss", "elementwise"), ("_loss_forward", "elementwise"),
                ("_backward", "elementwise"))  # a gradient of something elementwise is that, too
# names without the "_" of changes in place
_NAMES = {
    "product": {"mm", "addmm", "bmm", "baddbmm", "addbmm", "_linear_pointwise", "few_rows", "mv",
                "addmv", "dot", "vdot", "addr", "_scaled_mm", "_int_mm", "_grouped_mm",
                "_addmm_activation", "linear", "matmul"},
    "movement": {"clone", "copy", "_to_copy", "cat", "stack", "constant_pad_nd", "repeat", "flip",
                 "roll", "zeros", "zeros_like", "new_zeros", "zero", "ones", "ones_like",
                 "new_ones", "full", "full_like", "new_full", "fill", "scalar_tensor",
                 "lift_fresh_copy", "arange", "linspace", "eye", "slice_backward",
                 "select_backward", "as_strided_scatter", "slice_scatter", "select_scatter",
                 "diagonal_backward", "tril", "triu", "where", "masked_fill", "masked_select",
                 "contiguous", "_foreach_copy", "_foreach_zero", "repeat_interleave", "im2col",
                 "col2im", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "rot90",
                 "block_diag", "nonzero", "diag_embed", "take", "unfold_backward", "_chunk_cat"},
    "reduction": {"sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "prod", "any",
                  "all", "var", "var_mean", "std", "std_mean", "linalg_vector_norm", "norm",
                  "logsumexp", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "topk",
                  "sort", "aminmax", "_foreach_norm", "median", "nanmedian", "mode", "kthvalue",
                  "count_nonzero", "trace", "dist", "histc", "bincount"},
    "elementwise": {"add", "sub", "mul", "div", "rsub", "remainder", "floor_divide", "abs", "eq",
                    "ne", "ge", "gt", "le", "lt", "bitwise_and", "bitwise_or", "bitwise_xor",
                    "relu", "gelu", "activation", "elu", "celu", "glu", "leaky_relu", "mish",
                    "softplus", "hardtanh", "hardswish", "hardsigmoid", "hardshrink", "softshrink",
                    "threshold", "log_sigmoid_forward", "_prelu_kernel", "_masked_scale", "isnan",
                    "isinf", "copysign", "complex", "polar", "xlogy", "binary_cross_entropy",
                    "binary_cross_entropy_with_logits"},
}
_KIND_OF_NAME = {name: kind for kind, names in _NAMES.items() for name in names}


def kind_of(target: Any) -> str:
    """The kind of a kernel."""
    name = name_of(target)
    known = _KIND_OF_NAME.get(name.removesuffix("_"))
    if known is not None:
        return known
    for word, kind in _BY_WORD:
        if word in name:
            return kind
    tags = getattr(target, "tags", ())
    if getattr(torch.Tag, "reduction", None) in tags:
        return "reduction"
    if (torch.Tag.pointwise in tags or torch.Tag.nondeterministic_seeded in tags
            or name.startswith("_foreach_")):
        return "elementwise"
    return next((kind for word, kind in _WORDS_AFTER if name.endswith(word)), "other")


# -- floating-point operations ---------------------------------------------------------------------


def _flops(target: Any, kind: str, args: tuple, kwargs: dict, out: Any,
           given: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    """By formula where there is one; else one for each element; none for moving data."""
    from torch.utils.flop_counter import flop_registry  # takes a moment to import

    name = name_of(target)
    own = _FORMULAS.get(name)
    if own is not None:
        return int(own(args, kwargs))
    formula = flop_registry.get(getattr(target, "overloadpacket", target))
    if formula is not None:
        return int(formula(*args, **kwargs, out_val=out))
    if kind == "movement":
        return 0
    if kind == "optimizer" or name.startswith("_foreach_"):
        return sum(t.numel() for t in tensors_in(args[:1]))
    return max((t.numel() for t in (*given, *made)), default=0)


def _attention(args: tuple, kwargs: dict, shift: int = 0) -> float:
    """Two products of each query with each key; under a causal mask, with those before it."""
    q, k, v = args[shift:shift + 3]
    causal = next((a for a in args[shift + 3:] if isinstance(a, bool)),
                  kwargs.get("is_causal", False))
    queries, keys = q.shape[-2], k.shape[-2]
    pairs = queries * (keys + 1) / 2 if causal else queries * keys
    return 2.0 * q.shape[:-2].numel() * pairs * (q.shape[-1] + v.shape[-1])


def _rnn_layer(args: tuple, kwargs: dict) -> float:
    """The products with the input and with the state, of all gates, at every step."""
    sequence, weights = args[0], args[1:3]
    return 2.0 * sequence.shape[:-1].numel() * sum(w.numel() for w in weights)


def _winograd(x: torch.Tensor, outputs: int, inputs: int, above: int, left: int,
              backward: bool = False) -> float:
    """The products that are really done: sixteen for each tile of 2 x 2 results."""
    sizes = [n + 2 * (2 - p if backward else p) - 2
             for n, p in zip(x.shape[2:], (above, left), strict=True)]
    return 32.0 * x.shape[0] * outputs * inputs * math.prod(-(-n // 2) for n in sizes)


_FORMULAS: dict[str, Callable[[tuple, dict], float]] = {
    "few_rows": lambda args, _: 2.0 * args[0].numel() * args[1].shape[0],
    "_linear_pointwise": lambda args, _: 2.0 * args[0].numel() * args[1].shape[0],
    "mv": lambda args, _: 2.0 * args[0].numel(),
    "addmv": lambda args, _: 2.0 * args[1].numel(),
    "dot": lambda args, _: 2.0 * args[0].numel(),
    "vdot": lambda args, _: 2.0 * args[0].numel(),
    "_int_mm": lambda args, _: 2.0 * args[0].numel() * args[1].shape[1],
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    # the products again, and four for the three gradients
    "_scaled_dot_product_flash_attention_for_cpu_backward":
        lambda args, kwargs: 2.5 * _attention(args, kwargs, shift=1),
    "attention": _attention,
    "few_queries_attention": _attention,
    "attention_backward": lambda args, kwargs: 2.5 * _attention(args, kwargs, shift=1),
    "winograd": lambda args, _: _winograd(args[0], *args[1].shape[:2], *args[2:]),
    "winograd_weights": lambda args, _: _winograd(
        args[1], args[0].shape[1], args[1].shape[1], *args[2:]),
    "mkldnn_rnn_layer": _rnn_layer,
    "mkldnn_rnn_layer_backward": lambda args, kwargs: 2 * _rnn_layer(args, kwargs),
}

# -- bytes -----------------------------------------------------------------------------------------

# the first argument is written, and not read
_OVERWRITES = {"zero_", "fill_", "copy_", "normal_", "uniform_", "random_", "bernoulli_",
               "exponential_", "_foreach_copy_", "_foreach_zero_"}
# only the requested elements of the first argument are read
_PICKS = {"embedding", "index", "index_select", "gather", "take", "nll_loss_forward",
          "nll_loss2d_forward"}
_ADDS = {"index_put_", "index_add_", "scatter_", "scatter_add_", "_index_put_impl_"}


def _bytes(target: Any, args: tuple, kwargs: dict, given: list[torch.Tensor],
           made: list[torch.Tensor]) -> int:
    name = name_of(target)
    written = list(_changed(target, args, kwargs))
    places = {id(t) for t in written}
    results = [t for t in made if id(t) not in places]
    if name in _PICKS and given:
        first, rest = given[0], given[1:]
        amount = max((t.numel() for t in (*results, *rest)), default=0) if (
            name.startswith("nll")) else sum(t.numel() for t in results)
        return amount * first.element_size() + sum(map(_size, (*rest, *results)))
    if name in _ADDS and given:  # what is changed is read and written
        values = given[2:][-1:]  # the places come before them
        return sum(map(_size, given[1:])) + 2 * sum(map(_size, values))
    reads = [t for t in given if not (id(t) in places and (
        name in _OVERWRITES or t is kwargs.get("out")))]
    return sum(map(_size, (*reads, *written, *results)))


def _changed(target: Any, args: tuple, kwargs: dict) -> Iterator[torch.Tensor]:
    schema = getattr(target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return
    for number, argument in enumerate(schema.arguments):
        if argument.name == "grads":
            continue  # of fused optimizers, which change them only where they are scaled
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield from tensors_in(args[number] if number < len(args)
                                else kwargs.get(argument.name))


def _size(t: torch.Tensor) -> int:
    """The bytes of its elements; those that repeat count once."""
    if t.layout is not torch.strided:
        return t.numel() * t.element_size()
    count = 1
    for length, stride in zip(t.shape, t.stride(), strict=True):
        count *= length if stride or not length else 1
    return count * t.element_size()


_MOST = 6  # forms that are written out


def _text(value: Any) -> str:
    forms = ["×".join(map(str, t.shape)) or "number" for t in tensors_in(value)]
    if len(forms) > _MOST:
        return f"{', '.join(forms[:_MOST])} and {len(forms) - _MOST} more"
    return ", ".join(forms)
