"""Structures of values: tuples, lists, dicts, named tuples, dataclasses, registered classes.

Every function that differentiates or maps (`grad`, `vjp`, `jvp`, `jacrev`, `vmap`, `recompute`,
hooks, rules of the user's) takes and gives such structures. Here are functions for programs that
work on them. None is a structure without leaves; all else is a leaf.

Examples:
    >>> import lamella as ms
    >>> weights = {"w": ms.Tensor([1.0, 2.0]), "b": [ms.Tensor(3.0), None]}
    >>> gradients = ms.grad(lambda p: (p["w"] ** 2).sum() + p["b"][0])(weights)
    >>> print(ms.tree.map(lambda p, g: p - 0.5 * g, weights, gradients)["w"])
    [0. 0.]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import structures
from .structures import Kind, agree, aligned, kind_of

__all__ = ["Structure", "flatten", "leaves", "map", "register", "unflatten"]


class Structure:
    """What a structure is without its leaves; `flatten` gives it, and `unflatten` takes it."""

    def __init__(self, form: Any, count: int):
        self._form, self.num_leaves = form, count

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Structure) and _same(self._form, other._form)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Structure({self._form!r})"


class _Leaf:
    """Stands for a leaf in a `Structure`."""

    def __repr__(self) -> str:
        return "*"


_LEAF = _Leaf()


def _same(form: Any, other: Any) -> bool:
    """Whether two structures nest alike, with leaves, and with None, in the same places."""
    kind = kind_of(form)
    if kind is None or kind_of(other) is None:
        return type(form) is type(other)  # both leaves, or both None
    return agree(form, other) and all(
        _same(*parts) for parts in zip(kind.parts(form), aligned(form, other), strict=True))


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a structure, and the structure without them.

    Examples:
        >>> import lamella as ms
        >>> found, structure = ms.tree.flatten({"a": 1, "b": (2, None)})
        >>> found, structure
        ([1, 2], Structure({'a': *, 'b': (*, None)}))
        >>> ms.tree.unflatten(structure, [10, 20])
        {'a': 10, 'b': (20, None)}
    """
    found: list[Any] = []

    def take(leaf: Any) -> Any:
        if leaf is None:
            return None
        found.append(leaf)
        return _LEAF

    form = structures.mapped(take, tree)
    return found, Structure(form, len(found))


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:  # noqa: A002
    """The structure with these leaves: the inverse of `flatten`.

    Raises:
        TypeError: if `structure` is none that `flatten` gave.
        ValueError: if it has more or fewer leaves.

    Examples:
        >>> import lamella as ms
        >>> ms.tree.unflatten(ms.tree.flatten([0, [0]])[1], [1, 2])
        [1, [2]]
    """
    if not isinstance(structure, Structure):
        raise TypeError(f"For 'tree.unflatten', 'structure' must come from 'tree.flatten', "
                        f"but got {type(structure).__name__}.")
    given = list(leaves)
    if len(given) != structure.num_leaves:
        raise ValueError(f"For 'tree.unflatten', 'leaves' must hold {structure.num_leaves} leaves, "
                         f"but got {len(given)}.")
    flat = iter(given)
    return structures.mapped(lambda leaf: next(flat) if leaf is _LEAF else leaf, structure._form)


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure, in order.

    Examples:
        >>> import lamella as ms
        >>> ms.tree.leaves({"a": 1, "b": [2, (3, None)]})
        [1, 2, 3]
    """
    return [leaf for leaf in structures.leaves(tree) if leaf is not None]


def map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:  # noqa: A001
    """A structure of the results of `function` for each leaf.

    Args:
        function: takes a leaf of `tree`, and one of each of `rest`.
        tree: a structure; a leaf is one, too.
        rest: structures like `tree`. Where it has a leaf, they may have anything.

    Raises:
        ValueError: if the structures differ; it names the place.

    Examples:
        >>> import lamella as ms
        >>> ms.tree.map(lambda a, b: a * b, {"x": 2, "y": (3, 4)}, {"x": 10, "y": (100, 1000)})
        {'x': 20, 'y': (300, 4000)}
    """
    if not callable(function):
        raise TypeError(f"For 'tree.map', 'function' must be a function, "
                        f"but got {type(function).__name__}.")
    try:
        return _mapped(function, tree, rest, "")
    except RecursionError:
        for _ in structures.leaves(tree):  # whose error says so if it contains itself
            pass
        raise


def _mapped(function: Callable[..., Any], tree: Any, rest: Sequence[Any], path: str) -> Any:
    kind = kind_of(tree)
    if kind is None:
        return None if tree is None else function(tree, *rest)
    for other in rest:
        if not agree(tree, other):
            raise ValueError(f"For 'tree.map', the structures must be alike, but{path and ' at '}"
                             f"{path} one has {_about(tree, kind)} and another "
                             f"{_about(other, kind_of(other))}.")
    columns = [aligned(tree, other) for other in rest]
    parts = [_mapped(function, part, [column[i] for column in columns], path + key)
             for i, (key, part) in enumerate(zip(kind.keys(tree), kind.parts(tree), strict=True))]
    return kind.rebuild(tree, parts)


def _about(value: Any, kind: Kind | None) -> str:
    if kind is None:
        return f"a leaf of type {type(value).__name__}"
    return f"a {type(value).__name__} with {', '.join(kind.keys(value)) or 'no parts'}"


def register(cls: type, flatten: Callable[[Any], tuple[Sequence[Any], Any]],
             unflatten: Callable[[Any, Sequence[Any]], Any],
             keys: Callable[[Any], Sequence[str]] | None = None) -> type:
    """Make the objects of a class structures.

    Args:
        cls: the class; its subclasses are registered apart. A class that is registered again has
            the new functions from then on.
        flatten: takes an object and gives its parts, a sequence, and anything else that an object
            is made from, which two objects of one structure have equal.
        unflatten: takes that and new parts, and gives an object.
        keys: takes an object and gives the names of its parts, for messages.

    Returns:
        The class.

    Raises:
        TypeError: if an argument is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> class Line:
        ...     def __init__(self, slope, start, name):
        ...         self.slope, self.start, self.name = slope, start, name
        >>> _ = ms.tree.register(Line, lambda line: ((line.slope, line.start), line.name),
        ...                      lambda name, parts: Line(*parts, name))
        >>> line = Line(ms.Tensor(2.0), ms.Tensor(1.0), "a")
        >>> gradient = ms.grad(lambda line: line.slope * 3 + line.start)(line)
        >>> print(gradient.slope, gradient.start, gradient.name)
        3.0 1.0 a
    """
    if not isinstance(cls, type):
        raise TypeError(f"For 'tree.register', 'cls' must be a class, but got {cls!r}.")
    if getattr(cls, "_is_whole", False) or cls in (tuple, list, dict) or cls in structures._LEAVES:
        raise TypeError(f"For 'tree.register', 'cls' can't be {cls.__name__}: its objects are "
                        f"structures, or leaves, without registration.")
    for name, function in (("flatten", flatten), ("unflatten", unflatten), ("keys", keys)):
        if not callable(function) and not (name == "keys" and function is None):
            raise TypeError(f"For 'tree.register', '{name}' must be a function, "
                            f"but got {type(function).__name__}.")
    structures.register(cls, flatten, unflatten, keys)
    return cls
