"""The generator of C++: by its definition, and by recorded numbers."""

import numpy as np
import pytest
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


# libstdc++'s `std::shuffle` of 0, 1, ... by a `std::default_random_engine` of a seed
SHUFFLED = {
    (7, 2): [1, 0], (7, 3): [2, 0, 1], (0, 6): [2, 3, 1, 4, 5, 0], (7, 6): [1, 4, 5, 3, 0, 2],
    (2**31 - 1, 6): [2, 3, 1, 4, 5, 0], (2**31 + 2, 6): [3, 4, 5, 1, 2, 0],
    (0, 7): [3, 0, 4, 6, 5, 1, 2], (2**31 + 2, 7): [2, 5, 4, 0, 6, 3, 1],
    (7, 13): [2, 7, 1, 10, 3, 12, 11, 9, 0, 5, 4, 8, 6]}


@pytest.mark.parametrize("seed, count", SHUFFLED)
def test_permutations_are_those_of_cpp(seed, count):
    assert Congruential(seed).permutation(count).tolist() == SHUFFLED[seed, count]


@pytest.mark.parametrize("count, wanted, ends", [
    (46340, 638978742, [18449, 5173, 37067, 36518]),
    (46341, 440241336, [6524, 18262, 29970, 40736]),
    (46342, 154936352, [6524, 18262, 40736, 13967])])
def test_long_permutations_draw_for_one_place_at_a_time(count, wanted, ends):
    """Draws stand for two places while the square of the length is below the engine's range."""
    found = Congruential(9).permutation(count).tolist()
    assert [*found[:2], *found[-2:]] == ends
    mixed = 0
    for number in found:
        mixed = (mixed * 31 + number) % 1000000007
    assert mixed == wanted


def test_draws_below_and_between_are_those_of_cpp():
    # `std::uniform_int_distribution<>` up to three limits, `std::uniform_real_distribution<double>`
    engine = Congruential(3)
    assert [engine.below(1610612735) for _ in range(8)] == [
        50420, 847425746, 572982924, 807347326, 1284843142, 1410633815, 303082631, 78585339]
    assert [engine.below(10) for _ in range(4)] == [0, 8, 1, 5]
    assert [engine.below(2**30) for _ in range(6)] == [
        1058486181, 222729125, 344423960, 28879686, 49595186, 322652872]
    assert [engine.between() for _ in range(3)] == [
        0.2524579231186968, 0.7669299284900436, 0.53850067167929883]


@pytest.mark.parametrize("count", [3, 10, 2**30])
def test_the_last_words_are_drawn_anew(count):
    """Words beyond the last whole multiple of `count` would make some numbers more likely."""
    scale = (2**31 - 3) // count
    inverse = pow(16807, -1, 2**31 - 1)
    for word, taken in ((count * scale, True), (count * scale + 1, False)):
        engine = Congruential(word * inverse % (2**31 - 1))
        found = engine.below(count)
        assert (engine.word == word) is taken
        assert found == (engine.word - 1) // scale < count


def test_the_largest_number_between_is_below_1():
    """That whose second word is the largest; the word before it is none of the largest."""
    largest, factor = 2**31 - 2, pow(16807, -1, 2**31 - 1)
    first = largest * factor % (2**31 - 1)
    wanted = 1 - (1 - (first - 1) / largest) / largest
    seed = first * factor % (2**31 - 1)
    found = draws_between(state_of(seed, torch.device("cpu")), 1).item()
    assert Congruential(seed).between() == pytest.approx(wanted, abs=1e-16)
    assert found == pytest.approx(wanted, abs=1e-16) and found < 1 - 1e-10
