"""Models of whole programs under Lamella and under MindSpore: whether they run, and agree.

Give a Python the package (``pip install --no-deps mindcv`` and what it imports), then::

    python -m lamella run tests/conformance/clients.py mindcv here.jsonl
    /path/to/mindspore/python tests/conformance/clients.py mindcv there.jsonl
    python tests/conformance/clients.py --compare here.jsonl there.jsonl

Each side makes inputs and weights for itself, from their names. A line is kept for each model: what
it gives for one input, a loss of that, and the gradients of all weights, or the error it ends with.
The process ends with it, too, since MindSpore answers other models wrongly after some errors; start
it again, and it goes on with the next model. It ends with status 0 after the last one.
"""

import argparse
import fnmatch
import json
import math
import os
import pathlib
import sys
import unittest.mock
import zlib

import numpy as np

SIZES = (64, 128, 160, 192, 224, 240, 256, 384, 448)  # of images; the first that a model takes
KEPT = 40  # numbers of each array


def numbers(name, shape):
    """Normal numbers that depend on a name."""
    return np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape, np.float32)


def mindcv(_):
    """Every model that MindCV registers."""
    import mindcv

    for name in mindcv.list_models():
        yield name, lambda name=name: mindcv.create_model(name, num_classes=10), _images(SIZES)


def mindocr(_):
    """Every model that MindOCR registers. ABINet's blocks stand on a room that MindSpore has left
    behind, which MindOCR asks for when it is imported: for 2.10 stand-ins let it be."""
    if "lamella" not in sys.modules:
        for part in ("", ".layers", ".moe", ".op_parallel_config", ".transformer"):
            sys.modules[f"mindspore.parallel._transformer{part}"] = unittest.mock.MagicMock()
    from mindocr.models import build_model, list_models

    lines = [(2, 3, 32, 100), (2, 3, 32, 320), (2, 3, 48, 160), (2, 3, 64, 256)]
    for name in list_models():
        yield (name, lambda name=name: build_model(name, pretrained_backbone=False),
               _images(SIZES) if name.startswith(("dbnet", "east", "psenet")) else lines)


def mindyolo(files):
    """The networks of configurations in MindYOLO's repository."""
    from mindyolo.models import create_model
    from mindyolo.utils.config import Config, load_config

    for file in files:
        config = Config(load_config(file)[0])

        def build(network=config.network):
            return create_model(network.model_name, model_cfg=network, num_classes=80)

        yield pathlib.Path(file).stem, build, _images((192,))


PACKAGES = {"mindcv": mindcv, "mindocr": mindocr, "mindyolo": mindyolo}


def _images(sizes):
    return [(2, 3, size, size) for size in sizes]


def fill(net):
    """Give each weight numbers of its own, in the range in which networks keep theirs."""
    import mindspore

    for name, parameter in net.parameters_and_names():
        last, shape = name.rpartition(".")[2], tuple(parameter.shape)
        values = numbers(name, shape)
        if last == "moving_variance":
            values = 1 + 0.1 * abs(values)
        elif not parameter.requires_grad and last != "moving_mean":
            continue  # a table
        elif len(shape) > 1:
            values /= math.sqrt(math.prod(shape[1:]))
        else:
            values = 0.1 * values + (last in ("gamma", "weight"))
        parameter.set_data(mindspore.Tensor(values))


def tensors(result):
    """The Tensors of nested tuples, lists and dicts, in their order."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, tuple | list):
        return [tensor for part in result for tensor in tensors(part)]
    return [result] if hasattr(result, "asnumpy") else []


def digest(tensor):
    """The shape, the norm and some numbers of a Tensor."""
    flat = tensor.asnumpy().astype(np.float64).ravel()
    return [list(tensor.shape), float(np.linalg.norm(flat)),
            flat[::max(1, flat.size // KEPT)][:KEPT].tolist()]


def run(build, shapes, largest):
    """What one model gives."""
    import mindspore

    net = build()
    fill(net)
    size = sum(math.prod(p.shape) for p in net.get_parameters())
    net.set_train(False)
    for shape in shapes:
        try:
            x = mindspore.Tensor(numbers(f"input {shape}", shape))
            out = net(x)
            break
        except Exception as error:  # a model of another size
            refused = error
    else:
        raise refused
    row = {"input": list(shape), "out": [digest(part) for part in tensors(out)]}
    if size > largest:
        return row
    net.set_train()
    for _, cell in net.cells_and_names():
        if "drop" in type(cell).__name__.lower():
            cell.set_train(False)

    def loss(x):
        parts = [part.astype(mindspore.float32) for part in tensors(net(x))]
        weights = [mindspore.Tensor(numbers(f"weight {i}", tuple(part.shape)))
                   for i, part in enumerate(parts)]
        return sum((part * weight).mean() for part, weight in zip(parts, weights, strict=True))

    value, gradients = mindspore.value_and_grad(loss, None, net.trainable_params())(x)
    return row | {"loss": float(value.asnumpy()), "gradients": [digest(g) for g in gradients]}


def record(package, path, only, files, largest):
    """Add a line to `path` for each model that it hasn't."""
    done = set(read(path)) if os.path.exists(path) else set()
    with open(path, "a", encoding="utf-8") as kept:
        for name, build, shapes in PACKAGES[package](files):
            if name in done or not fnmatch.fnmatch(name, only):
                continue
            print(json.dumps({"name": name, "error": "the process died"}), file=kept, flush=True)
            try:
                row = run(build, shapes, largest)
            except Exception as error:
                row = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            print(json.dumps({"name": name} | row), file=kept, flush=True)
            print(name, row.get("error", "runs"), flush=True)
            if "error" in row:
                sys.exit(1)


def read(path):
    """The last line of each model."""
    with open(path, encoding="utf-8") as lines:
        return {row["name"]: row for row in map(json.loads, lines)}


def distance(some, others):
    """How far two lists of digests are apart, relative to the second; infinite for other shapes."""
    if [part[0] for part in some] != [part[0] for part in others]:
        return math.inf
    one, other = (np.concatenate([[0.0], *(part[2] for part in side)]) for side in (some, others))
    return float(np.linalg.norm(one - other) / max(np.linalg.norm(other), 1e-12))


def compare(here, there):
    """Print how many models run, and agree, of those that both sides have tried."""
    mine, theirs = read(here), read(there)
    both = [name for name in mine if name in theirs]
    run = [name for name in both if "out" in mine[name] and "out" in theirs[name]]
    steps = [name for name in run if "loss" in mine[name] and "loss" in theirs[name]]
    values = [n for n in run if distance(mine[n]["out"], theirs[n]["out"]) < 1e-3]
    gradients = [n for n in steps if distance(mine[n]["gradients"], theirs[n]["gradients"]) < 5e-2]
    for name in both:
        if name not in run:
            print(name, *(side[name].get("error", "runs") for side in (mine, theirs)), sep=" | ")
        elif name not in values or name in steps and name not in gradients:
            print(f"{name} differs")
    print(f"{len(both)} models, {len(run)} run on both sides: results agree for {len(values)}, "
          f"gradients for {len(gradients)} of {len(steps)}")


def main():
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("package", nargs="?", choices=PACKAGES)
    parser.add_argument("path", nargs="?", help="where lines are added")
    parser.add_argument("files", nargs="*", help="configurations (MindYOLO)")
    parser.add_argument("--only", default="*", help="names of models, as in 'resnet*'")
    parser.add_argument("--largest", type=float, default=40e6,
                        help="weights of the largest model whose gradients are taken")
    parser.add_argument("--compare", nargs=2, metavar="FILE")
    given = parser.parse_args()
    if given.compare:
        compare(*given.compare)
    elif given.path:
        record(given.package, given.path, given.only, given.files, given.largest)
    else:
        parser.error("a package and a file are needed, or --compare and two files")


if __name__ == "__main__":
    main()
