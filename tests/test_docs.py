"""The programs in docs/: each page's blocks run in order, and print what stands below them.

The tutorial is there in English and in Chinese, with the same programs. They run once, from the
Chinese pages, as ones that import MindSpore.
``python -m tests.test_docs`` writes what the programs print into the pages.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import traceback
import warnings
from multiprocessing.connection import Connection

import pytest

from .worlds import asked_for
from .zygote import run as python

DOCS = pathlib.Path(__file__).parent.parent / "docs"
ENGLISH, CHINESE = DOCS / "tutorial" / "en", DOCS / "tutorial" / "zh"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text("utf-8"))
PROGRAM = re.compile(r"^```python\n(?P<program>.*?)^```\n(?:```text\n(?P<output>.*?)^```\n)?",
                     re.DOTALL | re.MULTILINE)


def blocks(page: pathlib.Path) -> list[tuple[str, str]]:
    """The programs of a page, each with what it prints."""
    return [(match["program"], match["output"] or "")
            for match in PROGRAM.finditer(page.read_text("utf-8"))]


def name(page: pathlib.Path) -> str:
    return page.relative_to(DOCS).as_posix()


def outputs(pages: list[pathlib.Path], *command: str) -> dict[str, list[str] | str]:
    """What the programs of some pages print, or the traceback of what went wrong.

    Lamella is imported in one process, and each page runs in a copy of it.
    """
    done = python("-W", "error", *command, "-m", "tests.test_docs", "--run", *pages,
                  cwd=DOCS.parent, timeout=600)
    assert done.returncode == 0, done.stderr
    return dict(zip(map(name, pages), json.loads(done.stdout.splitlines()[-1]), strict=True))


def run_in_copies(pages: list[str]) -> list[list[str] | str]:
    """What each page prints, or a traceback, run in a process of its own."""
    importlib.import_module("lamella")
    warnings.filterwarnings("ignore", ".*multi-threaded, use of fork", DeprecationWarning)
    for name in ("torch.export._trace", "torch.onnx", "onnxscript"):  # what some pages import
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    context, found = multiprocessing.get_context("fork"), []
    gc.collect()
    gc.freeze()  # else a collection in a forked process copies all pages
    for page in pages:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=report, args=(pathlib.Path(page), sender))
        process.start()
        sender.close()
        try:
            found.append(receiver.recv())
        except EOFError:
            found.append("the process died")
        process.join()
    return found


def report(page: pathlib.Path, sender: Connection) -> None:
    """Send what a page prints, run in an empty folder, or a traceback."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            sender.send(run(page))
        except BaseException:  # a page may also exit
            sender.send(traceback.format_exc())
        os.chdir("/")


def run(page: pathlib.Path) -> list[str]:
    """What the programs of a page print, in this process and one namespace.

    Where `import mindspore` means Lamella, that is what they import.
    """
    namespace, printed = {"__name__": "__main__"}, []
    for program, _ in blocks(page):
        if "mindspore" in sys.modules:
            program = re.sub(r"^(import (?=lamella as)|from )lamella\b", r"\1mindspore", program,
                             flags=re.MULTILINE)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(program, "program.py", "exec"), namespace)
        printed.append(output.getvalue())
    return printed


THEIRS = [page for page in PAGES if CHINESE in page.parents]
OWN = [page for page in PAGES if page.parent not in (CHINESE, ENGLISH)]


LONG = {CHINESE / "processes.md": pytest.mark.long(
    "eight processes that begin anew; tests/commands/test_msrun.py and tests/parallel/ have fewer")}


@pytest.fixture(scope="module")
def printed(request):
    return outputs(sorted(asked_for(request, "page") & set(OWN)))


@pytest.fixture(scope="module")
def printed_with_mindspore(request):
    return outputs(sorted(asked_for(request, "page") & set(THEIRS)), "-m", "lamella", "run")


@pytest.mark.parametrize("page", OWN, ids=name)
def test_blocks_print_what_stands_below_them(page, printed):
    assert printed[name(page)] == [output for _, output in blocks(page)]


@pytest.mark.parametrize("page", [pytest.param(page, marks=LONG.get(page, ()))
                                  for page in THEIRS], ids=name)
def test_blocks_run_as_mindspore_programs(page, printed_with_mindspore):
    assert printed_with_mindspore[name(page)] == [output for _, output in blocks(page)]


def test_both_languages_have_the_same_pages():
    english = sorted(page.name for page in ENGLISH.glob("*.md"))
    assert len(english) >= 5
    assert english == sorted(page.name for page in CHINESE.glob("*.md"))


@pytest.mark.parametrize("page", sorted(ENGLISH.glob("*.md")), ids=name)
def test_both_languages_have_the_same_programs(page):
    assert blocks(CHINESE / page.name) == blocks(page)


def test_what_the_tutorial_imports_is_there_under_lamellas_names():
    lines = {line for page in ENGLISH.glob("*.md") for program, _ in blocks(page)
             for line in program.splitlines() if re.match(r"(import|from) lamella\b", line)}
    assert "import lamella as ms" in lines
    for line in sorted(lines):
        exec(line, {})


def test_every_page_is_in_the_navigation_once():
    found = re.findall(r"[\w/]+\.md", (DOCS.parent / "mkdocs.yml").read_text("utf-8"))
    listed = set(found)
    assert len(listed) == len(found)
    there = {name(page) for page in DOCS.rglob("*.md")}
    assert there <= listed
    assert {page for page in listed - there if not page.startswith("cheatsheet_")} == set()


def write(page: pathlib.Path, printed: list[str]) -> None:
    """Put what a page's programs print below them."""
    outputs = iter(printed)

    def replaced(match: re.Match[str]) -> str:
        output = next(outputs)
        below = f"```text\n{output}```\n" if output else ""
        return f"```python\n{match['program']}```\n{below}"

    page.write_text(PROGRAM.sub(replaced, page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(run_in_copies(sys.argv[2:])))
    else:
        chosen = [pathlib.Path(path).resolve() for path in sys.argv[1:]] or PAGES
        for path, found in zip(chosen, outputs(chosen).values(), strict=True):
            if isinstance(found, str):
                sys.exit(f"{path}: {found}")
            write(path, found)
