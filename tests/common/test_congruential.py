"""The generator of C++: by its definition, and by recorded numbers."""

import numpy as np
import torch

from lamella.common.congruential import Congruential, draws_between, seed_of, state_of


def test_ten_thousandth_number_is_the_standards():
    engine = Congruential(1)
    for _ in range(10000):  # the C++ standard, [rand.predef], says which number that is
        engine.below(2**31 - 3)
    assert engine.word == 1043618065


def test_permutations_hold_each_number_once():
    for count in (0, 1, 2, 3, 10, 60000):
        assert sorted(Congruential(7).permutation(count).tolist()) == list(range(count))


def test_draws_go_on_and_are_those_of_the_words():
    state, words, word = state_of(5, torch.device("cpu")), [], 5
    for _ in range(20):
        word = word * 16807 % (2**31 - 1)
        words.append(word - 1)
    wanted = [(low + high * (2**31 - 2)) / (2.0**31 - 2) ** 2
              for low, high in zip(words[::2], words[1::2], strict=True)]
    found = torch.cat([draws_between(state, count) for count in (3, 0, 1, 6)])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-15)
    assert state.item() == word


def test_seeds_are_mixed_as_mindspore_does():
    # by MindSpore 2.10's draws: `UniformCandidateSampler(..., range_max=20, seed=3)`
    engine = Congruential(seed_of(3))
    assert [engine.below(20) for _ in range(5)] == [2, 12, 16, 9, 14]
    assert len({seed_of(*seeds) for seeds in ((3, 0), (0, 3), (2**40, 1), (-9, 0), (0, -9))}) == 5
