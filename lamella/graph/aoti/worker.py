"""The process that compiles a graph by AOTInductor: ``python -I worker.py FOLDER``.

The folder holds ``graph.json``; afterwards it also holds ``model.so`` and its ``digest``, or the
error in ``failed``. A separate process does not disturb the user's: it holds no lock, shares no
state of the compiler, and may crash.

It runs as a file and isolated (``-I``), because the current folder may hold any modules, and
``python -m`` would import from there. Until the parent's folders are on the path, only Python's
library is imported.
"""

from __future__ import annotations

import atexit
import os
import pathlib
import shutil
import sys
import tempfile
import traceback
import warnings


def main(folder: pathlib.Path) -> None:
    """Compile the graph in `folder`."""
    # Python's library first, so that no installed module hides one of its modules
    library = [p for p in sys.path if not p.endswith(("site-packages", "dist-packages"))]
    given = (folder / "path").read_text(encoding="utf-8").splitlines()
    sys.path[:] = dict.fromkeys([*library, *given])
    scratch = str(folder.parent / "inductor")
    if any(c.isspace() for c in scratch):  # Inductor doesn't quote names for the compiler
        scratch = tempfile.mkdtemp(prefix="lamella-")
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = scratch
    os.environ["AOT_INDUCTOR_ENABLE_LINE_TABLES"] = "0"
    compile_in(folder)


def compile_in(folder: pathlib.Path) -> None:
    """As `main`, in a process that can import all that is needed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compile(folder)
    except Exception as error:
        for name in ("model.so", "digest"):
            (folder / name).unlink(missing_ok=True)
        if not isinstance(error, OSError):  # a full disk is no property of the graph
            (folder / "failed").write_text(traceback.format_exc(), encoding="utf-8")


def options_for(kinds: set[str], threads: int) -> dict[str, object]:
    """Inductor's options for a graph on some kinds of devices.

    Kernels for accelerators become parts of the library: so its digest covers them, and it can be
    copied.

    Raises:
        RuntimeError: if this PyTorch can only keep them in files of their own.
    """
    from torch._inductor import config

    options: dict[str, object] = {"fallback_random": True, "cpp.threads": threads}
    if hasattr(config.aot_inductor, "precompile_headers"):
        # they are compiled in 10 s, and each graph's code in 3 s less; but every graph has a folder
        # of its own, where they would be made again
        options["aot_inductor.precompile_headers"] = False
    if kinds - {"cpu"}:
        if not hasattr(config.aot_inductor, "embed_kernel_binary"):
            raise RuntimeError("this version of PyTorch keeps kernels beside the library")
        options["aot_inductor.embed_kernel_binary"] = True
    return options


def _compile(folder: pathlib.Path) -> None:
    import torch  # which takes a second, and whose errors are to be reported

    from lamella.graph.ir.text import from_text  # which needs it
    from lamella.machine.library import keep  # which needs it

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    threads = int((folder / "threads").read_text())  # of the compiled code
    graph, inputs = from_text((folder / "graph.json").read_text(encoding="utf-8"))
    kinds = {raw.device.type for raw in inputs if isinstance(raw, torch.Tensor)}
    try:
        with torch.no_grad():
            made = torch._inductor.aot_compile(  # type: ignore[attr-defined]
                graph, tuple(inputs), options=options_for(kinds, threads))
    finally:
        torch.set_num_threads(before)
    library = pathlib.Path(str(made))
    described = library.with_suffix(".json")  # the kernels that the code calls by name
    if described.exists():
        shutil.copyfile(described, folder / "model.json")
    keep(library, folder)
    shutil.rmtree(library.parent, ignore_errors=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
