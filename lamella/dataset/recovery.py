"""Notes the dataset of a training, so that a restarted training continues at its step."""

from __future__ import annotations

from typing import Any

_training: Any = None


def _set_training_dataset(dataset: Any) -> None:
    """Say which dataset, or iterator of one, is trained with."""
    global _training
    _training = dataset


def _get_training_dataset() -> Any:
    """The dataset or iterator that is trained with; None where none was named."""
    return _training


def _reset_training_dataset(global_step: int, dataset_size: int) -> None:
    """Let the dataset that is trained with go on after `global_step` steps.

    Args:
        global_step: how many steps have been done.
        dataset_size: how many steps an epoch has.

    Raises:
        RuntimeError: if no dataset was named.
    """
    if _training is None:
        raise RuntimeError("Training dataset is not set.")
    _training._reset(global_step, dataset_size)
