"""The table of names of older versions of MindSpore, and where Lamella has their meaning.

A module's names are looked up in the places of its line, the first first (paths under ``lamella``);
what stands alone is ``place:name``. Each use is said once a program, at INFO.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..core import log

__all__ = ["module", "name"]

_TRANSFORMER = {  # file of the room of Transformers -> the places of its names
    "": ("legacy.transformer", "legacy.transformer.configs"),
    ".layers": ("legacy.transformer.layers",),
    ".loss": ("legacy.transformer.loss",),
    ".moe": ("legacy.transformer.layers", "legacy.transformer.configs"),
    ".op_parallel_config": ("legacy.transformer.configs",),
    ".transformer": ("legacy.transformer", "legacy.transformer.configs",
                     "legacy.transformer.blocks"),
}

# module under mindspore -> the places of its names
MODULES: dict[str, tuple[str, ...]] = {
    "dataset.vision.c_transforms": ("legacy.vision_c", "dataset.vision"),
    "dataset.vision.py_transforms": ("legacy.vision_py", "dataset.vision"),
    "dataset.vision.py_transforms_util": ("legacy.vision_py", "dataset.vision"),
    "dataset.transforms.vision.c_transforms": ("legacy.vision_c", "dataset.vision"),
    "dataset.transforms.vision.py_transforms": ("legacy.vision_py", "dataset.vision"),
    "dataset.transforms.c_transforms": ("dataset.transforms",),
    "dataset.transforms.py_transforms": (
        "legacy.transforms_py", "dataset.transforms", "dataset.transforms.transforms"),
    "dataset.text.c_transforms": ("dataset.text",),
    "dataset.text.py_transforms": ("dataset.text",),
    "profiler.profiling": ("profiler",),
    **dict.fromkeys((f"nn.metrics.{file}" for file in """
        accuracy auc bleu_score confusion_matrix cosine_similarity dice error fbeta
        hausdorff_distance loss mean_surface_distance metric occlusion_sensitivity perplexity
        precision recall roc root_mean_square_surface_distance topk
        """.split()), ("train.metrics",)),
    "dataset.engine.graphdata": ("legacy.graph_data",),
    "nn.acc": ("boost",),
    "nn.layer.flash_attention": ("legacy.flash_attention",),
    "ops.operations._tensor_array": ("legacy.tensor_lists",),
    "ops.operations.rl_ops": ("legacy.replay",),
    **{f"{room}{file}": places for room in ("parallel._transformer", "nn.transformer")
       for file, places in _TRANSFORMER.items()},
}


def _of(place: str, names: str) -> dict[str, str]:
    """Names that are called the same there."""
    return {name: f"{place}:{name}" for name in names.split()}


_IMAGES = _of("legacy.operators", "ResizeBilinear")

# module under mindspore -> its names -> place:name
NAMES: dict[str, dict[str, str]] = {
    "": {"ms_function": "graph:jit", "ms_class": "graph:jit_class"},
    "common": {"ms_function": "graph:jit", "ms_class": "graph:jit_class"},
    "common.api": {"ms_function": "graph:jit", "ms_class": "graph:jit_class"},
    **dict.fromkeys(("dataset", "dataset.engine"), _of(
        "legacy.graph_data", "GraphData OutputFormat SamplingStrategy")),
    "_c_expression": {"Tensor": "legacy.raw_tensor:Tensor"},
    "_checkparam": {"Validator": "legacy.checks:Validator", "Rel": "legacy.checks:Rel"},
    "nn": {"ResizeBilinear": "legacy.layers:ResizeBilinear"},
    "nn.layer": {"ResizeBilinear": "legacy.layers:ResizeBilinear"},
    "nn.layer.basic": {"ResizeBilinear": "legacy.layers:ResizeBilinear"},
    "nn.layer.image": {"ResizeBilinear": "legacy.layers:ResizeBilinear"},
    **dict.fromkeys(("ops.operations.image_ops", "ops.operations.nn_ops"), _IMAGES),
    **dict.fromkeys(("ops", "ops.operations"), {
        **_IMAGES, **_of("legacy.replay", "BufferAppend BufferGetItem BufferSample")}),
    "parallel._ps_context": _of("legacy.parameter_servers", "_is_role_pserver _is_role_worker"),
    "ops.operations._rl_inner_ops": {
        **_of("legacy.returns", "BatchAssign DiscountedReturn"),
        **_of("legacy.memories", """
            PriorityReplayBufferCreate PriorityReplayBufferDestroy PriorityReplayBufferPush
            PriorityReplayBufferSample PriorityReplayBufferUpdate ReservoirReplayBufferCreate
            ReservoirReplayBufferDestroy ReservoirReplayBufferPush ReservoirReplayBufferSample"""),
        **_of("legacy.tensor_lists", """
            TensorsQueueClear TensorsQueueClose TensorsQueueCreate TensorsQueueGet TensorsQueuePut
            TensorsQueueSize"""),
        **_of("legacy.accelerators", "EnvCreate EnvReset EnvStep MuxReceive MuxSend"),
    },
}


def module(path: str) -> tuple[str, ...] | None:
    """The places of the names of an older module; None if no version had it.

    Args:
        path: the module, without ``mindspore.``.

    Examples:
        >>> from lamella.legacy import names
        >>> names.module("dataset.transforms.c_transforms"), names.module("dataset.misspelled")
        (('dataset.transforms',), None)
    """
    places = MODULES.get(path)
    if places is not None:
        new = next((p for p in places if not p.startswith("legacy.")), None)
        _say(path, f"was moved to mindspore.{new}" if new else "is no part of 2.10")
    return places


def name(owner: str, wanted: str) -> Any:
    """The value of an older name of a module; None if no version had it.

    Args:
        owner: the module, without ``mindspore.``.
        wanted: the name.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy import names
        >>> names.name("", "ms_function") is ms.jit, names.name("nn", "Densee")
        (True, None)
    """
    where = NAMES.get(owner, {}).get(wanted)
    if where is None:
        return None
    place, _, there = where.partition(":")
    path = f"{owner}.{wanted}".lstrip(".")
    if place.startswith("legacy."):
        _say(path, "is no part of 2.10")
    else:
        _say(path, f"is mindspore.{there}")
    return getattr(importlib.import_module(f"{__name__.partition('.')[0]}.{place}"), there)


_said: set[str] = set()


def _say(path: str, what: str) -> None:
    if path not in _said:
        _said.add(path)
        log.info("mindspore.%s %s: it has the meaning that older versions gave it.", path, what)
