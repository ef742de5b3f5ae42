"""Records what MindSpore answers to calls.txt: ``python -m tests.nn.probability.record``."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.numpy.record import answer

HERE = Path(__file__).parent
RECORDED = HERE / "recorded.json.gz"
CALLS = (HERE / "calls.txt").read_text().splitlines()


def names(ms: Any, distribution: Any, bijector: Any) -> dict[str, Any]:
    """What the calls are made of."""
    return {"ms": ms, "D": distribution, "B": bijector,
            "T": lambda data, dtype="float32": ms.Tensor(data, getattr(ms, dtype))}


def recorded() -> dict[str, Any]:
    """What was recorded."""
    with gzip.open(RECORDED, "rt") as file:
        return json.load(file)


def main() -> None:
    import mindspore as ms  # pyright: ignore[reportMissingImports]
    from mindspore.nn.probability import (  # pyright: ignore[reportMissingImports]
        bijector,
        distribution,
    )

    ms.set_context(pynative_synchronize=True)  # an error is to belong to the call that made it
    found = {call: answer(call, names(ms, distribution, bijector)) for call in CALLS}
    text = json.dumps(found, separators=(",", ":")).encode()
    RECORDED.write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
