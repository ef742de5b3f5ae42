"""Other formats turned into mindrecord files."""

from __future__ import annotations

import csv
import os
from typing import Any

import numpy as np

from ..sources.cifar import read_cifar
from ..sources.mnist import read_idx
from ..sources.tfrecord import examples
from ..vision.utils import encode_jpeg
from .writer import SUCCESS, FileWriter


class _Converter:
    """The base of converters: `_write` writes the files."""

    def run(self) -> str:
        """Convert. Returns "SUCCESS"."""
        self._write()
        return SUCCESS

    def transform(self) -> str:
        """Convert. Returns "SUCCESS"."""
        return self.run()

    def _write(self) -> None:
        raise NotImplementedError


def _encoded(image: np.ndarray) -> bytes:
    return encode_jpeg(image, 95).tobytes()


def _images(destination: str, parts: int, schema: dict[str, Any], rows: list[dict[str, Any]],
            desc: str) -> None:
    writer = FileWriter(destination, parts)
    writer.add_schema(schema, desc)
    writer.write_raw_data(rows)
    writer.commit()


class MnistToMR(_Converter):
    """MNIST's files as mindrecord files ``DESTINATION_train.mindrecord`` and ``..._test...``.

    Args:
        source: the folder with the files.
        destination: the name of what is written.
        partition_number: into how many files each.
    """

    def __init__(self, source: str, destination: str, partition_number: int = 1):
        self.source, self.destination = source, destination
        self.partition_number = partition_number

    def _write(self) -> None:
        for part, name in (("train", "train"), ("t10k", "test")):
            images = read_idx(os.path.join(self.source, f"{part}-images-idx3-ubyte"), 3)
            labels = read_idx(os.path.join(self.source, f"{part}-labels-idx1-ubyte"), 1)
            rows = [{"label": int(label), "data": _encoded(image)}
                    for image, label in zip(images, labels, strict=True)]
            _images(f"{self.destination}_{name}.mindrecord", self.partition_number,
                    {"label": {"type": "int64"}, "data": {"type": "bytes"}}, rows, "mnist_schema")


class Cifar10ToMR(_Converter):
    """CIFAR-10's files (binary version) as ``DESTINATION`` and ``DESTINATION_test``.

    Args:
        source: the folder with the files.
        destination: the name of what is written.
    """

    _fine = False

    def __init__(self, source: str, destination: str):
        self.source, self.destination = source, destination

    def _write(self) -> None:
        for usage, name in (("train", self.destination), ("test", f"{self.destination}_test")):
            images, labels, _ = read_cifar(self.source, usage, 2 if self._fine else 1)
            schema: dict[str, Any] = {"id": {"type": "int64"}, "data": {"type": "bytes"}}
            fields = ["coarse_label", "fine_label"] if self._fine else ["label"]
            schema.update({f: {"type": "int64"} for f in fields})
            rows = [{"id": i, "data": _encoded(image), **{
                f: int(v) for f, v in zip(fields, labels[i], strict=True)}}
                for i, image in enumerate(images)]
            _images(name, 1, schema, rows, "img_schema")


class Cifar100ToMR(Cifar10ToMR):
    """CIFAR-100's files (binary version) as ``DESTINATION`` and ``DESTINATION_test``.

    Args:
        source: the folder with the files.
        destination: the name of what is written.
    """

    _fine = True


class CsvToMR(_Converter):
    """A CSV file with a line of names as mindrecord files.

    Args:
        source: the file.
        destination: the name of what is written.
        columns_list: which columns; default: all.
        partition_number: into how many files.
    """

    def __init__(self, source: str, destination: str, columns_list: list[str] | None = None,
                 partition_number: int = 1):
        self.source, self.destination = source, destination
        self.columns_list, self.partition_number = columns_list, partition_number

    def _write(self) -> None:
        with open(self.source, newline="", encoding="utf-8") as opened:
            rows: list[dict[str, Any]] = list(csv.DictReader(opened))
        columns = self.columns_list or list(rows[0])
        kinds = {name: _kind([row[name] for row in rows]) for name in columns}
        change = {"int64": int, "float64": float, "string": str}
        writer = FileWriter(self.destination, self.partition_number)
        writer.add_schema({n: {"type": k} for n, k in kinds.items()}, "csv_schema")
        writer.write_raw_data([{n: change[k](row[n]) for n, k in kinds.items()} for row in rows])
        writer.commit()


def _kind(values: list[str]) -> str:
    for kind, change in (("int64", int), ("float64", float)):
        try:
            for value in values:
                change(value)
            return kind
        except ValueError:
            continue
    return "string"


class ImageNetToMR(_Converter):
    """ImageNet's folders of images as mindrecord files.

    Args:
        map_file: a file with a folder's name and its class number on each line.
        image_dir: the folder of the folders.
        destination: the name of what is written.
        partition_number: into how many files.
    """

    def __init__(self, map_file: str, image_dir: str, destination: str, partition_number: int = 1):
        self.map_file, self.image_dir = map_file, image_dir
        self.destination, self.partition_number = destination, partition_number

    def _write(self) -> None:
        rows = []
        with open(self.map_file, encoding="utf-8") as opened:
            classes = [line.split()[:2] for line in opened if line.strip()]
        for folder, label in classes:
            for name in sorted(os.listdir(os.path.join(self.image_dir, folder))):
                with open(os.path.join(self.image_dir, folder, name), "rb") as image:
                    rows.append({"label": int(label), "file_name": name, "image": image.read()})
        _images(self.destination, self.partition_number, {
            "label": {"type": "int64"}, "image": {"type": "bytes"},
            "file_name": {"type": "string"}}, rows, "imagenet_schema")


class TFRecordToMR(_Converter):
    """A TFRecord file as a mindrecord file.

    Args:
        source: the file.
        destination: the name of what is written.
        feature_dict: the features' types by name: ``"int64"``, ``"float32"``, ``"string"`` or
            ``"bytes"``.
        bytes_fields: which of them are bytes.
    """

    def __init__(self, source: str, destination: str, feature_dict: dict[str, Any],
                 bytes_fields: list[str] | None = None):
        self.source, self.destination = source, destination
        self.feature_dict, self.bytes_fields = feature_dict, bytes_fields or []

    def _write(self) -> None:
        schema: dict[str, Any] = {}
        rows: list[dict[str, Any]] = []
        for example in examples(self.source):
            row: dict[str, Any] = {}
            for name in self.feature_dict:
                values = example[name]
                if isinstance(values, list):
                    row[name] = values[0] if name in self.bytes_fields else values[0].decode()
                    schema[name] = {"type": "bytes" if name in self.bytes_fields else "string"}
                elif len(values) == 1:
                    row[name] = values[0].item()
                    schema[name] = {"type": str(values.dtype)}
                else:
                    row[name] = values
                    schema[name] = {"type": str(values.dtype), "shape": [-1]}
            rows.append(row)
        writer = FileWriter(self.destination)
        writer.add_schema(schema, "tfrecord_schema")
        writer.write_raw_data(rows)
        writer.commit()
