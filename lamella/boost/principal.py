"""Principal components of a network's weights in the checkpoints of a folder."""

from __future__ import annotations

import os

import numpy as np

from ..nn.cell import Cell
from ..train.serialization import load_checkpoint

__all__ = ["local_components"]


def local_components(weight_load_dir: str | None, pca_mat_path: str | None, n_components: int,
                     rank: int, rank_size: int, network: Cell) -> str:
    """A file with this process's rows of the components.

    Args:
        weight_load_dir: the folder with the checkpoints, if there is no `pca_mat_path`; all
            components go to ``pca_mat_temp.npy`` in it.
        pca_mat_path: a file ``.npy`` of all components.
        n_components: how many there are.
        rank, rank_size: this process, and how many share them.
        network: the network.

    Raises:
        ValueError: if there is neither a file nor a folder, or too few checkpoints are in it.
    """
    if pca_mat_path is not None and os.path.isfile(pca_mat_path) and pca_mat_path.endswith(".npy"):
        components = np.load(pca_mat_path)
    elif weight_load_dir is not None and os.path.isdir(weight_load_dir):
        components = _components(_weights(weight_load_dir, network), n_components)
        pca_mat_path = os.path.join(weight_load_dir, "pca_mat_temp.npy")
        if rank == 0:
            np.save(pca_mat_path, components)
    else:
        raise ValueError(f"For 'AutoBoost', 'weight_load_dir' must be a folder with checkpoints, "
                         f"or 'pca_mat_path' a file '.npy', but got {weight_load_dir!r} and "
                         f"{pca_mat_path!r}.")
    each = -(-n_components // rank_size)
    mine = np.zeros((each, components.shape[1]), np.float32)
    rows = components[rank * each:min((rank + 1) * each, n_components)]
    mine[:len(rows)] = rows
    path = f"{pca_mat_path[:-4]}_rank_{rank}.npy"
    np.save(path, mine)
    return path


def _weights(folder: str, network: Cell) -> np.ndarray:
    """A row of all trainable weights for each checkpoint."""
    names = [parameter.name for parameter in network.trainable_params()]
    rows = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".ckpt"):
            found = load_checkpoint(os.path.join(folder, file))
            rows.append(np.concatenate([found[name].asnumpy().reshape(-1) for name in names]))
    return np.array(rows, np.float32)


def _components(data: np.ndarray, count: int) -> np.ndarray:
    """The first `count` right singular vectors of the rows' deviations from their mean."""
    if len(data) < count:
        raise ValueError(f"For 'AutoBoost', there must be {count} checkpoints, 'n_components', but "
                         f"got {len(data)}.")
    return np.linalg.svd(data - data.mean(0), full_matrices=False)[2][:count]
