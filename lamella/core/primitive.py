"""Primitive: an operator as an object, built once with its attributes and called many times."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .errors import KERNEL_ERRORS, by_fallback, explain_construction, explained_in, op
from .spreading import spreading


class InputCountError(TypeError, ValueError):
    """A Primitive was called with more or fewer inputs than it takes.

    In MindSpore 2.10 that is a ValueError if the Primitive is checked in C++, and a TypeError if it
    is a function in Python. A program that catches either catches this.
    """


_MISCOUNTED = re.compile(
    r"\bpositional arguments?\b|multiple values for argument|there must be \d+ inputs")


class Primitive:
    """An operator with attributes.

    Args:
        name: the operator's name.

    Examples:
        >>> import lamella as ms
        >>> add = ms.ops.Add()
        >>> print(add(ms.Tensor([1, 2]), ms.Tensor([3, 4])), add.name)
        [4 6] Add
    """

    __caches__ = ("_generator",)  # of random operators: made at the first use

    _attributes: tuple[str, ...] = ()  # the names of those that `add_prim_attr` has set

    if TYPE_CHECKING:  # the attributes that `add_prim_attr` sets
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, explained: bool = True) -> None:
        """Let the errors of Lamella's own primitives name them, where no operator does so."""
        call = vars(cls).get("__call__")
        if explained and call is not None and call.__module__.startswith("lamella."):
            cls.__call__ = _explaining(call)
        explain_construction(cls)

    def __init__(self, name: str):
        if not isinstance(name, str):
            raise TypeError(f"For '{type(self).__name__}', 'name' must be a str, "
                            f"but got {type(name).__name__}.")
        self.name = name
        self._attributes = ()
        self.instance_name: str | None = None

    def __call__(self, *args: Any) -> Any:
        """Compute what the operator of this name computes, with this one's attributes.

        Raises:
            NotImplementedError: if there is no operator of this name.
        """
        return _of_name(self)(*args)

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Set attribute `name` of the operator; returns the operator."""
        self.__dict__[name] = value
        if name not in self._attributes:
            self._attributes = (*self._attributes, name)
        return self

    def del_prim_attr(self, name: str) -> Primitive:
        """Take attribute `name` away; returns the operator."""
        self.__dict__.pop(name, None)
        self._attributes = tuple([kept for kept in self._attributes if kept != name])
        return self

    add_attr = add_prim_attr
    del_attr = del_prim_attr

    def set_prim_instance_name(self, name: str) -> Primitive:
        """Give this object a name of its own; returns the operator."""
        self.instance_name = name
        return self

    set_instance_name = set_prim_instance_name

    def init_prim_io_names(self, inputs: list[str], outputs: list[str]) -> None:
        """Name the inputs and outputs."""
        self.add_prim_attr("input_names", inputs)
        self.add_prim_attr("output_names", outputs)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes by name; they are kept as this object's own attributes."""
        own = self.__dict__
        return {name: own[name] for name in self._attributes if name in own}

    @attrs.setter
    def attrs(self, given: dict[str, Any]) -> None:
        self._attributes = tuple(given)
        self.__dict__.update(given)

    def get_attr_dict(self) -> dict[str, Any]:
        """The attributes by name."""
        return self.attrs

    def set_user_data(self, key: str, value: Any) -> None:
        """Keep a value of the program's own with the operator."""
        self.__dict__.setdefault("_user_data", {})[key] = value

    def get_user_data(self, key: str) -> Any:
        """What `set_user_data` kept under a name; None if nothing."""
        return self.__dict__.get("_user_data", {}).get(key)

    def place(self, role: str, rank_id: int) -> None:
        """Name the process to run on; here it is always this one."""
        self.add_prim_attr("ms_role", role).add_prim_attr("rank_id", rank_id)

    def set_device(self, device_target: str) -> Primitive:
        """Name the device to run on; the data's own device decides here. Returns the operator."""
        return self.add_prim_attr("primitive_target", device_target)

    def set_stage(self, stage: int) -> Primitive:
        """Name the pipeline stage; returns the operator."""
        return self.add_prim_attr("stage", stage)

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Set how inputs and outputs are cut over processes; returns the operator.

        It has an effect in the modes ``"semi_auto_parallel"`` and ``"auto_parallel"`` only.

        Args:
            in_strategy: for each input a tuple, in how many parts each dimension is cut, or a
                `Layout`, or None.
            out_strategy: the same for each output.
        """
        self.add_prim_attr("in_strategy", in_strategy).add_prim_attr("out_strategy", out_strategy)
        spreading().shard_operator(self)
        return self

    def recompute(self, mode: bool = True) -> Primitive:
        """Mark the operator to be computed again in the backward pass; returns the operator."""
        return self.add_prim_attr("recompute", mode)

    def __repr__(self) -> str:
        attrs = ", ".join(f"{k}={v}" for k, v in self.attrs.items())
        return f"Prim[{self.name}]<{attrs}>" if attrs else f"Prim[{self.name}]"


class PrimitiveWithInfer(Primitive):
    """The base of a program's own operators, in MindSpore's older form.

    `infer_shape` and `infer_dtype` are not called: results have their shapes and types. A class
    that computes defines ``__call__``; one whose name is that of an operator is this operator.

    Args:
        name: the operator's name.

    Examples:
        >>> import lamella as ms
        >>> class Twice(ms.ops.PrimitiveWithInfer):
        ...     @ms.ops.prim_attr_register
        ...     def __init__(self):
        ...         super().__init__("Twice")
        ...     def __call__(self, x):
        ...         return x + x
        >>> print(Twice()(ms.Tensor([1.0])))
        [2.]
    """

    def infer_shape(self, *args: Any) -> Any:
        """The results' shape, from the inputs' shapes."""

    def infer_dtype(self, *args: Any) -> Any:
        """The results' type, from the inputs' types."""

    def infer_value(self, *args: Any) -> Any:
        """The result, if it is known when the graph is made; else None."""


class PrimitiveWithCheck(Primitive):
    """As `PrimitiveWithInfer`, with checks of the inputs' shapes and types.

    Args:
        name: the operator's name.
    """

    def check_shape(self, *args: Any) -> None:
        """Check the inputs' shapes."""

    def check_dtype(self, *args: Any) -> None:
        """Check the inputs' types."""

    def infer_value(self, *args: Any) -> Any:
        """The result, if it is known when the graph is made; else None."""


def _of_name(operator: Primitive) -> Primitive:
    """The operator of the same name that computes, made with the attributes it takes."""
    kind = next((kind for kind in _kinds(Primitive) if kind.__name__ == operator.name
                 and kind.__module__.startswith("lamella.")
                 and kind.__call__ is not Primitive.__call__), None)
    if kind is None:
        raise NotImplementedError(f"The primitive '{operator.name}' defines no computation, and "
                                  f"Lamella has no operator of that name.")
    takes = inspect.signature(kind).parameters
    return kind(**{name: value for name, value in operator.attrs.items() if name in takes})


def _kinds(kind: type[Primitive]) -> Iterator[type[Primitive]]:
    for inner in kind.__subclasses__():
        yield inner
        yield from _kinds(inner)


def _explaining(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def explaining(self: Primitive, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(self, *args, **kwargs)
        except KERNEL_ERRORS as error:
            found = by_fallback(call, (self, *args), kwargs, error)
            if found.done:
                return found.value
            error = found.error or error
            explained = _counting(
                explained_in(self.name, type(self), call, (self, *args), kwargs, error))
            if explained is error:
                raise error
            raise explained from error

    return explaining


def _counting(error: Exception) -> Exception:
    """The error of a Primitive: one of its own kind if it is about the number of inputs."""
    if type(error) is not TypeError or not _MISCOUNTED.search(str(error)):
        return error
    return InputCountError(str(error))


def primitive(name: str, function: Callable[..., Any]) -> type[Primitive]:
    """A Primitive class without attributes that computes `function`.

    Its docstring shows the examples of `function`, with calls of the class's objects.

    Examples:
        >>> import lamella as ms
        >>> print(ms.ops.Square.__doc__.splitlines()[-1].strip())
        [1. 4.]
    """

    explained = function if hasattr(function, "is_op") else op(function, name)

    class _Plain(Primitive, explained=False):
        __doc__ = f"{summary(name, function)}, without attributes.{examples_of(name, function)}"

        def __init__(self):
            super().__init__(name)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            try:
                return explained(*args, **kwargs)
            except TypeError as error:
                counting = _counting(error)
                if counting is error:
                    raise
                raise counting from None

    _Plain.__name__ = _Plain.__qualname__ = name
    _Plain.__module__ = function.__module__
    return _Plain


def summary(name: str, function: Callable[..., Any]) -> str:
    """What a Primitive class that computes `function` is."""
    public = function.__name__.isidentifier() and not function.__name__.startswith("_")
    shown = f"ops.{function.__name__}" if public else name
    return f"The operator `{shown}` as an object"


def examples_of(name: str, function: Callable[..., Any]) -> str:
    """The examples in a function's docstring, with calls of ``ops.name()`` in place of its own.

    An empty text if there are none, or none that call the function as ``ops.function(...)``.
    """
    call = f"ops.{function.__name__}("
    return examples_with(call, function).replace(call, f"ops.{name}()(")


def examples_with(call: str, function: Callable[..., Any]) -> str:
    """The part of a function's docstring with its examples; empty unless these contain `call`."""
    before, heading, examples = (function.__doc__ or "").rpartition("Examples:\n")
    if not heading or call not in examples:
        return ""
    indent = before.rpartition("\n")[2]  # empty since Python 3.13
    return f"\n\n{indent}{heading}{examples.rstrip()}"
