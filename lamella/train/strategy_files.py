"""Files that say how a training job had cut its Parameters: MindSpore's strategy files.

They are JSON, or the protocol buffer message ``ParallelStrategyMap``.
"""

from __future__ import annotations

import glob
import json
import os
from typing import Any

from ..core.reading import read_json, reading
from ..parallel.parameter_layout import ParameterLayout
from .atomic_file import replacing
from .wire_format import Fields, Message, bytes_field, parse, varint_field, write

__all__ = ["Message", "build_searched_strategy", "layouts_of",
           "merge_pipeline_strategys", "restore_group_info_list", "write_strategy"]


_DIMS: Fields = {1: ("dim", "int", True)}
_LAYOUTS: Fields = {
    1: ("dev_matrix", _DIMS, True), 2: ("tensor_map", _DIMS, True),
    3: ("param_split_shape", _DIMS, True), 4: ("indices_offset", _DIMS, True),
    5: ("field", "int", False), 6: ("opt_weight_shard_step", "int", False),
    7: ("opt_weight_shard_size", "int", False)}
_STRATEGIES: Fields = {
    1: ("stage", "int", False), 2: ("parallel_strategy", _DIMS, True)}
_MAP: Fields = {
    1: ("current_stage", "int", False),
    2: ("parallel_strategy_item", {1: ("node_name", "str", False),
                                   2: ("parallel_strategys", _STRATEGIES, False)}, True),
    3: ("parallel_layout_item", {1: ("param_name", "str", False),
                                 2: ("parallel_layouts", _LAYOUTS, False)}, True)}
_STAGE = "stage-{}"  # the operator in the files written here whose strategy tells the stage
_GROUPS: Fields = {
    1: ("parallel_group_item", {1: ("group_name", "str", False),
                                2: ("parallel_group_ranks", _DIMS, False)}, True),
    2: ("ckpt_restore_rank_list", _DIMS, False)}


def _read(path: str, what: str, fields: Fields) -> Message:
    with open(path, "rb") as file:
        data = file.read()
    try:
        return parse(data, fields)
    except (ValueError, IndexError) as error:
        raise TypeError(f"For '{what}', the file {path} must be JSON, with a name that ends in "
                        f"'.json', or a protocol buffer, but {error}.") from error


def _checked_file(path: Any, function: str, argument: str) -> str:
    if not isinstance(path, str):
        raise TypeError(f"For '{function}', the argument '{argument}' must be a str, "
                        f"but got {type(path)}.")
    if not os.path.isfile(path):
        raise ValueError(f"For '{function}', no such file: {path}.")
    if not os.path.getsize(path):
        raise ValueError(f"For '{function}', the file {path} must not be empty.")
    return path


def build_searched_strategy(strategy_filename: str) -> dict[str, Message]:
    """How each Parameter was cut, from a strategy file.

    Args:
        strategy_filename: the file, as JSON (``.json``) or a protocol buffer.

    Returns:
        By Parameter name, the message ``ParallelLayouts`` of the file.

    Raises:
        TypeError: if the name is no str, or the file of neither form.
        ValueError: if there is no such file, or it is empty.
    """
    path = _checked_file(strategy_filename, "build_searched_strategy", "strategy_filename")
    if not path.endswith(".json"):
        items = _read(path, "build_searched_strategy", _MAP).parallel_layout_item  # type: ignore
        return {item.param_name: item.parallel_layouts for item in items}
    content = read_json("build_searched_strategy", path)
    with reading("build_searched_strategy", path):
        return {name: _described(item)
                for name, item in content.get("parallel_layout_item", {}).items()}


def _described(item: dict[str, Any]) -> Message:
    """The layout of a Parameter in JSON, as a message."""
    maps = item["tensor_map"]
    nested = any(isinstance(each, list) for each in maps)
    return Message(
        dev_matrix=[Message(dim=list(item["dev_matrix"]))],
        tensor_map=[Message(dim=each if isinstance(each, list) else [each]) for each in maps]
        if nested else [Message(dim=list(maps))],
        param_split_shape=[Message(dim=list(item.get("param_split_shape", [])))],
        indices_offset=[Message(dim=list(item.get("indices_offset", [])))],
        field=item.get("field", 0), opt_weight_shard_step=item.get("opt_weight_shard_step", 0),
        opt_weight_shard_size=item.get("opt_weight_shard_size", 0))


def restore_group_info_list(group_info_file_name: str) -> list[int]:
    """The ranks that hold the same as the process which wrote a group file.

    Args:
        group_info_file_name: the file, a protocol buffer.

    Raises:
        TypeError: if the name is no str, or the file no such file.
        ValueError: if there is no file, or it has no such list.
    """
    path = _checked_file(group_info_file_name, "restore_group_info_list", "group_info_file_name")
    found = _read(path, "restore_group_info_list", _GROUPS).ckpt_restore_rank_list  # type: ignore
    if found is None or not found.dim:
        raise ValueError("For 'restore_group_info_list', the group information file has no restore "
                         "rank list.")
    return list(found.dim)


def merge_pipeline_strategys(src_strategy_dirs: str, dst_strategy_file: str) -> None:
    """Join the strategy files of all stages of a pipeline.

    Args:
        src_strategy_dirs: a folder with a file or more of each stage, all ``.ckpt`` or all
            ``.json``.
        dst_strategy_file: the file to write, of the same form.

    Raises:
        NotADirectoryError: if there is no such folder.
        ValueError: if its files are of both forms, or of none, or one has no layouts.
    """
    name = "merge_pipeline_strategys"
    if not os.path.isdir(src_strategy_dirs):
        raise NotADirectoryError(f"src_strategy_dirs {src_strategy_dirs} is not a directory.")
    files = {form: sorted(glob.glob(os.path.join(glob.escape(src_strategy_dirs), f"*.{form}")))
             for form in ("ckpt", "json")}
    if bool(files["ckpt"]) == bool(files["json"]):
        raise ValueError(f"For '{name}', the strategies in '{src_strategy_dirs}' must be all "
                         f"'.ckpt' or all '.json'.")
    form = "ckpt" if files["ckpt"] else "json"
    read = _stage_fields if form == "ckpt" else _stage_content
    found: dict[int, Any] = {}
    for path in files[form]:
        stage, content = read(path, name)
        found.setdefault(stage, content)
    os.makedirs(os.path.dirname(os.path.abspath(dst_strategy_file)), exist_ok=True)
    if form == "ckpt":
        data = b"".join([varint_field(1, 1), *found.values()])
    else:
        merged: dict[str, Any] = {"current_stage": 1}
        for key in ("parallel_strategy_item", "parallel_layout_item"):
            merged[key] = {k: v for content in found.values() for k, v in content[key].items()}
        data = json.dumps(merged).encode()
    with replacing(dst_strategy_file) as new, open(new, "wb") as file:
        file.write(data)


def _stage_content(path: str, name: str) -> tuple[int, dict[str, Any]]:
    """The stage that a file in JSON is of, and its items; names of Parameters tell the stage."""
    content = read_json(name, path)
    with reading(name, path):
        layouts, strategies = (content.get(f"parallel_{kind}_item", {}) for kind in (
            "layout", "strategy"))
        if not layouts or not strategies:
            raise ValueError(f"For '{name}', the strategy file {path} is empty.")
        stage = next(iter(strategies.values())).get("stage", 0)
    return stage, {"parallel_strategy_item": strategies, "parallel_layout_item": {
        f"{stage}-{key}": value for key, value in layouts.items()}}


def _stage_fields(path: str, name: str) -> tuple[int, bytes]:
    """As `_stage_content`, of a protocol buffer, in its wire format."""
    found = _read(_checked_file(path, name, "src_strategy_dirs"), name, _MAP)
    strategies: Any = found.__dict__["parallel_strategy_item"]
    layouts: Any = found.__dict__["parallel_layout_item"]
    if not layouts or not strategies:
        raise ValueError(f"For '{name}', the strategy file {path} is empty.")
    stage = strategies[0].parallel_strategys.stage
    for item in layouts:
        item.param_name = f"{stage}-{item.param_name}"
    return stage, write(found, {number: field for number, field in _MAP.items() if number != 1})


def write_strategy(path: str, layouts: dict[str, ParameterLayout], stage: int | None = None
                   ) -> None:
    """Write how Parameters are cut, as JSON (``.json``) or a protocol buffer.

    Args:
        stage: the stage of a pipeline that has them.
    """
    items = {}
    for name, layout in layouts.items():
        axes = [list(each) or [-1] for each in layout.axes]
        nested = any(len(each) > 1 for each in axes)
        items[name] = {
            "dev_matrix": list(layout.devices),
            "tensor_map": axes if nested else [each[0] for each in axes],
            "param_split_shape": [], "indices_offset": [], "field": 0,
            "opt_weight_shard_step": int(layout.extra != 0), "opt_weight_shard_size": layout.extra}
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    if path.endswith(".json"):
        stage_fields = {} if stage is None else {
            _STAGE.format(stage): {"stage": stage, "parallel_strategy": []}}
        content = {"current_stage": stage or 0, "parallel_layout_item": items,
                   "parallel_strategy_item": stage_fields}
        data = json.dumps(content).encode()
    else:
        stage_fields = b""
        if stage is not None:
            stage_fields = bytes_field(2, bytes_field(1, _STAGE.format(stage).encode())
                                        + bytes_field(2, varint_field(1, stage)))
        data = b"".join([varint_field(1, stage or 0), stage_fields,
                         *(_layout_item(*item) for item in items.items())])
    with replacing(path) as new, open(new, "wb") as file:
        file.write(data)


def _layout_item(name: str, item: dict[str, Any]) -> bytes:
    """A Parameter's layout, in the wire format."""
    maps = item["tensor_map"]
    nested = bool(maps) and isinstance(maps[0], list)
    dims = [(1, item["dev_matrix"]), *((2, each) for each in (maps if nested else [maps])),
            (3, item["param_split_shape"]), (4, item["indices_offset"])]
    content = [bytes_field(number, b"".join(varint_field(1, n) for n in each))
               for number, each in dims]
    for number, field in ((5, "field"), (6, "opt_weight_shard_step"), (7, "opt_weight_shard_size")):
        content.append(varint_field(number, item[field]))
    return bytes_field(3, bytes_field(1, name.encode()) + bytes_field(2, b"".join(content)))


def layouts_of(strategy: str | dict[str, Any] | None) -> dict[str, ParameterLayout] | None:
    """The layouts in a strategy file, or in what `build_searched_strategy` gave."""
    if strategy is None:
        return None
    if isinstance(strategy, str):
        strategy = dict(build_searched_strategy(strategy))
    found: dict[str, ParameterLayout] = {}
    for name, message in strategy.items():
        number, dash, rest = name.partition("-")  # of a stage other than the first: "1-name"
        staged = dash and number.isdigit()
        key = rest if staged else name
        layout = _layout(name, message, int(number) if staged else 0)
        known = found.get(key)
        found[key] = layout if known is None else known._replace(
            stages=(*known.stages, *layout.stages))
    return found


def _layout(name: str, message: Any, stage: int) -> ParameterLayout:
    try:
        devices = tuple(message.dev_matrix[0].dim)
        if len(message.tensor_map) > 1:
            axes = [tuple(m.dim) for m in message.tensor_map if list(m.dim)]
        else:
            axes = [(axis,) for axis in message.tensor_map[0].dim]
        step, size = int(message.opt_weight_shard_step), int(message.opt_weight_shard_size)
    except (AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"The strategy of parameter {name!r} has not the fields that a strategy "
                         f"file has: {error}.") from error
    cut = tuple(tuple(axis for axis in each if axis >= 0) for each in axes)
    return ParameterLayout(devices, cut, size if step else 0, (stage,))
