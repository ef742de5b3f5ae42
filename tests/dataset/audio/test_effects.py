"""Gains and shifts at their limits."""

import numpy as np
import pytest

from lamella.dataset import audio as A  # noqa: N812

SOUND = np.array([[-0.9, -0.2, 0.0, 0.3, 0.9]])


@pytest.mark.parametrize("gain, kind, factor", [
    (3.0, A.GainType.AMPLITUDE, 3.0), (0.0, A.GainType.AMPLITUDE, 0.0),
    (6.0, A.GainType.DB, 10**0.3), (-6.0, A.GainType.DB, 10**-0.3), (0.0, A.GainType.DB, 1.0),
    (9.0, A.GainType.POWER, 3.0)])
def test_a_louder_sound_stays_within_one(gain, kind, factor):
    np.testing.assert_allclose(A.Vol(gain, kind)(SOUND), np.clip(SOUND * factor, -1, 1))


@pytest.mark.parametrize("gain, kind", [
    (-0.1, A.GainType.AMPLITUDE), (0.0, A.GainType.POWER), (-1.0, A.GainType.POWER)])
def test_gains_that_are_none(gain, kind):
    with pytest.raises(ValueError, match="'gain' must be"):
        A.Vol(gain, kind)


@pytest.mark.parametrize("shift", [0.5, -0.5, 0.0, 1.5])
def test_a_shifted_sound_stays_within_one(shift):
    np.testing.assert_allclose(A.DCShift(shift)(SOUND), np.clip(SOUND + shift, -1, 1))
