"""The pictures of the examples, made by running them: `make pictures`.

Each program runs with its defaults in an empty folder. What it prints about its progress becomes a
curve; a program that makes a picture of its own gives that. Whatever a text model writes stands
beside its curve.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DOCS = pathlib.Path(__file__).parent


class Curve(NamedTuple):
    """What to draw of a program's output: pairs of numbers that a pattern finds."""

    pattern: str
    x: str
    y: str
    command: tuple[str, ...] = ()


CURVES = {
    "mnist_model": Curve(r"epoch: (\d+) step: \d+, loss is ([\d.]+)", "epoch", "loss"),
    "spiking": Curve(r"epoch (\d+): loss ([\d.]+)", "epoch", "loss"),
    "char_gpt": Curve(r"step (\d+): ([\d.]+) bits", "step", "bits a character"),
    "sentiment_bert": Curve(r"step: (\d+), loss is ([\d.]+)", "report", "loss"),
    "cartpole_a2c": Curve(r"update (\d+): a game lasts about (\d+)", "update",
                          "moves of a game"),
    "cartpole_ppo": Curve(r"round (\d+): a game lasts about (\d+)", "round", "moves of a game"),
    "data_parallel_digits": Curve(
        r"epoch (\d+): loss ([\d.]+)", "epoch", "loss",
        ("-m", "lamella", "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True",
         "--log_dir=logs")),
}
OWN = {"mnist_lenet": ("demo_out/training.png", "lenet.png"),
       "digits_dcgan": ("dcgan_out/digits.png", "digits_dcgan.png")}


def run(name: str, folder: pathlib.Path, before: tuple[str, ...] = ()) -> str:
    """What a program prints, with its processes' logs."""
    program = DOCS.parent / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, *before, str(program)], cwd=folder, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    logs = sorted((folder / "logs").glob("*.log"))[:1]
    return done.stdout + "".join(log.read_text(encoding="utf-8") for log in logs)


def draw(name: str, printed: str, path: pathlib.Path) -> None:
    """A curve of a program's progress, with the last line that it printed as its title."""
    curve = CURVES[name]
    pairs = [(float(x), float(y)) for x, y in re.findall(curve.pattern, printed)]
    if len(pairs) < 2:
        sys.exit(f"{name}: its output has no {curve.pattern!r}")
    xs = [x for x, _ in pairs] if curve.x != "report" else list(range(1, len(pairs) + 1))
    lines = printed.strip().splitlines()
    written = [line for line in lines if not re.search(curve.pattern, line)][:-1]
    figure, axes = plt.subplots(1, 2 if name == "char_gpt" else 1, squeeze=False,
                                figsize=(9 if name == "char_gpt" else 5, 3), layout="constrained")
    axes[0, 0].plot(xs, [y for _, y in pairs], marker=".")
    axes[0, 0].set(xlabel=curve.x, ylabel=curve.y)
    figure.suptitle(lines[-1], fontsize="medium")
    if name == "char_gpt":
        text = "\n".join(part for line in written for part in textwrap.wrap(line, 46) or [""])
        axes[0, 1].axis("off")
        axes[0, 1].text(0, 1, "\n".join(text.splitlines()[:14]), va="top", family="monospace",
                        fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*OWN, *CURVES])
    parser.add_argument("--out", type=pathlib.Path, default=DOCS / "pictures")
    options = parser.parse_args()
    for name in options.names:
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            printed = run(name, folder, CURVES[name].command if name in CURVES else ())
            if name in OWN:
                source, target = OWN[name]
                shutil.copy(folder / source, options.out / target)
            else:
                draw(name, printed, options.out / f"{name}.png")
        print(f"{name}: {time.monotonic() - started:.0f} s, {printed.strip().splitlines()[-1]}",
              flush=True)


if __name__ == "__main__":
    main()
