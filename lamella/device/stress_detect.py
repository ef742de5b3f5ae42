"""Stress tests of Ascend's cores and links: there are none on other devices."""

from __future__ import annotations

from ..core.require import one_of

__all__ = ["stress_detect"]


def stress_detect(detect_type: str = "aic") -> int:
    """Refuses: this tests Ascend's hardware.

    Args:
        detect_type: ``"aic"`` for its cores, ``"hccs"`` for its links.

    Raises:
        ValueError: if `detect_type` is unknown.
        RuntimeError: otherwise, since there is no Ascend device.
    """
    one_of(detect_type, ("aic", "hccs"), "detect_type", "stress_detect")
    raise RuntimeError("For 'stress_detect', there is no Ascend device: it tests Ascend's hardware "
                       "only.")
