"""What `mkdocs build` does beyond its settings: the reference, cheat sheets, pages of examples.

Reference pages list what a room really has (`entries.py`); the cheat sheets are the tables that
error messages are made from, whose rows the tests run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lamella.compat.foreign_names import FOREIGN_NAMES, ForeignName

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
import entries  # noqa: E402  (it stands beside this file)

sys.path.pop(0)

EXAMPLES = {  # file: what it shows, and its picture in docs/pictures
    "mnist_lenet": ("LeNet-5 reads digits, with a clipped gradient", "lenet.png"),
    "mnist_model": ("The same with Model: callbacks, and a run that survives", ""),
    "spiking": ("A spiking network, with a surrogate gradient", ""),
    "char_gpt": ("A small GPT writes text, character by character", ""),
    "sentiment_bert": ("A small BERT judges reviews", ""),
    "digits_dcgan": ("A DCGAN draws digits", ""),
    "cartpole_a2c": ("A2C balances a pole", ""),
    "cartpole_ppo": ("PPO balances a pole", ""),
    "data_parallel_digits": ("Two processes learn digits together", ""),
}
SHEETS = {"PyTorch": "cheatsheet_pytorch.md", "JAX": "cheatsheet_jax.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the made pages into the navigation, where `mkdocs.yml` has their headings."""
    reference = []
    for namespace, found in entries.pages():
        own, *inner = found
        title = namespace if namespace != "lamella" else "lamella (top level)"
        reference.append({title: own.path} if not inner else
                         {title: [own.path, *({page.title: page.path} for page in inner)]})
    made = {"Reference": reference,
            "Examples": [{title: f"examples/{name}.md"} for name, (title, _) in EXAMPLES.items()]}
    for section in config.nav or []:
        for heading, items in section.items():
            if heading in made:
                section[heading] = [*items, *made[heading]]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for _, found in entries.pages():
        for page in found:
            files.append(File.generated(config, page.path, content=page.text))
    for framework, path in SHEETS.items():
        files.append(File.generated(config, path, content="\n".join(cheat_sheet(framework))))
    for name, (title, picture) in EXAMPLES.items():
        files.append(File.generated(config, f"examples/{name}.md",
                                    content=example(name, title, picture)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Say that a Chinese page is Chinese."""
    if page.file.src_uri.startswith("tutorial/zh/"):
        output = output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
        return output.replace("Table of contents", "目录")
    return output


def cheat_sheet(framework: str) -> Iterator[str]:
    """The lines of a page: what each name of another framework is here."""
    rows = [row for row in FOREIGN_NAMES if row.framework == framework]
    yield from (f"# From {framework}: a cheat sheet", "",
                "Names that are the same here are left out. The messages about absent names say "
                "the same as these tables; the tests look up each name and run each pair of "
                "expressions. In those `x` and `y` are tensors of 2 by 3 floats, and `i` holds "
                "indices.",
                "", "## Expressions that compute the same", "", f"| {framework} | Lamella |",
                "|---|---|")
    pairs = dict.fromkeys((row.theirs, row.ours) for row in rows if row.theirs)
    yield from (f"| {code(theirs)} | {code(ours)} |" for theirs, ours in pairs)
    yield from ("", "## Names", "", f"| {framework} | what to do here |", "|---|---|")
    for row in sorted(rows, key=lambda row: row.name.lower()):
        yield f"| {code(row.name)} | {remedy(row)} |"


def remedy(row: ForeignName) -> str:
    """What to do, with links to what is named."""
    links = [entries.link(f"`{path}`", place, "cheatsheet.md") if (place := described(path))
             else f"`{path}`" for path in row.here]
    return f"{row.remedy[0].upper()}{row.remedy[1:]}. ({', '.join(links)})".replace("|", r"\|")


def described(path: str) -> str | None:
    """The anchor of a name relative to `lamella`, if a page describes it."""
    room, _, name = f"lamella.{path}".rpartition(".")
    if room not in entries.NAMESPACES:
        return None
    return next((e.path for e in entries.public(room)[0] if e.name == name), None)


def code(text: str) -> str:
    """Code in a table."""
    return "`" + text.replace("|", r"\|") + "`"


def example(name: str, title: str, picture: str) -> str:
    """A page with a program of the folder examples."""
    source = (DOCS.parent / "examples" / f"{name}.py").read_text(encoding="utf-8")
    said = (ast.get_docstring(ast.parse(source)) or "").split("\n\n")
    lines = [f"# {title}", ""]
    for paragraph in said:
        command = paragraph.startswith("    ")
        lines += [paragraph if command else " ".join(paragraph.split()), ""]
    if picture:
        lines += [f"![{title}](../pictures/{picture})", ""]
    lines += [f"`examples/{name}.py`:", "", "```python", source.rstrip(), "```", ""]
    return "\n".join(lines)
