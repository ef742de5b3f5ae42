"""The process that compiles a graph by XLA: ``python -I worker.py FOLDER``.

The folder holds ``graph.json`` (see `text`); afterwards it holds ``model.xla``, what a call of it
needs of the graph in ``call.json``, and their ``digest``; or the error in ``failed``. Neither
PyTorch nor the rest of Lamella is imported, so that it is there in a second.

It runs as a file and isolated (``-I``), because the current folder may hold any modules. Until the
parent's folders are on the path, only Python's library is imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import sys
import traceback

# of a graph: what a call of its code needs
CALL = ("taken", "places", "packs", "shapes", "strides", "flag")


def main(folder: pathlib.Path) -> None:
    """Compile the graph in `folder`."""
    own = [p for p in sys.path if not p.endswith(("site-packages", "dist-packages"))]
    given = (folder / "path").read_text(encoding="utf-8").splitlines()
    sys.path[:] = dict.fromkeys([*own, *given, str(pathlib.Path(__file__).parent)])
    threads = int((folder / "threads").read_text())
    os.environ.update(NPROC=str(threads), TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu",
                      JAX_ENABLE_X64="1")
    try:
        from lowering.graph import compiled  # type: ignore[import-not-found]

        graph = json.loads((folder / "graph.json").read_bytes())
        code = compiled(graph, threads)
        call = json.dumps({name: graph[name] for name in CALL}).encode()
        (folder / "call.json").write_bytes(call)
        (folder / "model.xla").write_bytes(code)
        (folder / "digest").write_text(hashlib.sha256(call + code).hexdigest(), encoding="ascii")
        (folder / "graph.json").unlink()
    except Exception as error:
        for name in ("model.xla", "call.json", "digest"):
            (folder / name).unlink(missing_ok=True)
        if not isinstance(error, OSError):  # a full disk is no property of the graph
            (folder / "failed").write_text(traceback.format_exc(), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
