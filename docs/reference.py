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
    "mnist_model": ("The same with Model: callbacks, and a run that survives", "mnist_model.png"),
    "spiking": ("A spiking network, with a surrogate gradient", "spiking.png"),
    "char_gpt": ("A small GPT writes text, character by character", "char_gpt.png"),
    "serve": ("A server with an API like OpenAI's, for many clients at once", ""),
    "sentiment_bert": ("A small BERT judges reviews", "sentiment_bert.png"),
    "digits_dcgan": ("A DCGAN draws digits", "digits_dcgan.png"),
    "digits_diffusion": ("A diffusion model draws the digit it is asked for",
                         "digits_diffusion.png"),
    "pinn_burgers": ("A network solves Burgers' equation", "pinn_burgers.png"),
    "neural_ode": ("A differential equation whose right side is a network", "neural_ode.png"),
    "splats": ("Differentiable rendering: a picture of soft ellipses", "splats.png"),
    "maml_sines": ("MAML: learning to learn from five points", "maml_sines.png"),
    "cartpole_a2c": ("A2C balances a pole", "cartpole_a2c.png"),
    "cartpole_ppo": ("PPO balances a pole", "cartpole_ppo.png"),
    "cartpole_dqn": ("DQN balances a pole", "cartpole_dqn.png"),
    "data_parallel_digits": ("Two processes learn digits together", "data_parallel_digits.png"),
}
SHEETS = {  # by framework and language; the messages of remedies are English in both
    ("PyTorch", "en"): "cheatsheet_pytorch.md", ("JAX", "en"): "cheatsheet_jax.md",
    ("PyTorch", "zh"): "cheatsheet_pytorch_zh.md", ("JAX", "zh"): "cheatsheet_jax_zh.md"}
HEADS = {
    "en": ("# From {}: a cheat sheet",
           "Names that are the same here are left out. The messages about absent names say the "
           "same as these tables; the tests look up each name and run each pair of expressions. "
           "In those `x` and `y` are tensors of 2 by 3 floats, and `i` holds indices.",
           "## Expressions that compute the same", "## Names", "what to do here"),
    "zh": ("# 从 {} 迁移：速查表",
           "名字相同的不列出。程序用到不存在的名字时，报错信息给出与下表相同的提示（英文）；测试会查找每个名字，"
           "并运行每一对表达式。表达式中 `x` 和 `y` 是 2×3 的浮点张量，`i` 是下标。",
           "## 结果相同的表达式", "## 名字", "在这里怎样做（与报错信息相同）")}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the made pages into the navigation, where `mkdocs.yml` has their headings."""
    reference = []
    for namespace, found in entries.pages():
        own, *inner = found
        title = namespace if namespace != "lamella" else "lamella (top level)"
        reference.append({title: own.path} if not inner else
                         {title: [own.path, *({page.title: page.path} for page in inner)]})
    made = {"Reference": reference,
            "Examples": ["examples/index.md", *({title: f"examples/{name}.md"}
                                                for name, (title, _) in EXAMPLES.items())]}
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
    for (framework, language), path in SHEETS.items():
        files.append(File.generated(
            config, path, content="\n".join(cheat_sheet(framework, language))))
    files.append(File.generated(config, "examples/index.md", content=gallery()))
    for name, (title, picture) in EXAMPLES.items():
        files.append(File.generated(config, f"examples/{name}.md",
                                    content=example(name, title, picture)))
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Say that a Chinese page is Chinese."""
    if page.file.src_uri.startswith("tutorial/zh/") or page.file.src_uri.endswith("_zh.md"):
        output = output.replace('<html lang="en"', '<html lang="zh-CN"', 1)
        return output.replace("Table of contents", "目录")
    return output


def cheat_sheet(framework: str, language: str) -> Iterator[str]:
    """The lines of a page: what each name of another framework is here."""
    rows = [row for row in FOREIGN_NAMES if row.framework == framework]
    title, about, expressions, names, remedies = HEADS[language]
    yield from (title.format(framework), "", about, "", expressions, "",
                f"| {framework} | Lamella |", "|---|---|")
    pairs = dict.fromkeys((row.theirs, row.ours) for row in rows if row.theirs)
    yield from (f"| {code(theirs)} | {code(ours)} |" for theirs, ours in pairs)
    yield from ("", names, "", f"| {framework} | {remedies} |", "|---|---|")
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


def gallery() -> str:
    """The page that shows all examples."""
    lines = ["# Examples", "", "Whole programs, each of which ends within two minutes on two "
             "cores. The pictures were made by running them: `make pictures`.", "",
             '<div class="gallery" markdown>', ""]
    for name, (title, picture) in EXAMPLES.items():
        shown = f'<img src="../pictures/{picture}" alt="" loading="lazy">' if picture else ""
        lines += [f'<a href="{name}/"><span>{shown}</span>{title}</a>', ""]
    return "\n".join([*lines, "</div>", ""])


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
