"""Arrays described by a line of text, the same ones on every framework.

``float32[2,3]`` is eighths between -3 and 3, which every floating type holds exactly; integers
lie between -9 and 9 (from 0 where unsigned). What follows the shape changes that: ``!`` the values
at which functions do something special, ``+`` values above 0, ``^`` values that all differ,
``=1,2`` the values given, ``~`` a transposed view, ``/`` every second element of a longer array.
"""

from __future__ import annotations

import functools
import math
import re
import zlib
from typing import Any

import numpy as np

_FORM = re.compile(r"(\w+)\[([\d,]*)\]([!+^~/]*)(?:=(.*))?$")
LIMITS = {
    "float16": (65504.0, 6.104e-05),
    "bfloat16": (3.3895314e38, 1.1754944e-38),
    "float32": (3.4028235e38, 1.1754944e-38),
    "float64": (1.7976931348623157e308, 2.2250738585072014e-308),
}


def _edges(kind: str) -> list[Any]:
    """Special values of a data type."""
    if kind == "bool":
        return [True, False]
    if kind.startswith("complex"):
        return [0j, 1 + 1j, -1 + 0j, 1j, complex("inf"), complex("nan"), 2 - 3j, -0.5j]
    if "float" in kind:
        most, least = LIMITS[kind]
        return [
            float("nan"),
            float("inf"),
            -float("inf"),
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            most,
            -most,
            least,
            88.0,
            -88.0,
            2.5,
            -2.5,
            3.0,
        ]
    info = np.iinfo(kind)
    return [int(info.min), int(info.max), 0, 1, 2, 7, 100, 33, *([-1, -2, -7] if info.min else [])]


def array(text: str, name: str = "") -> np.ndarray:
    """The array of a line; that of bfloat16, which NumPy lacks, is float32."""
    return _made(text, name).copy()


@functools.lru_cache(10_000)  # many cases take the same ones
def _made(text: str, name: str) -> np.ndarray:
    form = _FORM.match(text)
    assert form, text
    kind, sizes, flags, given = form.groups()
    shape = tuple(int(n) for n in sizes.split(",") if n)
    if "~" in flags:
        shape = shape[::-1]
    if "/" in flags:
        shape = (2 * shape[0], *shape[1:])
    size = math.prod(shape)
    numpy_kind = "float32" if kind == "bfloat16" else kind
    if given is not None:
        values: Any = [
            complex(v) if "complex" in kind else float(v) if "float" in kind else int(v)
            for v in given.split(",")
            if v
        ]
    elif "!" in flags:
        values = (_edges(kind) * size)[:size]
    else:
        draw = np.random.RandomState(zlib.crc32(f"{name}{shape}".encode()))
        if kind == "bool":
            values = draw.randint(0, 2, size) == 1
        elif "float" in kind or "complex" in kind:
            values = draw.randint(-24, 25, size) / 8.0
            if "^" in flags:
                values = (draw.permutation(size) - size // 2) / 4.0
            if "+" in flags:
                values = (np.abs(values) + 0.125) / 4.0
            if "complex" in kind:
                values = values + 1j * draw.randint(-24, 25, size) / 8.0
        else:
            low = 0 if kind[0] == "u" else -9
            values = draw.randint(low, 10, size)
            if "^" in flags:
                values = draw.permutation(size) + max(low, -size // 2)
            if "+" in flags:
                values = np.abs(values) + 1
    return np.array(values, dtype=numpy_kind).reshape(shape)


def viewed(text: str, name: str = "") -> np.ndarray:
    """The array as the case sees it: transposed, or every second element."""
    data, flags = array(text, name), text.split("=")[0]
    data = data.T if "~" in flags else data
    return data[::2] if "/" in flags else data


def tensor(ms: Any, text: str, name: str = "") -> Any:
    """The Tensor of a line, in the framework `ms`."""
    data, flags = array(text, name), text.split("=")[0]
    made = ms.Tensor(data, ms.bfloat16) if text.startswith("bfloat16") else ms.Tensor(data)
    if "~" in flags:
        made = made.T
    return made[::2] if "/" in flags else made
