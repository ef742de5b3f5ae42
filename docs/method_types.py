"""Writes lamella/tensors/methods.pyi: what type checkers and editors know of Tensor's methods.

    python docs/method_types.py           # writes it
    python docs/method_types.py --check   # fails if the file isn't that of today's methods

Families of operators give Tensor its methods when they are imported, which a type checker can't
follow. So the file has a line for each, with the names of its arguments.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import lamella  # noqa: E402
from lamella import Parameter, Tensor  # noqa: E402
from lamella.tensors.tensor_forms import FORMS  # noqa: E402

TARGET = Path(lamella.__file__).parent / "tensors" / "methods.pyi"
HEAD = '''"""The methods that families of operators give Tensor; `make stubs` writes this file."""

from typing import Any

from .tensor import Tensor

class TensorMethods:
    def __hash__(self) -> int: ...
'''


def given() -> dict[str, Callable[..., Any]]:
    """The methods that the class's own file doesn't have."""
    own = Path(sys.modules[Tensor.__module__].__file__ or "").read_text(encoding="utf-8")
    return {name: method for name, method in sorted(vars(Tensor).items())
            if inspect.isfunction(method) and f"    def {name}(" not in own
            and f"    {name} = " not in own}


def line(name: str, method: Callable[..., Any]) -> str:
    """The declaration of a method: with forms it takes whatever one of them takes."""
    signature = inspect.signature(method)
    gives = "Tensor" if signature.return_annotation in ("Tensor", Tensor) else "Any"
    if len(FORMS.get(name, ())) > 1:
        return f"    def {name}(self, *args: Any, **kwargs: Any) -> {gives}: ..."
    if [*signature.parameters][1:] == ["other"] and name.startswith("__"):  # of Python's syntax
        differs = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
        return f"    def {name}(self, other: Any) -> Tensor: ...{differs}"
    parts, bare = ["self"], False
    for place, parameter in enumerate(signature.parameters.values()):
        if place == 0:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not bare:
            parts, bare = [*parts, "*"], True
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}
        bare = bare or parameter.kind is parameter.VAR_POSITIONAL
        default = "" if parameter.default is parameter.empty else " = ..."
        parts.append(f"{stars.get(parameter.kind, '')}{parameter.name}: Any{default}")
    return wrapped(f"    def {name}({', '.join(parts)}) -> {gives}: ...")


def wrapped(text: str) -> str:
    """A declaration in lines of at most 100 letters."""
    indent = " " * (text.index("(") + 1)
    lines = [""]
    for part in text.split(", "):
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        if len(joined) > 98:
            lines[-1] += ","
            joined = indent + part
            lines.append("")
        lines[-1] = joined
    return "\n".join(lines)


def written() -> str:
    """The file."""
    assert Parameter  # whose module adds methods too
    return HEAD + "\n".join(line(name, method) for name, method in given().items()) + "\n"


def main() -> int:
    text = written()
    if "--check" in sys.argv[1:]:
        return int(TARGET.read_text(encoding="utf-8") != text)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
