"""Records what MindSpore answers to `calls`: ``python -m tests.numpy.record`` with MindSpore.

Each answer is a type, a shape and numbers, a list of such, a plain value, or the exception's kind.
Stored here with the functions' signatures, as compressed JSON; the tests read it and need no
MindSpore.
"""

from __future__ import annotations

import gzip
import inspect
import json
from pathlib import Path
from typing import Any

from tests.numpy.calls import all_calls

RECORDED = Path(__file__).with_name("recorded.json.gz")


def plain(result: Any) -> Any:
    """A result as JSON can hold it."""
    if isinstance(result, (tuple, list)):
        return [type(result).__name__, [plain(part) for part in result]]
    if hasattr(result, "asnumpy"):
        array = result.asnumpy()
        flat = [[x.real, x.imag] for x in array.reshape(-1).tolist()] if array.dtype.kind == "c" \
            else array.reshape(-1).tolist()
        return {"dtype": str(array.dtype), "shape": list(array.shape), "values": flat}
    return result if isinstance(result, (bool, int, float, str, type(None))) else repr(result)


def answer(call: str, names: dict[str, Any]) -> Any:
    """What one call gives, or the kind of exception it raises."""
    try:
        return plain(eval(call, dict(names)))
    except Exception as error:  # the kind is the answer
        return f"raises {type(error).__name__}"


def signatures(module: Any) -> dict[str, list[Any]]:
    """Of each public function its arguments: name, kind, default."""
    found = {}
    listed = getattr(module, "__all__", dir(module))
    for name in sorted(n for n in listed if callable(getattr(module, n, None))):
        function = getattr(module, name)
        if inspect.isfunction(function) or hasattr(function, "__wrapped__"):
            found[name] = [[p.name, p.kind.name, str(p.default)]
                           for p in inspect.signature(function).parameters.values()]
    return found


def recorded() -> dict[str, Any]:
    """What was recorded."""
    with gzip.open(RECORDED, "rt") as file:
        return json.load(file)


def main() -> None:
    import mindspore as ms  # pyright: ignore[reportMissingImports]

    ms.set_context(pynative_synchronize=True)  # an error is to belong to the call that made it
    names = {"np": ms.numpy, "T": lambda data, dtype="bool": ms.Tensor(data, getattr(ms, dtype))}
    content = {"answers": {call: answer(call, names) for call in all_calls()},
               "signatures": signatures(ms.numpy), "fft": signatures(ms.numpy.fft)}
    text = json.dumps(content, separators=(",", ":")).encode()
    RECORDED.write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
