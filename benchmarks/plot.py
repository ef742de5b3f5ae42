"""The results as a picture: a row for each workload, a mark for each contestant."""

from __future__ import annotations

from pathlib import Path

from .harness import BASELINE
from .table import Results, contestants, ratio

STYLES = {  # colour (Okabe and Ito's, which colour-blind people can tell apart) and mark
    "Lamella graph": ("#D55E00", "D"),
    "Lamella": ("#E69F00", "D"),
    "PyTorch": ("#000000", "|"),
    "torch.compile": ("#7A7A7A", "s"),
    "JAX jit": ("#0072B2", "o"),
    "MindSpore graph": ("#009E73", "^"),
    "MindSpore": ("#56C7A4", "v"),
}


def draw(results: Results, path: Path) -> Path:
    """Draw how long each contestant takes, in times of PyTorch eager, and save it.

    Returns:
        `path`.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    matplotlib.rcParams.update({"svg.hashsalt": "benchmarks", "font.size": 10,
                                "font.family": "DejaVu Sans"})
    rows = [w for w in results if any(ratio(results[w], n, BASELINE) for n in results[w])]
    names = [n for n in STYLES if n in contestants(results)]
    figure, axes = pyplot.subplots(figsize=(9, 1.4 + 0.46 * len(rows)), layout="constrained")
    for place, workload in enumerate(rows):
        axes.axhline(place, color="#EDEDED", linewidth=1, zorder=0)
        for name in reversed(names):  # Lamella's marks on top
            value = ratio(results[workload], name, BASELINE)
            if value is not None and name != BASELINE:
                colour, mark = STYLES[name]
                axes.plot(value, place, mark, color=colour, markersize=8 if mark == "D" else 7,
                          markeredgecolor="white", markeredgewidth=0.8)
    axes.axvline(1, color=STYLES[BASELINE][0], linewidth=1.2, zorder=1)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    low, high = axes.get_xlim()
    if high / low > 1000:
        axes.xaxis.set_major_locator(LogLocator())
    axes.set_yticks(range(len(rows)), [w.title for w in rows])
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
