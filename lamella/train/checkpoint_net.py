"""Putting the parameters of a checkpoint into a network: all of them, or none when one can't be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch

from ..core import dtype as mstype
from ..core import log
from ..core.require import of_type
from ..nn.cell import Cell
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap

__all__ = ["load_param_into_net"]

_FLOATS = (torch.float16, torch.float32, torch.float64, torch.bfloat16)
_INTS = (torch.int8, torch.int16, torch.int32, torch.int64)


def load_param_into_net(net: Cell, parameter_dict: Mapping[str, Any], strict_load: bool = False,
                        remove_redundancy: bool = False) -> tuple[list[str], list[str]]:
    """Give the parameters of a network the values of those of the same names.

    Everything is checked before the first parameter changes.

    Args:
        net: the network.
        parameter_dict: Parameters by name, as `load_checkpoint` returns; texts are passed over.
        strict_load: if False, a value of another floating-point type, or another signed integer
            type, is converted; and parameters left over are looked for under a common prefix, such
            as ``"network."``, among the names that no parameter has. If True, types must be the
            same and names too.
        remove_redundancy: accepted for MindSpore's sake; one process holds everything.

    Returns:
        - the names of the network's parameters that got no value;
        - the names in `parameter_dict` that were not used.

    Raises:
        TypeError: if `net` is no Cell or `parameter_dict` no dict of Parameters.
        RuntimeError: if a shape or a type doesn't fit; the message names the parameter.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(3, 2, has_bias=False)
        >>> w = ms.Parameter(ms.Tensor([[1.0] * 3] * 2), name="weight")
        >>> ms.load_param_into_net(net, {"weight": w, "step": ms.Parameter(7, name="step")})
        ([], ['step'])
        >>> print(net.weight.sum())
        6.0
    """
    of_type(net, Cell, "net", "load_param_into_net")
    of_type(parameter_dict, dict, "parameter_dict", "load_param_into_net")
    for name, value in parameter_dict.items():
        if not isinstance(name, str) or not isinstance(value, (Parameter, str, list)):
            raise TypeError("For 'load_param_into_net', 'parameter_dict' must hold Parameters by "
                            f"name, but got {name!r}: {type(value).__name__}.")
    for name, flag in (("strict_load", strict_load), ("remove_redundancy", remove_redundancy)):
        of_type(flag, bool, name, "load_param_into_net")

    own = [parameter for _, parameter in net.parameters_and_names()]
    sources = {p.name: p.name for p in own if p.name in parameter_dict}
    if not strict_load:
        sources |= _behind_prefixes([p.name for p in own if p.name not in sources],
                                    [name for name in parameter_dict if name not in sources])
    loads = [(p, parameter_dict[sources[p.name]]) for p in own if p.name in sources]
    loads = [(p, value) for p, value in loads if isinstance(value, Parameter)]
    ready = [(p, _fitted(p, value, strict_load)) for p, value in loads]
    for parameter, raw in ready:
        _give(parameter, raw)

    missing = [p.name for p in own if p.name not in sources]
    used = {sources[p.name] for p, _ in loads}
    if missing:
        log.warning(f"For 'load_param_into_net', {len(missing)} parameters of the network are not "
                    f"in 'parameter_dict' and keep their values: {missing}.")
    return missing, [name for name in parameter_dict if name not in used]


def _behind_prefixes(missing: Iterable[str], given: Collection[str]) -> dict[str, str]:
    """For names that are in `given` only with a prefix, the names with it.

    No parameter has a name in `given`: a value that belongs to one is never another's.

    A prefix that is found for one name is tried for all before another is looked for.
    """
    left = list(missing)
    found: dict[str, str] = {}
    for name in list(left):
        if name in found:
            continue
        longer = next((other for other in given if other.endswith(name)), None)
        if longer is None:
            continue
        prefix = longer[:len(longer) - len(name)]
        log.warning(f"For 'load_param_into_net', the prefix {prefix!r} is taken off the names in "
                    "'parameter_dict'.")
        for other in left:
            if other not in found and prefix + other in given:
                found[other] = prefix + other
    return found


def _fitted(parameter: Parameter, value: Tensor, strict: bool) -> torch.Tensor:
    """The raw values for a parameter, in its shape and type."""
    raw = value.init_data()._raw
    own_type = mstype.to_raw(parameter.dtype)
    shape = tuple(raw.shape)
    rank = len(parameter.shape)
    if shape != parameter.shape and not _is_part(parameter, shape):
        # MindSpore's Ascend back end saves (12, 2048) as (12, 2048, 1, 1)
        if shape[:rank] != parameter.shape or any(n != 1 for n in shape[rank:]):
            raise RuntimeError(f"For 'load_param_into_net', parameter '{parameter.name}' has "
                               f"shape {parameter.shape} in the network, but {shape} in "
                               "'parameter_dict'.")
        raw = raw.reshape(parameter.shape)
    if raw.dtype is not own_type:
        alike = any({raw.dtype, own_type} <= set(kind) for kind in (_FLOATS, _INTS))
        if strict or not alike:
            raise RuntimeError(f"For 'load_param_into_net', parameter '{parameter.name}' has type "
                               f"{parameter.dtype} in the network, but {value.dtype} in "
                               "'parameter_dict'"
                               + (", and 'strict_load' is True." if alike else "."))
    return raw


def _is_part(parameter: Parameter, shape: tuple[int, ...]) -> bool:
    """Whether a shape is that of this process's part of a Parameter that is cut."""
    return parameter.gradient_of is not None and tuple(parameter._data.shape) == shape


def _update_param(param: Parameter, new_param: Parameter, strict_load: bool) -> None:
    """Give one parameter the value of another, with `load_param_into_net`'s checks."""
    _give(param, _fitted(param, new_param, strict_load))


def _give(parameter: Parameter, raw: torch.Tensor) -> None:
    parameter.set_data(wrap(raw), slice_shape=tuple(raw.shape) != parameter.shape)


def _load_dismatch_prefix_params(net: Cell, parameter_dict: Mapping[str, Any],
                                 param_not_load: list[str], strict_load: bool) -> None:
    """Load parameters, named in `param_not_load`, whose names in `parameter_dict` have a prefix."""
    own = net.parameters_dict()
    found = _behind_prefixes(param_not_load, [name for name in parameter_dict if name not in own])
    for _, parameter in net.parameters_and_names():
        if parameter.name in found:
            _update_param(parameter, parameter_dict[found[parameter.name]], strict_load)
            param_not_load.remove(parameter.name)
