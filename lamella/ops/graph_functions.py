"""Functions that MindSpore's compiler calls in place of Python's syntax."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from ..autodiff.recompute import recompute
from ..core.require import of_type
from ..tensors.tensor import Tensor
from .creation import zeros_like
from .primitive import Primitive

__all__ = ["PyExecute", "Reusing", "UpdateState", "embed", "env_get", "environ_add",
           "environ_create", "environ_get", "environ_set", "iter_converter", "ms_hasnext",
           "ms_next", "recompute_block", "ref_to_embed", "zip_operation"]


def zip_operation(*iterables: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
    """What `zip` gives, as a tuple.

    Args:
        *iterables: sequences; the shortest decides.

    Raises:
        TypeError: if one isn't iterable.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.zip_operation((1, 2), "ab")
        ((1, 'a'), (2, 'b'))
    """
    for one in iterables:
        _iterable(one, "zip_operation")
    return tuple(zip(*iterables, strict=False))


def iter_converter(xs: Any) -> Any:
    """What a loop over a value goes through: a dict's keys, else the value itself.

    Args:
        xs: a sequence, Tensor, dict or other iterable.

    Raises:
        TypeError: if it isn't iterable.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.iter_converter({"a": 1})
        ('a',)
    """
    if isinstance(xs, dict):
        return tuple(xs)
    if isinstance(xs, (tuple, list, str)) or isinstance(xs, Tensor) and xs.ndim:
        return xs
    return tuple(_iterable(xs, "iter_converter"))


def _iterable(value: Any, owner: str) -> Iterable[Any]:
    """A value that a loop can go through; tensors and arrays of rank 0 can't."""
    if not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        rank = " of rank 0" if isinstance(value, Iterable) else ""
        raise TypeError(f"For '{owner}', there is no loop over {type(value).__name__!r}{rank}.")
    return value


def ms_hasnext(xs: Any) -> bool:
    """Whether a loop over what `iter_converter` gave goes on.

    Args:
        xs: what is left.

    Raises:
        TypeError: if it is nothing that `iter_converter` gives.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ms_hasnext((1,)), ms.ops.ms_hasnext(())
        (True, False)
    """
    return len(of_type(xs, (tuple, list, str, Tensor), "xs", "ms_hasnext")) > 0


def ms_next(xs: Any) -> tuple[Any, Any]:
    """The first element of what `iter_converter` gave, and what is left.

    Args:
        xs: what is left so far.

    Raises:
        StopIteration: if that is nothing.
        TypeError: if it is nothing that `iter_converter` gives.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.ms_next((1, 2, 3))
        (1, (2, 3))
    """
    if not ms_hasnext(xs):
        raise StopIteration("For 'ms_next', nothing is left.")
    return xs[0], xs[1:]


def recompute_block(block: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps nothing for its gradient and computes it again, see `recompute`.

    Args:
        block: the function.

    Examples:
        >>> import lamella as ms
        >>> cube = ms.ops.recompute_block(lambda x: x * x * x)
        >>> print(ms.grad(cube)(ms.Tensor(2.0)))
        12.0
    """
    def again(*args: Any, **kwargs: Any) -> Any:
        return recompute(block, *args, **kwargs)

    return again


class Reusing(Primitive):
    """The function itself: graphs here keep a function that is called often as one already.

    Inputs:
        - **input_x** - a function.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.Reusing()(abs)(-1)
        1
    """

    def __init__(self):
        super().__init__("Reusing")

    def __call__(self, input_x: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(input_x):
            raise TypeError(f"For 'Reusing', 'input_x' must be a function, but got "
                            f"{type(input_x).__name__}.")
        return input_x


class PyExecute(Primitive):
    """The value of an expression of Python's.

    Inputs:
        - **script** - the expression, from the program, as it runs here.
        - **keys** - the names in it.
        - **values** - what they stand for.

    Raises:
        ValueError: if there aren't as many names as values.
        TypeError: if `script` is no text.
        SyntaxError: if it is no expression. Errors of the expression itself have a note that
            names it.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.PyExecute()("x + y", ("x", "y"), (ms.Tensor(1), 2)))
        3
    """

    def __init__(self):
        super().__init__("PyExecute")

    def __call__(self, script: str, keys: Iterable[str], values: Iterable[Any]) -> Any:
        of_type(script, str, "script", "PyExecute")
        keys, values = tuple(keys), tuple(values)
        if len(keys) != len(values):
            raise ValueError(f"For 'PyExecute', there must be as many 'values' as 'keys', but got "
                             f"{len(values)} and {len(keys)}.")
        try:
            code = compile(script, "<PyExecute>", "eval")
        except SyntaxError as error:
            raise SyntaxError(f"For 'PyExecute', 'script' must be an expression of Python's, but "
                              f"got {script!r}: {error.msg}.") from None
        try:
            return eval(code, {}, dict(zip(keys, values, strict=True)))
        except Exception as caught:  # the program's own, which keeps its kind and its words
            error: Any = caught
            if hasattr(error, "add_note"):  # since Python 3.11
                error.add_note(f"For 'PyExecute', this happened in 'script' {script!r}, whose "
                               f"'keys' are {keys}.")
            raise


class UpdateState(Primitive):
    """The state itself: what a program does happens in its order here.

    Inputs:
        - **value** - a state.
        - **expr** - what comes before.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.UpdateState()("state", None)
        'state'
    """

    def __init__(self):
        super().__init__("UpdateState")

    def __call__(self, value: Any, expr: Any) -> Any:
        return value


def embed(x: Any) -> int:
    """The key of a Parameter, or other object, in an environment.

    Args:
        x: the object.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor(1.0), name="w")
        >>> ms.ops.embed(w) == ms.ops.ref_to_embed(w)
        True
    """
    return id(x)


ref_to_embed = embed


def environ_create() -> dict[int, Any]:
    """An environment without values: gradients, say, by the Parameters that they are of.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.environ_create()
        {}
    """
    return {}


def environ_set(env: dict[int, Any], key: int, value: Any) -> dict[int, Any]:
    """An environment with one value more; `env` stays.

    Args:
        env: the environment.
        key: what `embed` gives.
        value: the value.

    Raises:
        TypeError: if `env` is no dict, or `key` can't be one of a dict.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.environ_set(ms.ops.environ_create(), 1, "a")
        {1: 'a'}
    """
    return {**of_type(env, dict, "env", "environ_set"),
            of_type(key, Hashable, "key", "environ_set"): value}


def environ_get(env: dict[int, Any], key: int, default: Any) -> Any:
    """The value of a key, or another where there is none.

    Args:
        env: the environment.
        key: what `embed` gives.
        default: the other.

    Raises:
        TypeError: if `env` is no dict, or `key` can't be one of a dict.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.environ_get({1: "a"}, 2, "none")
        'none'
    """
    return of_type(env, dict, "env", "environ_get").get(
        of_type(key, Hashable, "key", "environ_get"), default)


def environ_add(left: dict[int, Any], right: dict[int, Any]) -> dict[int, Any]:
    """The values of two environments, those of one key added up.

    Args:
        left, right: the environments.

    Raises:
        TypeError: if one is no dict.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.environ_add({1: 2, 3: 4}, {1: 5})
        {1: 7, 3: 4}
    """
    of_type(left, dict, "left", "environ_add")
    of_type(right, dict, "right", "environ_add")
    return {**left, **right, **{key: left[key] + right[key] for key in left.keys() & right}}


def env_get(env: dict[int, Any], parameter: Any) -> Any:
    """The value of a Parameter in an environment, or zeros like it.

    Args:
        env: the environment.
        parameter: the Parameter.

    Raises:
        TypeError: if `env` is no dict, or `key` can't be one of a dict.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> print(ms.ops.env_get({}, w))
        [0. 0.]
    """
    found = of_type(env, dict, "env", "env_get").get(embed(parameter))
    return zeros_like(parameter) if found is None else found
