"""In PyTorch. The transforms are those of torchvision's first version, line by line, on Pillow."""

import functools
import math
import pathlib

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from . import BATCH, MEAN, SIZE, STD, WORKERS, folder

MEANS = torch.tensor(MEAN)[:, None, None] / 255
STDS = torch.tensor(STD)[:, None, None] / 255


def place(width, height, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
    """Of RandomResizedCrop."""
    logs = torch.log(torch.tensor(ratio))
    for _ in range(10):
        area = width * height * torch.empty(1).uniform_(*scale).item()
        aspect = torch.exp(torch.empty(1).uniform_(*logs.tolist())).item()
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = int(torch.randint(0, height - h + 1, (1,)))
            left = int(torch.randint(0, width - w + 1, (1,)))
            return left, top, left + w, top + h
    return 0, 0, width, height


class Photographs(Dataset):
    def __init__(self, root):
        self.files = sorted(pathlib.Path(root).glob("*/*.jpg"))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        path = self.files[number]
        with open(path, "rb") as file:
            image = Image.open(file).convert("RGB")
        image = image.crop(place(*image.size)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        if torch.rand(1) < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        array = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()
        return array.float().div_(255).sub_(MEANS).div_(STDS), int(path.parent.name)


@functools.cache
def batches(data, ends):
    files = Photographs(folder(data.numpy(), ends.numpy()))
    return DataLoader(files, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True)


def epoch(_, data, ends):
    return [labels for images, labels in batches(data, ends)]
