"""Builds the parts in C++, which a machine has once, in ``$LAMELLA_CACHE``: ``python -m ...parts``.
"""

from __future__ import annotations

import subprocess


def main() -> None:
    """Build what isn't there."""
    from lamella.graph.guards import identity
    from lamella.graph.runtime import program
    from lamella.graph.tracing import outside
    from lamella.graph.xla import client
    from lamella.machine import memory

    for one in (program.extension, identity.extension, outside.extension, memory.allocator,
                client.extension):
        if one.load() is None:
            one.build(lambda command, folder, patience: not subprocess.run(
                command, cwd=folder, timeout=patience).returncode)


if __name__ == "__main__":
    main()
