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
from PIL import Image

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
    "cartpole_ppo": Curve(r"round (\d+): a game lasts about (\d+)", "round",
                          "moves of a game"),
    "data_parallel_digits": Curve(
        r"epoch (\d+): loss ([\d.]+)", "epoch", "loss",
        ("-m", "lamella", "msrun", "--worker_num=2", "--local_worker_num=2", "--join=True",
         "--log_dir=logs")),
}
OWN = {"mnist_lenet": ("demo_out/training.png", "lenet.png"),
       "digits_dcgan": ("dcgan_out/digits.png", "digits_dcgan.png"),
       "pinn_burgers": ("pinn_out/burgers.png", "pinn_burgers.png"),
       "maml_sines": ("maml_out/sines.png", "maml_sines.png"),
       "digits_diffusion": ("diffusion_out/digits.png", "digits_diffusion.png"),
       "neural_ode": ("ode_out/spiral.png", "neural_ode.png"),
       "splats": ("splats_out/splats.png", "splats.png"),
       "cartpole_dqn": ("dqn_out/games.png", "cartpole_dqn.png")}


def run(name: str, folder: pathlib.Path, before: tuple[str, ...] = ()) -> str:
    """What a program prints, with its processes' logs."""
    program = DOCS.parent / "examples" / f"{name}.py"
    done = subprocess.run([sys.executable, *before, str(program)], cwd=folder, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    logs = sorted((folder / "logs").glob("*.log"))[:1]
    return done.stdout + "".join(log.read_text(encoding="utf-8") for log in logs)


def means(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """For each x the mean of its different values, which several processes have printed."""
    values: dict[float, set[float]] = {}
    for x, y in pairs:
        values.setdefault(x, set()).add(y)
    return [(x, sum(ys) / len(ys)) for x, ys in sorted(values.items())]


def shrink(path: pathlib.Path) -> None:
    """Write a picture again with at most 128 colours, which takes a third of the room."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(128)
    small.save(path, optimize=True)


def draw(name: str, printed: str, path: pathlib.Path) -> None:
    """A curve of a program's progress, with the last line that it printed as its title."""
    curve = CURVES[name]
    found = [(float(x), float(y)) for x, y in re.findall(curve.pattern, printed)]
    if len(found) < 2:
        sys.exit(f"{name}: its output has no {curve.pattern!r}")
    pairs = [(i, y) for i, (_, y) in enumerate(found, 1)] if curve.x == "report" else means(found)
    lines = printed.strip().splitlines()
    written = [line for line in lines if not re.search(curve.pattern, line)][:-1]
    figure, axes = plt.subplots(1, 2 if name == "char_gpt" else 1, squeeze=False,
                                figsize=(9 if name == "char_gpt" else 5, 3), layout="constrained")
    axes[0, 0].plot(*zip(*pairs, strict=True), marker=".")
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
            source, picture = OWN.get(name, ("", f"{name}.png"))
            target = options.out / picture
            if source:
                shutil.copy(folder / source, target)
            else:
                draw(name, printed, target)
        shrink(target)
        print(f"{name}: {time.monotonic() - started:.0f} s, {printed.strip().splitlines()[-1]}",
              flush=True)


if __name__ == "__main__":
    main()
