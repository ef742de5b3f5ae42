"""Classified photographs of objects and scenes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..checks import existing_file, one_of
from ..errors import in_pipeline, needs
from .files import picture
from .images import FolderDataset


def matrices(path: str) -> dict[str, Any]:
    """The variables of a MATLAB file, without dimensions of size 1.

    Raises:
        RuntimeError: if it can't be read.
    """
    io = needs("vision", "scipy.io", "scipy")
    try:
        return io.loadmat(path, squeeze_me=True)
    except Exception as error:  # of many kinds, where bytes are damaged
        raise in_pipeline(f"The file {path} can't be read: {error}") from error


class Flowers102Dataset(FolderDataset):
    """Photographs of 102 species of flowers (Nilsback and Zisserman 2008).

    Columns are `image`, with the task "Segmentation" `segmentation`, and `label` uint32.

    Args:
        dataset_dir: the folder with ``imagelabels.mat``, ``setid.mat``, ``jpg`` and ``segmim``.
        task: ``"Classification"`` or ``"Segmentation"``.
        usage: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    def __init__(self, dataset_dir: str, task: str = "Classification", usage: str = "all",
                 *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        name = "Flowers102Dataset"
        self.task = one_of(task, ["Classification", "Segmentation"], "task", name)
        self.usage = one_of(usage, ["train", "valid", "test", "all"], "usage", name)
        if task == "Segmentation":
            self._columns = ["image", "segmentation", "label"]

    def _list(self) -> list[Any]:
        listing = existing_file(os.path.join(self.dataset_dir, "imagelabels.mat"))
        labels = matrices(listing)["labels"]
        parts = matrices(existing_file(os.path.join(self.dataset_dir, "setid.mat")))
        names = {"train": ["trnid"], "valid": ["valid"], "test": ["tstid"],
                 "all": ["trnid", "tstid", "valid"]}[self.usage]
        return [(int(number), int(labels[number - 1]) - 1)
                for name in names for number in np.atleast_1d(parts[name])]

    def _read(self, item: Any) -> Any:
        images = [picture(path, self.decode) for path in self._paths(item)]
        return (*images, np.uint32(item[1]))

    def _paths(self, item: Any) -> list[str]:
        folders = {"jpg": "image", "segmim": "segmim"} if self.task == "Segmentation" else {
            "jpg": "image"}
        return [os.path.join(self.dataset_dir, name, f"{stem}_{item[0]:05}.jpg")
                for name, stem in folders.items()]

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each flower."""
        return {name: number for number, name in enumerate(" ".join(_FLOWERS.split()).split(", "))}


class Caltech101Dataset(FolderDataset):
    """Photographs of 101 classes (Fei-Fei et al. 2004), with outlines of the objects.

    Columns are `image`, then `category` int64, or `annotation`, a float64 array of points, or both.

    Args:
        dataset_dir: the folder with ``101_ObjectCategories`` and ``Annotations``.
        target_type: ``"category"``, ``"annotation"`` or ``"all"``; default: the first.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    _inside = ("101_ObjectCategories",)
    _renamed = {"Faces": "Faces_2", "Faces_easy": "Faces_3", "Motorbikes": "Motorbikes_16",
                "airplanes": "Airplanes_Side_2"}  # folders of annotations with another name

    def __init__(self, dataset_dir: str, target_type: str | None = None, *args: Any,
                 **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.target_type = one_of(target_type or "category", ["category", "annotation", "all"],
                                  "target_type", "Caltech101Dataset")
        targets = ["category", "annotation"] if target_type == "all" else [self.target_type]
        self._columns = ["image", *targets]

    def _classes(self) -> list[str]:
        return [name for name in super()._classes() if name != "BACKGROUND_Google"]

    def _read(self, item: tuple[str, int]) -> Any:
        path, label = item
        category = np.asarray(label, np.int64)
        image = picture(path, self.decode)
        if self.target_type == "category":
            return image, category
        folder, name = os.path.split(path)
        name = os.path.splitext(name)[0].replace("image_", "annotation_")
        kind = os.path.basename(folder)
        outline = matrices(os.path.join(self.dataset_dir, "Annotations",
                                        self._renamed.get(kind, kind), f"{name}.mat"))
        annotation = np.asarray(outline["obj_contour"], np.float64)
        return (image, annotation) if self.target_type == "annotation" else (
            image, category, annotation)

    def get_class_indexing(self) -> dict[str, Any]:
        """The number of each class."""
        return {name: number for number, name in enumerate(self._classes())}


class LSUNDataset(FolderDataset):
    """Photographs of ten classes of scenes (Yu et al. 2015): `image`, `label` uint32.

    Args:
        dataset_dir: the folder with ``bedroom_train``, ``bedroom_val`` and so on, and ``test``.
        usage: ``"train"``, ``"test"``, ``"valid"`` or ``"all"``, which leaves out the test's.
        classes: the classes to read; default: all.
        num_samples and the rest: as for `Caltech256Dataset`.

    Raises:
        ValueError: for another usage, or a class that isn't there.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, classes: Any = None,
                 *args: Any, **kwargs: Any):
        super().__init__(dataset_dir, *args, **kwargs)
        self.usage = one_of(usage or "all", ["train", "test", "valid", "all"], "usage",
                            "LSUNDataset")
        self.classes = [classes] if isinstance(classes, str) else classes
        there = {name.rpartition("_")[0] for name in super()._classes()}
        for name in self.classes or ():
            one_of(name, sorted(there - {""}), "classes", "LSUNDataset")

    def _classes(self) -> list[str]:
        if self.usage == "test":
            return ["test"]
        endings = {"train": ["train"], "valid": ["val"]}.get(self.usage, ["train", "val"])
        found = []
        for name in super()._classes():
            kind, _, ending = name.rpartition("_")
            if ending in endings and (self.classes is None or kind in self.classes):
                found.append(name)
        return found


class Places365Dataset(FolderDataset):
    """Photographs of 365 classes of scenes (Zhou et al. 2017): `image`, `label` uint32.

    Args:
        dataset_dir: the folder with the lists of files, ``data_256_standard``, ``val_256``, ....
        usage: ``"train-standard"``, ``"train-challenge"`` or ``"val"``; default: the first.
        small: read the images of 256 x 256, not the large ones.
        decode: give images; else the files' bytes.
        num_samples and the rest: as for `Caltech256Dataset`.
    """

    def __init__(self, dataset_dir: str, usage: str | None = None, small: bool = True,
                 decode: bool = False, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None):
        super().__init__(dataset_dir, num_samples, num_parallel_workers, shuffle, decode, sampler,
                         num_shards, shard_id, cache)
        self.usage = one_of(usage or "train-standard", ["train-standard", "train-challenge", "val"],
                            "usage", "Places365Dataset")
        self.small = small

    def _list(self) -> list[Any]:
        part, _, kind = self.usage.partition("-")
        listing = os.path.join(self.dataset_dir, f"places365_{self.usage.replace('-', '_')}.txt")
        if not os.path.exists(listing):  # as it comes, and as MindSpore's documentation has it
            listing = existing_file(os.path.join(self.dataset_dir, f"places365_{self.usage}.txt"))
        size = "256" if self.small else "large"
        images = os.path.join(self.dataset_dir, f"val_{size}" if part == "val" else
                              f"data_{size}_{kind}")
        with open(listing, encoding="utf-8") as opened:
            found = [line.rpartition(" ") for line in map(str.strip, opened) if line]
        return [(os.path.join(images, path.lstrip("/")), int(label)) for path, _, label in found]


_FLOWERS = """
pink primrose, hard-leaved pocket orchid, canterbury bells, sweet pea, english marigold, tiger
lily, moon orchid, bird of paradise, monkshood, globe thistle, snapdragon, colt's foot, king
protea, spear thistle, yellow iris, globe-flower, purple coneflower, peruvian lily, balloon
flower, giant white arum lily, fire lily, pincushion flower, fritillary, red ginger, grape
hyacinth, corn poppy, prince of wales feathers, stemless gentian, artichoke, sweet william,
carnation, garden phlox, love in the mist, mexican aster, alpine sea holly, ruby-lipped
cattleya, cape flower, great masterwort, siam tulip, lenten rose, barbeton daisy, daffodil,
sword lily, poinsettia, bolero deep blue, wallflower, marigold, buttercup, oxeye daisy, common
dandelion, petunia, wild pansy, primula, sunflower, pelargonium, bishop of llandaff, gaura,
geranium, orange dahlia, pink-yellow dahlia?, cautleya spicata, japanese anemone, black-eyed
susan, silverbush, californian poppy, osteospermum, spring crocus, bearded iris, windflower,
tree poppy, gazania, azalea, water lily, rose, thorn apple, morning glory, passion flower,
lotus, toad lily, anthurium, frangipani, clematis, hibiscus, columbine, desert-rose, tree
mallow, magnolia, cyclamen, watercress, canna lily, hippeastrum, bee balm, ball moss,
foxglove, bougainvillea, camellia, mallow, mexican petunia, bromelia, blanket flower, trumpet
creeper, blackberry lily
"""

__all__ = ["Caltech101Dataset", "Flowers102Dataset", "LSUNDataset", "Places365Dataset", "matrices"]
