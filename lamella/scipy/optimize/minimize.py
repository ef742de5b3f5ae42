"""`minimize`: calls the method of minimization that its argument names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.require import of_type
from ...ops.arguments import raw_of
from ...tensors.tensor import Tensor
from .lagrange import minimize_lagrange
from .quasi_newton import minimize_bfgs, minimize_lbfgs

__all__ = ["OptimizeResults", "minimize"]


class OptimizeResults(NamedTuple):
    """What `minimize` found, with SciPy's names."""

    x: Tensor
    success: bool
    status: int
    fun: float
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


def minimize(func: Callable[..., Tensor], x0: Tensor, args: tuple = (), method: str | None = None,
             jac: Callable[..., Tensor] | None = None, hess: Any = None, hessp: Any = None,
             bounds: Any = None, constraints: Any = (), tol: Any = None, callback: Any = None,
             options: dict[str, Any] | None = None) -> Any:
    """The minimum of a function near a point.

    Args:
        func: a function of a vector, and of `args`, that gives a number.
        x0: where to start.
        args: further arguments of `func`.
        method: ``"BFGS"``, ``"LBFGS"`` or ``"LAGRANGE"``, in any case of letters.
        jac: the gradient of `func`; default: by differentiation.
        hess: not used, as in MindSpore; also `hessp`, `bounds` and `callback`.
        hessp: not used.
        bounds: not used.
        constraints: for ``"LAGRANGE"``: functions that have to be below 0.
        tol: for ``"LAGRANGE"``: what each constraint has to be below for a point to count.
        callback: not used.
        options: for BFGS and LBFGS `maxiter`, `norm`, `gtol`, `line_search_maxiter` and
            (LBFGS) `history_size`; for LAGRANGE `save_tol` (as `tol`), `obj_weight`, `lower`,
            `upper`, `learning_rate`, `coincide_fun` (also `coincide_func`), `rounds`, `steps`,
            `log_sw`.

    Returns:
        a named tuple: `x`, `success`, `status`, `fun`, `jac`, `hess_inv`, `nfev`, `njev`, `nit`;
        of LAGRANGE `succeeded`, `best_value`, `object_value`, `loss_value`.

    Raises:
        TypeError: if `args` is no tuple, or `func` or a constraint can't be called.
        ValueError: if `method` is None or another, or there isn't one tolerance a constraint.

    Examples:
        >>> import lamella as ms
        >>> def func(p):
        ...     return (p[0] - 3) ** 2 + (p[1] + 1) ** 2
        >>> print(ms.scipy.optimize.minimize(func, ms.Tensor([0.0, 0.0]), method="BFGS").x)
        [ 3. -1.]
    """
    if method is None:
        raise ValueError("You must specify a solver.")
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to mindspore.scipy.optimize.minimize must be a tuple, "
                        f"got {args}")
    of_type(method, str, "method", "minimize")
    raw_of(x0, "minimize", "x0")
    options = dict(options or {})

    def of_place(function: Any) -> Any:
        return function if function is None or not args else lambda x: function(x, *args)

    kind = method.lower()
    if kind == "lagrange":
        return _constrained(of_place(func), x0, constraints, tol, options)
    if kind not in ("bfgs", "lbfgs"):
        raise ValueError(f"Method {method} not recognized")
    search = minimize_bfgs if kind == "bfgs" else minimize_lbfgs
    found = search(of_place(func), x0, of_place(jac), **options)
    return OptimizeResults(found.x, found.converged, found.status, found.value, found.gradient,
                           found.curvature.matrix if kind == "bfgs" else None, found.evaluations,
                           found.evaluations, found.steps)


def _constrained(func: Any, x0: Tensor, constraints: Any, tol: Any, options: dict[str, Any]) -> Any:
    if "coincide_func" in options:
        options["coincide_fun"] = options.pop("coincide_func")
    for name, function in (("func", func), *(("constraint", c) for c in constraints),
                           *((k, options[k]) for k in ("coincide_fun",) if options.get(k))):
        if not callable(function):
            raise TypeError(f"'{name}' must be of type function, but got {type(function)}")
    tolerances = options.pop("save_tol", None) if tol is None else tol
    if tolerances is not None and len(tolerances) != len(constraints):
        raise ValueError("The len of tol must be same as the len of constraints")
    return minimize_lagrange(func, x0, constraints, tolerances, **options)
