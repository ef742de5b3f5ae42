"""Methods with several forms: which form a call is meant for, and MindSpore's message if none fits.

MindSpore declares the forms of a method by the kinds of its arguments (`tensor_forms`), and says
of a call that fits none what each form lacks. Programs match that text. Here one function serves
all forms of a method, so a call that works pays for nothing but a look at the names of its keyword
arguments. Only when a call fails is it held against the forms.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Container
from typing import Any, NamedTuple

from ..core.dtype import Type
from ..core.errors import KERNEL_ERRORS, parts_of
from ..core.state import in_graph

_CANONICAL = {"Tuple": "tuple of int", "List": "list of int", "number": "Number", "str": "string",
              "any": "Any"}
_PRIMITIVES = {"add": "Add", "mul": "Mul", "sub": "Sub"}  # that take a form's <any>
_NUMBERS = ("bool", "int", "float", "complex")


class Parameter(NamedTuple):
    """One parameter of a form."""

    name: str
    kinds: tuple[str, ...]
    required: bool
    by_place: bool


class Form(NamedTuple):
    """One overload of a method.

    Attributes:
        text: the declaration, as messages show it.
        parameters: what it takes.
    """

    text: str
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        """What the method is called, which for an alias is its first name."""
        return self.text.partition("(")[0].rpartition(".")[2]

    @property
    def spelled_out(self) -> str:
        """The declaration with its kinds sorted and spelled out."""
        return re.sub(r"<([^>]*)>", lambda found: f"<{_sorted(found[1].split(','))}>", self.text)

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many arguments."""
        least = sum(p.required for p in self.parameters)
        return least <= count <= len(self.parameters)


def _sorted(kinds: list[str]) -> str:
    if "mstype" in kinds:
        kinds = [k for k in kinds if k != "int"]
    return ", ".join(sorted(_CANONICAL.get(k, k) for k in kinds))


def parse(declaration: str, prefix: str = "") -> Form:
    """A form from its declaration; ``?`` behind a parameter says that it may be left out.

    >>> parse("max(dim=<int>, keepdim=<bool>?)").parameters[1].required
    False
    """
    inside = declaration[declaration.index("(") + 1:-1]
    parameters, by_place = [], True
    for part in filter(None, inside.split(", ")):
        if part == "*":
            by_place = False
            continue
        name, _, kinds = part.partition("=")
        parameters.append(Parameter(name, tuple(kinds.rstrip("?").strip("<>").split(",")),
                                    not part.endswith("?"), by_place))
    return Form(prefix + declaration.replace("?", ""), tuple(parameters))


def overloaded(name: str, function: Callable[..., Any], forms: tuple[Form, ...],
               names: dict[str, str] | None = None, skip: int = 1) -> Callable[..., Any]:
    """A function with forms over a function that serves them all.

    Args:
        name: what it is called in messages.
        function: what is called.
        forms: its forms.
        names: other spellings of arguments -> those of `function`.
        skip: how many first arguments the forms leave out: 1 for a method's own tensor.

    Returns:
        A function that raises TypeError, with the message of MindSpore, if no form fits.
    """
    names = names or {}
    known: set[tuple[Any, ...]] = set()  # (count of arguments by place, *keywords) that fit a form
    counts: Container[int] = {
        n + skip for n in range(10) if any(_accepts(form, n, {}) for form in forms)}
    if any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(function).parameters.values()) \
            and any("Tuple" in p.kinds for form in forms for p in form.parameters[:1]):
        counts = range(skip + (skip not in counts), 10 ** 6)  # permute(0, 1) as permute((0, 1))

    served, most = getattr(function, "shortcut", (function, 0))
    direct, full = parts_of(served), parts_of(function)
    quick, run = direct.function, full.function

    def failed(args: Any, kwargs: Any, given: Any, error: Exception) -> Any:
        """The result of a fallback; else the error explained, or, if no form fits, refused."""
        parts = direct if not given and len(args) <= most else full
        try:
            return parts.recover(args, kwargs, error)
        except (TypeError, AttributeError, ValueError) as explained:
            meant = args[skip:]
            if isinstance(counts, range) and all(type(a) is int for a in meant):
                meant = (meant,)
            if any(_fits(form, meant, given) for form in forms):
                raise
            raise TypeError(refusal(name, forms, args[skip:], given)) from explained

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        kwargs = given
        if given:
            key = (len(args), *given)
            if key not in known:
                if not any(_accepts(form, len(args) - skip, given) for form in forms):
                    if "out" in given and given["out"] is None:  # numpy.all(x) is x.all(out=None)
                        return call(*args, **{k: v for k, v in given.items()
                                              if k not in ("out", "dtype") or v is not None})
                    raise TypeError(refusal(name, forms, args[skip:], given))
                known.add(key)
            if names:
                kwargs = {names.get(k, k): v for k, v in given.items()}
        elif len(args) not in counts:
            raise TypeError(refusal(name, forms, args[skip:], given))
        try:
            if not given and len(args) <= most:
                return quick(*args)
            return run(*args, **kwargs)
        except KERNEL_ERRORS as error:
            return failed(args, kwargs, given, error)

    return call


def shortcut(function: Callable[..., Any], most: int) -> Callable[[Any], Any]:
    """Mark a form of a function: calls of at most so many arguments, all of them by place, mean
    what they mean to `function`, which is then called at once."""
    def marked(form: Any) -> Any:
        form.shortcut = function, most
        return form

    return marked


def _accepts(form: Form, by_place: int, given: dict[str, Any]) -> bool:
    """Whether a form has these arguments, whatever they are."""
    places = [p.name for p in form.parameters if p.by_place]
    taken = {*places[:by_place], *given}
    return (by_place <= len(places) and not {*places[:by_place]} & {*given}
            and taken <= {p.name for p in form.parameters}
            and all(p.name in taken for p in form.parameters if p.required))


def _fits(form: Form, args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    return _accepts(form, len(args), given) and not _wrong(form, args, given)


def _wrong(form: Form, args: tuple[Any, ...], given: dict[str, Any]) -> list[int]:
    """Which arguments, counted from 0, are of no kind that the form takes at their place."""
    places = [p for p in form.parameters if p.by_place]
    by_name = {p.name: p for p in form.parameters}
    wanted = [places[i] if i < len(places) else None for i in range(len(args))]
    wanted += [by_name.get(k) for k in given]
    return [i for i, (p, value) in enumerate(zip(wanted, [*args, *given.values()], strict=True))
            if p is None or not any(_is(value, kind) for kind in p.kinds
                                    if kind != "int" or "mstype" not in p.kinds)]


def _is(value: Any, kind: str) -> bool:
    word = kind_of(value)
    if kind in ("Tuple", "List"):
        return isinstance(value, (tuple, list)) and all(_is(v, "int") for v in value)
    if kind == "number":
        return word in _NUMBERS or word == "Tensor" and not value.shape
    if kind == "float":
        return word in ("float", "int")
    return word == {"str": "string", "mstype": "mindspore.dtype"}.get(kind, kind)


def kind_of(value: Any) -> str:
    """What a message calls a value.

    >>> kind_of(True), kind_of("a"), kind_of([1, 2.0]), kind_of({})
    ('bool', 'string', 'List<int, float>', "<class 'dict'>")
    """
    if value is None:
        return "None"
    if hasattr(value, "_raw") and not isinstance(value, type):
        return "Tensor"
    if isinstance(value, Type):
        return "mindspore.dtype"
    if type(value) in (bool, int, float, complex):
        return type(value).__name__
    if isinstance(value, str):
        return "string"
    if isinstance(value, (list, tuple)):
        inside = ", ".join([kind_of(v) for v in value])
        return f"{'List' if isinstance(value, list) else 'Tuple'}<{inside}>"
    return str(type(value))


def refusal(name: str, forms: tuple[Form, ...], args: tuple[Any, ...],
            given: dict[str, Any]) -> str:
    """The message for a call that fits no form."""
    if "out" in given:  # as NumPy's functions call the methods of what they are given
        return (f"For 'Tensor.{name}', there is no argument 'out'. NumPy's functions don't take "
                f"Tensors: use x.{name}(), ops.{name}(x) or numpy.{name}(x.asnumpy()).")
    word = _kind_in_graphs if in_graph() else kind_of
    words = [*map(word, args), *(f"{k}={word(v)}" for k, v in given.items())]
    primitive = _PRIMITIVES.get(name)
    if (primitive and len(words) == 1 and not given and args[0] is not None
            and forms[-1].parameters[0].kinds[0] == "any"):
        takes = "(input=<Number, Tensor>, other=<Number, Tensor>)"
        return (f'Failed calling {primitive} with "{primitive}()(input=Tensor, '
                f'other={words[0]})".\nThe valid calling should be: \n"{primitive}(){takes}".\n')
    lines = [f'Failed calling {name} with "{name}({", ".join(words)})".',
             "The valid calling should be:"]
    near = [form for form in forms if form.takes(len(words))]
    meant = [form for form in near if _accepts(form, len(args), given)]
    if in_graph() and len(meant) == 1 and (only := _argument_refused(name, meant[0], args, given)):
        return only
    if not near:
        lines += [f'"{form.text}"' for form in forms] + [""]
    for form in forms if in_graph() and near else near:
        lines.append(f'"{form.text if in_graph() else form.spelled_out}"')
        lines += [_reason(form, args, given, words)] if form in near else []
    return "\n".join([*lines, ""])


def _kind_in_graphs(value: Any) -> str:
    """What a message of a graph calls a value."""
    return kind_of(value).replace("List<", "list<").replace("Tuple<", "tuple<")


def _argument_refused(name: str, form: Form, args: tuple[Any, ...], given: dict[str, Any]) -> str:
    """A graph's message for a call that means one form: its first argument of a wrong kind.

    It is "" where that argument may be of several kinds, None aside.
    """
    place = next(iter(_wrong(form, args, given)), None)
    if place is None:
        return ""
    by_name = {p.name: p for p in form.parameters}
    by_place = place < len(args)
    parameter = ([p for p in form.parameters if p.by_place][place] if by_place
                 else by_name[list(given)[place - len(args)]])
    kinds = [kind for kind in parameter.kinds if kind != "None"]
    if len(kinds) != 1:
        return ""
    value = args[place] if by_place else given[parameter.name]
    found = (f"{type(value).__name__} of Any" if isinstance(value, (list, tuple))
             else kind_of(value))
    at = f"'{parameter.name}'{f' (position {place + 1})' if by_place else ''}"
    return (f"{name}(): argument {at} must be {_CANONICAL.get(kinds[0], kinds[0])}"
            f"{', not' if by_place else ' but got'} {found}.")


def _reason(form: Form, args: tuple[Any, ...], given: dict[str, Any], words: list[str]) -> str:
    if in_graph():
        unknown = {*given} - {p.name for p in form.parameters}
        if unknown:
            first = next(name for name in given if name in unknown)
            return f"\tmatch failed because incorrect keyword name: {first}"
    elif given and form.parameters[-1].name not in given:
        return f"    match failed because incorrect keyword name: {', '.join(given)}"
    places = [p for p in form.parameters if p.by_place]
    values = {**{p.name: v for p, v in zip(places, args, strict=False)}, **given}
    for parameter in form.parameters:
        if parameter.required and values.get(parameter.name) is None:
            return f"    missing required argument: {parameter.name}"
    start = "    match failed because invalid types: ("
    wrong = {*_wrong(form, args, given), *_cast(form, args, given)}
    shown = [(i, word) for i, word in enumerate(words) if i >= len(args) or args[i] is not None]
    marks = "".join(("~" if i in wrong else " ") * (len(word) + 2) for i, word in shown)
    return f"{start}{', '.join(word for _, word in shown)})\n{' ' * len(start)}{marks}"


def _cast(form: Form, args: tuple[Any, ...], given: dict[str, Any]) -> list[int]:
    """Which arguments a form takes only after turning them into what it is declared for."""
    places = [p for p in form.parameters if p.by_place][:len(args)]
    by_name = {p.name: p for p in form.parameters}
    places += [by_name[name] for name in given if name in by_name]
    return [i for i, (p, value) in enumerate(zip(places, [*args, *given.values()], strict=False))
            if value is not None and ("Tuple" in p.kinds and not isinstance(value, tuple)
                                      or p.kinds == ("number", "Tensor")
                                      and kind_of(value) != "Tensor")]
