"""Runs one family on one framework and writes what each case gives, a line of JSON each.

    python -m tests.conformance.runner lamella division OUT [FIRST]

The index of a case is written to ``OUT.at`` before it starts, so that whoever reads knows at which
one the process ended. The program imports nothing but the framework and NumPy.
"""

from __future__ import annotations

import functools
import importlib
import json
import linecache
import sys
import warnings
from types import ModuleType
from typing import Any

from .arrays import tensor
from .spec import Case

# an error that says nothing about the operator: it has no CPU kernel
_NO_KERNEL = (
    "nregistered",
    "nsupported op [",
    "Select CPU operator",
    "not support CPU",
    "CPU kernel",
    "does not support this operator",
    "not supported on CPU",
    "does not support on CPU",
    "Cannot find",
    "kernel mod",
    "Get OpInfo",
    "Ascend",
    "can not find any kernel",
    "not supported in CPU",
    "support CPU",
)


_MODULE = "conformance_case"


def family(name: str) -> list[Case]:
    """The cases of a family, in order."""
    return list(importlib.import_module(f"tests.conformance.cases.{name}").CASES)


def numbers(array: Any) -> list[Any]:
    """The elements in order; what float types hold to six digits, complex numbers as pairs."""
    if array.dtype.kind == "c":
        return [[_short(v.real), _short(v.imag)] for v in array.ravel()]
    if array.dtype.kind == "f":
        return [_short(v) for v in array.ravel()]
    return (
        array.astype("int8").ravel().tolist() if array.dtype.kind == "b" else array.ravel().tolist()
    )


def _short(value: Any) -> float:
    return float(f"{float(value):.6g}")


def encode(ms: Any, result: Any) -> Any:
    """A result as JSON: a Tensor as its type and shape with its elements, a structure as a list."""
    if isinstance(result, ms.Tensor):
        kind = result.dtype
        name = str(kind).lower().replace("mindspore.", "")
        array = (result.astype(ms.float32) if name == "bfloat16" else result).asnumpy()
        return {"t": f"{name}{list(array.shape)}".replace(" ", ""), "v": numbers(array)}
    if isinstance(result, (tuple, list)):
        return [
            type(result).__name__ if type(result) in (tuple, list) else "tuple",
            *(encode(ms, part) for part in result),
        ]
    if isinstance(result, dict):
        return ["dict", *(encode(ms, [key, value]) for key, value in result.items())]
    if result is None or isinstance(result, (bool, int, float, complex, str)):
        return {
            "p": type(result).__name__,
            "r": repr(result) if not isinstance(result, float) else repr(_short(result)),
        }
    if "dtype" in type(result).__module__ or "typing" in type(result).__module__:
        return {"p": "mindspore.dtype", "r": str(result).lower().split(".")[-1]}
    return {"p": "object", "r": ""}


def shown(result: Any) -> list[Any]:
    """What is comparable of random numbers: types and shapes."""
    parts = result if isinstance(result, (tuple, list)) else (result,)
    return [(part.dtype, part.shape) for part in parts]


# what each number of a call is tried with
VALUES = (-2, -1, 0, 1, 2, 3, 40, -0.5, 0.0, 0.5, 1.0, 1.5, None, (1, 2), [1.0])


@functools.cache
def _compiled(source: str, place: str) -> Any:
    """The code of a case, which others with other inputs share."""
    return compile(source, place, "exec")


class Runner:
    """Cases on the framework that `name` imports."""

    def __init__(self, name: str):
        self.ms = ms = importlib.import_module(name)
        self.scope = {
            "ms": ms,
            "ops": ms.ops,
            "nn": ms.nn,
            "Tensor": ms.Tensor,
            "np": importlib.import_module("numpy"),
            "mnp": importlib.import_module(f"{name}.numpy"),
            "sp": importlib.import_module(f"{name}.scipy"),
            "filled": self.filled,
            "networks": importlib.import_module("tests.conformance.networks"),
            "shown": shown,
            "private": self.private,
            "taken": self.taken,
        }
        for part in ("vision", "audio", "text", "transforms"):
            self.scope[part] = importlib.import_module(f"{name}.dataset.{part}")
        self.scope["P"] = importlib.import_module(
            "mindspore.ops.operations" if name == "mindspore" else "lamella.ops"
        )

    def private(self, path: str, name: str) -> Any:
        """What has a name at a path inside of MindSpore, which Lamella keeps elsewhere."""
        places: tuple[str, ...] = (path,)
        if self.ms.__name__ != "mindspore":
            paths = importlib.import_module("lamella.compat.alias_paths")
            places = (*paths.SOURCES[path], *paths.LATER.get(path, ()))
        modules = [importlib.import_module(f"{self.ms.__name__}.{p}".rstrip(".")) for p in places]
        return next(getattr(m, name) for m in modules if hasattr(m, name))

    def taken(self, make: Any) -> list[str]:
        """For each of `VALUES`, "yes" if a call takes it, or the kind of its error.

        The second argument of `make` is a list of Parameters, new ones for each call.
        """
        found = []
        for value in VALUES:
            try:
                make(value, [self.ms.Parameter(self.ms.ops.ones((2, 3)), name="p")])
                found.append("yes")
            except Exception as error:
                found.append(type(error).__name__)
        return found

    def filled(self, cell: Any) -> Any:
        """A layer with weights that both frameworks agree on."""
        from .arrays import array

        for i, weight in enumerate(cell.get_parameters()):
            sizes = ",".join(map(str, weight.shape))
            sign = "+" if "variance" in weight.name else ""
            weight.set_data(
                self.ms.Tensor(array(f"float32[{sizes}]{sign}", f"weight{i}"), weight.dtype)
            )
        return cell

    def function(self, expression: str, names: list[str]) -> Any:
        """`expression` as a function, with a source that source-based compilers can read.

        An expression of several lines is the whole body.
        """
        lines = expression.split("\n") if "\n" in expression else [f"return {expression}"]
        source = "\n    ".join([f"def case({', '.join(names)}):", *lines]) + "\n"
        place = f"<case {expression}>"
        linecache.cache[place] = (len(source), None, source.splitlines(True), place)
        # a module of its own: MindSpore looks there for the names of functions inside of functions
        module = sys.modules[_MODULE] = ModuleType(_MODULE)
        module.__dict__.update(self.scope)
        exec(_compiled(source, place), module.__dict__)
        return module.__dict__["case"]

    def run(self, case: Case) -> Any:
        """What a case gives, encoded."""
        ms, names = self.ms, [name for name, _ in case.inputs]
        try:
            values = [tensor(ms, text, name) for name, text in case.inputs]
            function = self.function(case.expression, names)
            if case.mode == "grad":
                places = tuple(
                    i
                    for i, (_, text) in enumerate(case.inputs)
                    if "float" in text or "complex" in text
                )
                function = ms.grad(function, places if len(places) > 1 else places[0])
            elif case.mode == "graph":
                function = ms.jit(function)
            return encode(ms, function(*values))
        except Exception as error:
            text = str(error)
            if any(words in text for words in _NO_KERNEL):
                return {"e": "no kernel"}
            return {"e": type(error).__name__}

    def all(self, cases: list[Case]) -> list[Any]:
        """What all the cases give; warnings are left to other tests."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [self.run(case) for case in cases]


def main(framework: str, name: str, out: str, first: str = "0") -> None:
    cases, runner = family(name), Runner(framework)
    warnings.simplefilter("ignore")
    with open(out, "a") as results, open(f"{out}.at", "w") as at:
        for index in range(int(first), len(cases)):
            at.seek(0)
            at.write(f"{index}\n")
            at.flush()
            results.write(json.dumps([index, runner.run(cases[index])]) + "\n")
            results.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
