"""Lines by room: ``make lines``.

Of each room of `lamella/`: its files, and its lines of code, of docstrings, of comments and empty
ones; beside them the lines of its tests.
"""

from __future__ import annotations

import ast
import io
import pathlib
import tokenize
from collections import Counter

ROOT = pathlib.Path(__file__).parents[1]
KINDS = ("code", "docstrings", "comments", "empty")


def main() -> None:
    """Print the table."""
    package = ROOT / "lamella"
    rooms = {folder.name: sorted(folder.rglob("*.py")) for folder in sorted(package.iterdir())
             if folder.is_dir() and list(folder.rglob("*.py"))}
    rooms = {"(top)": sorted(package.glob("*.py")), **rooms}
    print("| Room | Files |", " | ".join(kind.capitalize() for kind in KINDS), "| All | Tests |")
    print("|---" + "|---:" * (len(KINDS) + 3) + "|")
    total: Counter[str] = Counter()
    for room, files in rooms.items():
        found = sum((counted(file.read_text(encoding="utf-8")) for file in files), Counter())
        found["files"] = len(files)
        found["tests"] = lines_below(ROOT / "tests" / room)
        total += found
        print(row(f"`{room}/`" if room != "(top)" else "beside the rooms", found))
    total["tests"] = lines_below(ROOT / "tests")
    print(row("all", total))


def row(name: str, found: Counter[str]) -> str:
    """A line of the table."""
    numbers = [found["files"], *(found[kind] for kind in KINDS),
               sum(found[kind] for kind in KINDS), found["tests"]]
    return f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |"


def lines_below(folder: pathlib.Path) -> int:
    """The lines of all files of Python's in a folder."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in folder.rglob("*.py"))


def counted(source: str) -> Counter[str]:
    """The lines of a file, by what stands on them.

    Examples:
        >>> dict(counted('def f():\\n    "What it does."\\n\\n    return 1  # one\\n'))
        {'code': 2, 'docstrings': 1, 'empty': 1}
    """
    kinds = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            kinds.setdefault(token.start[0], "comments")
        elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
                                tokenize.ENDMARKER):
            kinds.update(dict.fromkeys(range(token.start[0], token.end[0] + 1), "code"))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(
                    first.value.value, str):
                kinds.update(dict.fromkeys(
                    range(first.lineno, (first.end_lineno or 0) + 1), "docstrings"))
    lines = range(1, len(source.splitlines()) + 1)
    return Counter(kinds.get(number, "empty") for number in lines)


if __name__ == "__main__":
    main()
