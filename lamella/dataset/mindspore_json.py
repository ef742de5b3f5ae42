"""Arguments from pipelines that MindSpore 2.10 has serialized.

Its files keep what its C++ objects hold: lists where a number was given, 0 or an empty list for
None, numbers for members of enumerations. Some operations keep no arguments at all; those that
need any are refused, since their defaults may be another operation.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ..core import dtype
from .makeable import OPERATIONS, SAMPLERS, public
from .samplers import Shuffle
from .schema import Schema

_SHUFFLES = (Shuffle.FALSE, Shuffle.FILES, Shuffle.GLOBAL, Shuffle.INFILE)
_OURS = {"HwcToChw": "HWC2CHW"}  # operations with another name there
_INTER = "vision Inter LINEAR NEAREST CUBIC AREA PILCUBIC"
_RELATIONS = "transforms Relational EQ NE LT LE GT GE"
_MEMBERS = {  # an argument -> its enumeration, with the members in the order of their numbers there
    "policy": "vision AutoAugmentPolicy IMAGENET CIFAR10 SVHN",
    "interpolation": _INTER, "resample": _INTER,
    "padding_mode": "vision Border CONSTANT EDGE REFLECT SYMMETRIC",
    "image_batch_format": "vision ImageBatchFormat NHWC NCHW",
    "slice_mode": "vision SliceMode PAD DROP",
    "operator": _RELATIONS,
    "normalization_form": "text NormalizeForm NONE NFC NFKC NFD NFKD",
    "normalize_form": "text NormalizeForm NONE NFC NFKC NFD NFKD",
    "stype": "audio ScaleType MAGNITUDE POWER",
    "density_function": "audio DensityFunction TPDF RPDF GPDF",
    "fade_shape": "audio FadeShape LINEAR EXPONENTIAL LOGARITHMIC QUARTER_SINE HALF_SINE",
    "modulation": "audio Modulation SINUSOIDAL TRIANGULAR",
    "gain_type": "audio GainType AMPLITUDE POWER DB",
    "resample_method": "audio ResampleMethod SINC_INTERPOLATION KAISER_WINDOW",
    "window": "audio WindowType BARTLETT BLACKMAN HAMMING HANN KAISER",
    "window_type": "audio WindowType BARTLETT BLACKMAN HAMMING HANN KAISER",
    "pad_mode": "audio BorderType CONSTANT EDGE REFLECT SYMMETRIC",
    "mel_type": "audio MelType HTK SLANEY",
    "mel_scale": "audio MelType HTK SLANEY",
}
_SPECIAL = {
    ("Flanger", "interpolation"): "audio Interpolation LINEAR QUADRATIC",
    ("MFCC", "norm"): "audio NormMode NONE ORTHO",
    ("LFCC", "norm"): "audio NormMode NONE ORTHO",
    ("MelScale", "norm"): "audio NormType NONE SLANEY",
    ("MelSpectrogram", "norm"): "audio NormType NONE SLANEY",
    ("InverseMelScale", "norm"): "audio NormType NONE SLANEY",
}
_RENAMED = {
    ("Fill", "data"): "fill_value", ("FrequencyMasking", "frequency_mask_param"): "freq_mask_param",
    ("Mask", "op"): "operator", ("Rotate", "degree"): "degrees",
    ("CLUEDataset", "dataset_dir"): "dataset_files",
    ("TFRecordDataset", "schema_json_string"): "schema",
    ("TFRecordDataset", "schema_file_path"): "schema",
}
_DROPPED = {"callback", "children", "children_flag_and_nums", "children_sizes",
            "children_start_end_index", "connector_queue_size", "cutoff_type", "device_id",
            "device_target", "device_type", "implementation", "op_type", "random", "recursive",
            "reset_each_epoch", "shuffle_files", "shuffle_global", "total_batch"}
_NONE_IF_EMPTY = {"center", "class_indexing", "column_names", "columns_list", "compression_type",
                  "extensions", "ignore", "input_columns", "offset", "output_columns", "schema"}
_ONE = {"size", "kernel_size", "sigma"}  # a list of one stands for its number
_SEQUENCES = {"fill_value", "padding", "translate", "scale", "shear", "center", "degrees", "ratio",
              "bits", "threshold", "size", "coordinates", "brightness", "contrast", "saturation",
              "hue"}
_TYPE_NUMBERS = ("", "bool_", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                 "uint64", "float16", "float32", "float64", "string")


def arguments_of(about: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a source, or of an operation on datasets, as MindSpore wrote it.

    Raises:
        ValueError: if it has a function of Python's, or something that isn't known.
    """
    kind = about["op_type"]
    if kind in ("Concat", "Zip"):
        return {}
    found: dict[str, Any] = {}
    for name, value in about.items():
        if name in _DROPPED:
            continue
        if value == "pyfunc":
            raise ValueError(f"For 'deserialize', the function '{name}' of '{kind}' can't be made "
                             f"again.")
        name = _RENAMED.get((kind, name), name)
        if name == "operations":
            found[name] = [_operation(v) for v in value]
        elif name == "sampler":
            found[name] = None if value is None else _sampler(value)
        elif name == "shuffle" and isinstance(value, int) and not isinstance(value, bool):
            found[name] = _member(_SHUFFLES, value, name) if value else False
        elif name == "schema" and isinstance(value, dict):
            found[name] = Schema()
            found[name].from_json(value)
        else:
            found[name] = None if name in _NONE_IF_EMPTY and not value else value
    if "num_shards" in found and found["num_shards"] == 1:
        found["num_shards"] = found["shard_id"] = None
    if found.get("num_samples") == 0:
        found["num_samples"] = None
    return found


def _sampler(about: dict[str, Any]) -> Any:
    name = about["sampler_name"]
    if name not in SAMPLERS:
        raise ValueError(f"For 'deserialize', {str(name)[:80]!r} is no sampler that can be made "
                         f"again.")
    kind = public(name)
    taken = inspect.signature(kind).parameters
    found = {k: v for k, v in about.items() if k in taken}
    found["num_samples"] = about.get("num_samples") or None
    if "shuffle_mode" in about:
        found["shuffle"] = _member(_SHUFFLES, about["shuffle_mode"], "shuffle_mode")
    made = kind(**found)
    if hasattr(made, "seed") and isinstance(about.get("seed"), int):
        made.seed = about["seed"] - 1  # which was written down after it was taken
    for inner in about.get("child_sampler", []):
        made.add_child(_sampler(inner))
    return made


def _operation(about: dict[str, Any]) -> Any:
    name: str = about["tensor_op_name"]
    name = _OURS.get(name, name)
    module = about.get("python_module", "")
    rooms = [room for room, names in OPERATIONS.items() if name in names
             and (not module or module.startswith(f"mindspore.dataset.{room}."))]
    if not rooms:
        raise ValueError(f"For 'deserialize', the operation {str(name)[:80]!r} can't be made "
                         f"again: it is none of MindSpore's.")
    kind, written = public(name, rooms[0]), about.get("tensor_op_params")
    taken = inspect.signature(kind).parameters
    if written is None and taken:
        raise ValueError(f"For 'deserialize', MindSpore kept none of the arguments of '{name}', "
                         f"which are {list(taken)}: it can't be made again.")
    found: dict[str, Any] = {}
    for there, value in (written or {}).items():
        key: str = _RENAMED.get((name, str(there)), str(there))
        if key in _DROPPED or module and key not in taken:  # which keeps all attributes
            continue
        if (name, key) in (("Fill", "shape"), ("Fill", "type"), ("Decode", "rgb")):
            continue
        if key not in taken:
            raise ValueError(f"For 'deserialize', the argument {key!r} of '{name}' is not "
                             f"known.")
        found[key] = _argument(name, key, value, bool(module))
    return kind(**found)


def _argument(operation: str, name: str, value: Any, in_python: bool) -> Any:
    if name == "transform":
        return _operation(value)
    if name == "transforms":
        return [_operation(v) for v in value]
    if name == "policy" and isinstance(value, list):
        return [[(_operation(v["tensor_op"]), v["prob"]) for v in chosen] for chosen in value]
    if name in ("constant", "pad_value", "fill_value") and isinstance(value, dict):
        return value["data"][0]
    if name == "data_type":
        return np.dtype(_known_type(value)).type
    if name == "dtype" and isinstance(value, int):
        return getattr(dtype, _member(_TYPE_NUMBERS, value, name))
    if name == "vocab":
        return public("Vocab", "text").from_dict(value)
    if name == "convert_mode":
        return public("ConvertMode", "vision")(value)
    about = _SPECIAL.get((operation, name), _MEMBERS.get(name))
    if about is not None and isinstance(value, int) and not isinstance(value, bool):
        room, kind, *members = about.split()
        enum = public(kind, room)
        if in_python:  # which keep the number of the enumeration in Python
            return enum(value)
        return enum[_member(members, value, name)]
    if name in _NONE_IF_EMPTY and value in ([], ""):
        return None
    if isinstance(value, list):
        if name in _ONE and len(value) == 1:
            return value[0]
        return tuple(value) if name in _SEQUENCES else value
    return value


def _known_type(name: Any) -> str:
    if name not in _TYPE_NUMBERS[1:] and name != "bool":
        raise ValueError(f"For 'deserialize', {str(name)[:40]!r} is no data type.")
    return {"bool_": "bool", "string": "str"}.get(name, name)  # NumPy's names


def _member(members: Any, number: Any, name: str) -> Any:
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(members):
        raise ValueError(f"For 'deserialize', '{name}' has no member {str(number)[:40]}.")
    return members[number]
