"""Learning rates as lists, a value for each step."""

from __future__ import annotations

import math

from .checks import non_negative_float, of_type, positive_float, positive_int, within

__all__ = ["piecewise_constant_lr", "exponential_decay_lr", "natural_exp_decay_lr",
           "inverse_decay_lr", "cosine_decay_lr", "polynomial_decay_lr", "warmup_lr"]

_MOST_STEPS = 10**8  # a list of more doesn't fit in memory, and takes minutes to fill


def piecewise_constant_lr(milestone: list[int] | tuple[int, ...],
                          learning_rates: list[float] | tuple[float, ...]) -> list[float]:
    """Constant between milestones.

    Args:
        milestone: the steps at which each rate ends, growing.
        learning_rates: a rate for each milestone.

    Returns:
        A list of ``milestone[-1]`` rates.

    Raises:
        TypeError: if a milestone is no int or a rate no float.
        ValueError: if the lengths differ or the milestones don't grow.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.piecewise_constant_lr([2, 5], [0.1, 0.05])
        [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    where = "piecewise_constant_lr"
    of_type(milestone, (tuple, list), "milestone", where)
    of_type(learning_rates, (tuple, list), "learning_rates", where)
    if len(milestone) != len(learning_rates):
        raise ValueError(f"For '{where}', 'milestone' and 'learning_rates' must have the same "
                         f"length, but got {len(milestone)} and {len(learning_rates)}.")
    rates: list[float] = []
    for i, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        _step_count(end, f"milestone[{i}]", where)
        of_type(rate, float, f"learning_rates[{i}]", where)
        if end < len(rates):
            raise ValueError(f"For '{where}', 'milestone' must grow, but milestone[{i}] = {end} "
                             f"comes after {milestone[i - 1]}.")
        rates += [rate] * (end - len(rates))
    return rates


def _step_count(value: int, name: str, where: str) -> None:
    within(of_type(value, int, name, where), 1, _MOST_STEPS, "[]", name, where)


def _check_decay(where: str, learning_rate: float, decay_rate: float, total_step: int,
                 step_per_epoch: int, decay_epoch: int, is_stair: bool) -> None:
    _check_epochs(where, total_step, step_per_epoch, decay_epoch=decay_epoch)
    positive_float(learning_rate, "learning_rate", where)
    positive_float(decay_rate, "decay_rate", where)
    of_type(is_stair, bool, "is_stair", where)


def _check_epochs(where: str, total_step: int, step_per_epoch: int, **epochs: int) -> None:
    _step_count(total_step, "total_step", where)
    for name, count in {"step_per_epoch": step_per_epoch, **epochs}.items():
        positive_int(count, name, where)


def exponential_decay_lr(learning_rate: float, decay_rate: float, total_step: int,
                         step_per_epoch: int, decay_epoch: int,
                         is_stair: bool = False) -> list[float]:
    """``learning_rate * decay_rate ** (epoch / decay_epoch)``.

    Args:
        learning_rate: the first rate, above 0.
        decay_rate: the factor, above 0.
        total_step: how many steps.
        step_per_epoch: steps in an epoch; the rate changes between epochs.
        decay_epoch: the epochs that one factor takes.
        is_stair: whether to round the exponent down.

    Returns:
        A list of `total_step` rates.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or not above 0.

    Examples:
        >>> import lamella as ms
        >>> [round(r, 4) for r in ms.nn.exponential_decay_lr(0.1, 0.9, 6, 2, 1)]
        [0.1, 0.1, 0.09, 0.09, 0.081, 0.081]
    """
    _check_decay("exponential_decay_lr", learning_rate, decay_rate, total_step, step_per_epoch,
                 decay_epoch, is_stair)
    exponents = (step // step_per_epoch / decay_epoch for step in range(total_step))
    return [learning_rate * decay_rate ** (math.floor(e) if is_stair else e) for e in exponents]


def natural_exp_decay_lr(learning_rate: float, decay_rate: float, total_step: int,
                         step_per_epoch: int, decay_epoch: int,
                         is_stair: bool = False) -> list[float]:
    """``learning_rate * exp(-decay_rate * epoch)``; arguments as `exponential_decay_lr`.

    With `is_stair` the epoch is rounded down to a multiple of `decay_epoch`, which has no effect
    otherwise.

    Examples:
        >>> import lamella as ms
        >>> [round(r, 4) for r in ms.nn.natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True)]
        [0.1, 0.1, 0.1, 0.1, 0.0165, 0.0165]
    """
    _check_decay("natural_exp_decay_lr", learning_rate, decay_rate, total_step, step_per_epoch,
                 decay_epoch, is_stair)
    epochs = [step // step_per_epoch for step in range(total_step)]
    if is_stair:
        epochs = [epoch // decay_epoch * decay_epoch for epoch in epochs]
    return [learning_rate * math.e ** (-decay_rate * epoch) for epoch in epochs]


def inverse_decay_lr(learning_rate: float, decay_rate: float, total_step: int,
                     step_per_epoch: int, decay_epoch: int, is_stair: bool = False) -> list[float]:
    """``learning_rate / (1 + decay_rate * epoch / decay_epoch)``.

    Arguments as `exponential_decay_lr`.

    Examples:
        >>> import lamella as ms
        >>> [round(r, 4) for r in ms.nn.inverse_decay_lr(0.1, 0.5, 6, 1, 1, True)]
        [0.1, 0.0667, 0.05, 0.04, 0.0333, 0.0286]
    """
    _check_decay("inverse_decay_lr", learning_rate, decay_rate, total_step, step_per_epoch,
                 decay_epoch, is_stair)
    if is_stair:
        return [learning_rate / (1 + decay_rate * (step // step_per_epoch // decay_epoch))
                for step in range(total_step)]
    return [learning_rate / (1 + decay_rate * (step // step_per_epoch) / decay_epoch)
            for step in range(total_step)]


def cosine_decay_lr(min_lr: float, max_lr: float, total_step: int, step_per_epoch: int,
                    decay_epoch: int) -> list[float]:
    """Half a cosine from `max_lr` down to `min_lr`, which it then keeps (Loshchilov & Hutter 2016).

    Args:
        min_lr: the last rate, 0 or more.
        max_lr: the first rate, above `min_lr`.
        total_step, step_per_epoch: as `exponential_decay_lr`.
        decay_epoch: the number of epochs of the decay.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> [round(r, 4) for r in ms.nn.cosine_decay_lr(0.01, 0.1, 6, 2, 2)]
        [0.1, 0.1, 0.055, 0.055, 0.01, 0.01]
    """
    where = "cosine_decay_lr"
    non_negative_float(min_lr, "min_lr", where)
    positive_float(max_lr, "max_lr", where)
    _check_epochs(where, total_step, step_per_epoch, decay_epoch=decay_epoch)
    if min_lr >= max_lr:
        raise ValueError(f"For '{where}', 'max_lr' must be above 'min_lr', "
                         f"but got max_lr={max_lr}, min_lr={min_lr}.")
    half = 0.5 * (max_lr - min_lr)
    epochs = (min(step // step_per_epoch, decay_epoch) for step in range(total_step))
    return [min_lr + half * (1 + math.cos(math.pi * epoch / decay_epoch)) for epoch in epochs]


def polynomial_decay_lr(learning_rate: float, end_learning_rate: float, total_step: int,
                        step_per_epoch: int, decay_epoch: int, power: float,
                        update_decay_epoch: bool = False) -> list[float]:
    """``(learning_rate - end) * (1 - epoch / decay_epoch) ** power + end``.

    Args:
        learning_rate: the first rate, above 0.
        end_learning_rate: the last, 0 or more.
        total_step, step_per_epoch: as `exponential_decay_lr`.
        decay_epoch: the epochs that the decay takes; afterwards the rate stays.
        power: the exponent, above 0.
        update_decay_epoch: stretch the decay to the next multiple of `decay_epoch` instead.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> [round(r, 4) for r in ms.nn.polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5)]
        [0.1, 0.1, 0.0736, 0.0736, 0.01, 0.01]
    """
    where = "polynomial_decay_lr"
    positive_float(learning_rate, "learning_rate", where)
    non_negative_float(end_learning_rate, "end_learning_rate", where)
    positive_float(power, "power", where)
    _check_epochs(where, total_step, step_per_epoch, decay_epoch=decay_epoch)
    of_type(update_decay_epoch, bool, "update_decay_epoch", where)
    rates = []
    for step in range(total_step):
        epoch, length = step // step_per_epoch, decay_epoch
        if update_decay_epoch:
            length *= max(math.ceil(epoch / decay_epoch), 1)
        left = 1 - min(epoch, length) / length
        rates.append((learning_rate - end_learning_rate) * left**power + end_learning_rate)
    return rates


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int,
              warmup_epoch: int) -> list[float]:
    """From 0 up to `learning_rate` in `warmup_epoch` epochs, then constant.

    Args:
        learning_rate: the rate to reach, 0 or more.
        total_step, step_per_epoch: as `exponential_decay_lr`.
        warmup_epoch: the number of epochs of the rise.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.warmup_lr(0.1, 6, 2, 2)
        [0.0, 0.0, 0.05, 0.05, 0.1, 0.1]
    """
    where = "warmup_lr"
    non_negative_float(learning_rate, "learning_rate", where)
    _check_epochs(where, total_step, step_per_epoch, warmup_epoch=warmup_epoch)
    epochs = (min(step // step_per_epoch, warmup_epoch) for step in range(total_step))
    return [learning_rate * epoch / warmup_epoch for epoch in epochs]
