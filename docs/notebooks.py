"""The tutorial as notebooks, in build/notebooks: ``make notebooks`` writes and runs all of them.

Each page becomes one: its text Markdown cells, its programs code cells. Run, they have to print
what stands on the page.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
import time
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = pathlib.Path(__file__).parent
BLOCK = re.compile(r"^```python\n(?P<program>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?",
                   re.DOTALL | re.MULTILINE)
KERNEL = {"name": "lamella", "display_name": "Lamella", "language": "python"}


def notebook(page: pathlib.Path) -> Any:
    """A page as a notebook; each code cell keeps what it should print as metadata."""
    text, cells, place = page.read_text("utf-8"), [], 0

    def prose(part: str) -> None:
        if part.strip():
            cells.append(nbformat.v4.new_markdown_cell(part.strip()))

    for block in BLOCK.finditer(text):
        prose(text[place:block.start()])
        cells.append(nbformat.v4.new_code_cell(
            block["program"].strip("\n"), metadata={"prints": block["output"] or ""}))
        place = block.end()
    prose(text[place:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL})


def run(made: Any, folder: pathlib.Path, kernel: str = "lamella", timeout: int = 300) -> list[str]:
    """Run a notebook in a folder; where what it prints differs from the page, and how.

    Raises:
        nbclient.exceptions.CellExecutionError: if a cell raises an error.
    """
    NotebookClient(made, timeout=timeout, kernel_name=kernel,
                   resources={"metadata": {"path": str(folder)}}).execute()
    wrong = []
    for cell in made.cells:
        if cell.cell_type == "code":
            printed = "".join(out.text for out in cell.outputs
                              if out.output_type == "stream" and out.name == "stdout")
            printed = re.sub(r"[^\s(]*ipykernel_\d+/\d+\.py", "program.py", printed)
            if printed != cell.metadata["prints"]:
                wrong.append(f"{cell['id']}: {printed!r} instead of {cell.metadata['prints']!r}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="names of pages; default: all with programs")
    parser.add_argument("--out", type=pathlib.Path, default=DOCS.parent / "build" / "notebooks")
    parser.add_argument("--no-run", action="store_true", help="write them without outputs")
    args = parser.parse_args()
    failed = 0
    sys.path.insert(0, str(DOCS.parent))
    os.environ["PYTHONPATH"] = str(DOCS.parent)
    for page in sorted((DOCS / "tutorial").glob("*/*.md")):
        if BLOCK.search(page.read_text("utf-8")) and (not args.pages or page.stem in args.pages):
            failed += write(page, args)
    sys.exit(failed and f"{failed} notebooks print something else than their pages")


def write(page: pathlib.Path, args: argparse.Namespace) -> bool:
    """Write a page's notebook, and run it unless that isn't wanted; whether it failed."""
    made, begun = notebook(page), time.perf_counter()
    target = args.out / page.parent.name / f"{page.stem}.ipynb"
    folder = target.parent / f"{page.stem}-files"
    folder.mkdir(parents=True, exist_ok=True)
    wrong = [] if args.no_run else run(made, folder)
    nbformat.write(made, target)
    if not any(folder.iterdir()):
        folder.rmdir()
    print(f"{target} {time.perf_counter() - begun:.1f} s", *wrong, sep="\n  ")
    return bool(wrong)


if __name__ == "__main__":
    main()
