"""``coo_*`` and ``csr_*``: functions of `ops`, applied to the values of a sparse tensor.

They leave what isn't held at 0, also where the function of 0 is another number, as in MindSpore.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops
from .coo import COOTensor
from .csr import CSRTensor
from .held import Held

_NAMES = """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor inv isfinite isinf
isnan log log1p neg relu relu6 round sigmoid sin sinh softsign sqrt square tan tanh""".split()


def _of_values(name: str, prefix: str, kind: type[Held]) -> Callable[[Any], Any]:
    function = getattr(ops, name)
    full = f"{prefix}_{name}"

    def applied(x: Any) -> Any:
        if not isinstance(x, kind):
            raise TypeError(f"For '{full}', 'x' must be a {kind.__name__}, "
                            f"but got {type(x).__name__}.")
        return x.with_values(function(x.values))

    applied.__name__ = applied.__qualname__ = full
    applied.__doc__ = f"As `ops.{name}`, of the values of a {kind.__name__}."
    return applied


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    f"{prefix}_{name}": _of_values(name, prefix, kind)
    for prefix, kind in (("coo", COOTensor), ("csr", CSRTensor)) for name in _NAMES}
