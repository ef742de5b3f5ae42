"""What MindSpore gives for the files that Lamella writes: makes the files of `written/`.

In Lamella's environment, `python -m tests.train.mindir.record_written write` writes a file of each
network; in one that has MindSpore 2.10,
`python tests/train/mindir/record_written.py run` loads each of them there, runs it, and keeps the
inputs and what MindSpore gave beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "written"


def _write() -> None:
    import lamella as ms

    from .networks import EXAMPLES

    FOLDER.mkdir(exist_ok=True)
    for name, example in EXAMPLES.items():
        ms.export(example.network(), *example.forms(), file_name=str(FOLDER / name),
                  file_format="MINDIR")
        np.savez_compressed(FOLDER / f"{name}.npz", **{
            f"x{at:03}": each for at, each in enumerate(example.inputs)})


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (tuple, list)):
        return [each for part in found for each in _flat(part)]
    return [found.asnumpy()]


def _run() -> None:
    import mindspore

    for path in sorted(FOLDER.glob("*.mindir")):
        with np.load(path.with_suffix(".npz")) as kept:
            given = {key: kept[key] for key in sorted(kept) if key[0] == "x"}
        net = mindspore.nn.GraphCell(mindspore.load(str(path)))
        found = _flat(net(*map(mindspore.Tensor, given.values())))
        np.savez_compressed(path.with_suffix(".npz"), **given, **{
            f"y{at:03}": each for at, each in enumerate(found)})
        print(path.stem, len(found))


if __name__ == "__main__":
    {"write": _write, "run": _run}[sys.argv[1]]()
