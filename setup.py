"""What pyproject.toml can't say: packages hold the commit that they were built from.

It stands in ``lamella/data/commit.txt`` of a wheel and of a source archive, where
`lamella.core.versions.commit` reads it.
"""

import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent
PLACE = Path("lamella", "data", "commit.txt")


def commit():
    """The commit of this copy: as it was unpacked, or as git says; None if neither does."""
    if (ROOT / PLACE).exists():
        return (ROOT / PLACE).read_text("ascii").strip()
    if not (ROOT / ".git").exists():
        return None
    try:
        return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True,
                              text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def write(folder):
    if (found := commit()) is not None:
        place = Path(folder) / PLACE
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(found + "\n", "ascii")


class BuildPy(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            write(self.build_lib)


class Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        write(base_dir)


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
