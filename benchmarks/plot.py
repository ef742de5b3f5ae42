"""The results as a picture: a row for each workload, a mark for each contestant.

``python -m benchmarks.plot`` draws the short picture of README.md again, from the table of
docs/benchmarks.md.
"""

from __future__ import annotations

import re
from pathlib import Path

from .harness import BASELINE
from .table import Results, contestants, ratio
from .workload import SECONDS

STYLES = {  # colour (Okabe and Ito's, which colour-blind people can tell apart) and mark
    "Lamella graph": ("#D55E00", "D"),
    "Lamella": ("#E69F00", "D"),
    "PyTorch": ("#000000", "|"),
    "torch.compile": ("#7A7A7A", "s"),
    "JAX jit": ("#0072B2", "o"),
    "MindSpore graph": ("#009E73", "^"),
    "MindSpore": ("#56C7A4", "v"),
}


Rows = dict[str, dict[str, float]]  # by workload and contestant, in times of PyTorch eager


def draw(results: Results, path: Path) -> Path:
    """Draw how long each contestant takes for each workload, and save it.

    Returns:
        `path`.
    """
    rows: Rows = {}
    for workload, found in results.items():
        times = {name: ratio(found, name, BASELINE) for name in found}
        if any(times.values()):
            rows[workload.title] = {n: time for n, time in times.items() if time is not None}
    return draw_rows(rows, [n for n in STYLES if n in contestants(results)], path)


def training_rows(page: str) -> Rows:
    """The training steps of the first table of docs/benchmarks.md."""
    head, _, table = page.partition("| workload |")[2].partition("\n")
    names = [cell.strip() for cell in head.split("|")]
    rows: Rows = {}
    lines = re.findall(r"^\| (.+?) \(training step,.*?\) \|(.*)\|$", table, re.MULTILINE)
    for title, cells in lines:
        times = {}
        for name, cell in zip(names, cells.split("|"), strict=False):
            number, _, unit = cell.strip(" *").partition(" ")
            if unit:
                times[name] = float(number) / SECONDS[unit]
        rows[title] = {name: time / times[BASELINE] for name, time in times.items()}
    return rows


def draw_training(page: str, path: Path) -> Path:
    """Draw the training steps alone, from the text of docs/benchmarks.md, and save it.

    Returns:
        `path`.
    """
    rows = training_rows(page)
    return draw_rows(rows, [n for n in STYLES if any(n in times for times in rows.values())], path)


def draw_rows(rows: Rows, names: list[str], path: Path) -> Path:
    """Draw a row for each workload with a mark for each of `names`, and save it.

    Returns:
        `path`.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    matplotlib.rcParams.update({"svg.hashsalt": "benchmarks", "font.size": 10,
                                "font.family": "DejaVu Sans"})
    figure, axes = pyplot.subplots(figsize=(9, 1.4 + 0.46 * len(rows)), layout="constrained")
    for place, times in enumerate(rows.values()):
        axes.axhline(place, color="#EDEDED", linewidth=1, zorder=0)
        for name in reversed(names):  # Lamella's marks on top
            if name in times and name != BASELINE:
                colour, mark = STYLES[name]
                axes.plot(times[name], place, mark, color=colour,
                          markersize=8 if mark == "D" else 7,
                          markeredgecolor="white", markeredgewidth=0.8)
    axes.axvline(1, color=STYLES[BASELINE][0], linewidth=1.2, zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    if high / low > 1000:
        axes.xaxis.set_major_locator(LogLocator())
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(left=False)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.set_xlabel(f"time of a step in times of {BASELINE} eager (the line); left is faster")
    handles = [axes.plot([], [], STYLES[n][1], color=STYLES[n][0], markersize=8, label=n)[0]
               for n in names]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(names), frameon=False,
                  handletextpad=0.1, columnspacing=1.2, fontsize=9)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    pyplot.close(figure)
    return path


if __name__ == "__main__":
    docs = Path(__file__).parent.parent / "docs"
    print(draw_training((docs / "benchmarks.md").read_text("utf-8"), docs / "training-cpu.svg"))
