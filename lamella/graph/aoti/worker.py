"""The process that compiles a graph: ``python -m lamella.graph.aoti.worker FOLDER``.

The folder holds ``graph.json``; afterwards it also holds ``model.so``, or says in ``failed`` why
not. Compiling in a process of its own keeps the user's free: no lock is held, nothing of the
compiler's state is shared, and a crash there is a crash there.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import traceback
import warnings


def main(folder: pathlib.Path) -> None:
    """Compile the graph in `folder`."""
    _end_with_parent()
    scratch = str(folder.parent / "inductor")
    if any(c.isspace() for c in scratch):  # Inductor hands such names to the compiler in pieces
        scratch = tempfile.mkdtemp(prefix="lamella-")
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
    os.environ["AOT_INDUCTOR_ENABLE_LINE_TABLES"] = "0"
    warnings.simplefilter("ignore")
    import torch

    from lamella.graph.ir.text import from_text

    torch.set_num_threads(int((folder / "threads").read_text()))
    try:
        graph, inputs = from_text((folder / "graph.json").read_text(encoding="utf-8"))
        with torch.no_grad():
            made = torch._inductor.aot_compile(  # type: ignore[attr-defined]
                graph, tuple(inputs), options={"fallback_random": True})
        library = pathlib.Path(str(made))
        described = library.with_suffix(".json")  # of kernels that are called by name
        if described.exists():
            shutil.copyfile(described, folder / "model.json")
        shutil.copyfile(library, folder / "model.so")
        shutil.rmtree(library.parent, ignore_errors=True)
    except Exception:
        (folder / "failed").write_text(traceback.format_exc(), encoding="utf-8")


def _end_with_parent() -> None:
    """Stop when the process that asked for this stops (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
