"""The process that compiles a graph to machine code: ``python -I worker.py FOLDER PARENT``.

The folder holds ``graph.json``; afterwards it also holds ``model.so`` and its ``digest``, or says
in ``failed`` why not. Compiling in a process of its own keeps the user's free: no lock is held,
nothing of the compiler's state is shared, and a crash there is a crash there.

It runs as a file and isolated (``-I``), because the folder a program is started in may hold
anything, and ``python -m`` would import from there. Until the parent's places are on the path,
only Python's library is imported.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings

PAUSE = 0.2  # seconds between two looks at whether the parent is there


def main(folder: pathlib.Path, parent: int) -> None:
    """Compile the graph in `folder`, for the process `parent`."""
    threading.Thread(target=_end_with, args=(parent, folder), daemon=True).start()
    # Python's library first: nothing that is installed may stand in for it
    library = [p for p in sys.path if not p.endswith(("site-packages", "dist-packages"))]
    given = (folder / "path").read_text(encoding="utf-8").splitlines()
    sys.path[:] = dict.fromkeys([*library, *given])
    scratch = str(folder.parent / "inductor")
    if any(c.isspace() for c in scratch):  # Inductor hands such names to the compiler in pieces
        scratch = tempfile.mkdtemp(prefix="lamella-")
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
    os.environ["AOT_INDUCTOR_ENABLE_LINE_TABLES"] = "0"
    warnings.simplefilter("ignore")
    try:
        _compile(folder)
    except Exception as error:
        for name in ("model.so", "digest"):
            (folder / name).unlink(missing_ok=True)
        if not isinstance(error, OSError):  # a full disk is no property of the graph
            (folder / "failed").write_text(traceback.format_exc(), encoding="utf-8")


def _compile(folder: pathlib.Path) -> None:
    import torch

    from lamella.graph.ir.text import from_text

    torch.set_num_threads(int((folder / "threads").read_text()))
    graph, inputs = from_text((folder / "graph.json").read_text(encoding="utf-8"))
    with torch.no_grad():
        made = torch._inductor.aot_compile(  # type: ignore[attr-defined]
            graph, tuple(inputs), options={"fallback_random": True})
    library = pathlib.Path(str(made))
    described = library.with_suffix(".json")  # of kernels that are called by name
    if described.exists():
        shutil.copyfile(described, folder / "model.json")
    found = digest(library)
    shutil.copyfile(library, folder / "model.so")
    if digest(folder / "model.so") != found:
        raise OSError("the copy is not what was copied")
    (folder / "digest").write_text(found, encoding="ascii")  # last: with it the folder is whole
    shutil.rmtree(library.parent, ignore_errors=True)


def digest(file: pathlib.Path) -> str:
    """What a file is known again by."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _end_with(parent: int, folder: pathlib.Path) -> None:
    """When the parent is gone, end this process and the compilers it has started."""
    while os.getppid() == parent:
        time.sleep(PAUSE)
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
