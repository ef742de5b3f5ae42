"""Seeds and generators: what repeats, what differs, and what threads draw."""

from __future__ import annotations

import random
import sys
import threading

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.common.initializer import initializer
from lamella.tensors.random import (
    default_raw,
    fresh_generator,
    generator,
    is_as_before,
    kept,
    place_of_numpy,
    put_back,
    seeded,
    snapshot,
)


def same(a: Tensor, b: Tensor) -> bool:
    return bool((a == b).all())


def in_a_thread(function) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_global_seed_repeats_operators_numpy_and_python() -> None:
    drawn = []
    for _ in range(2):
        ms.set_seed(5)
        drawn.append((ops.randn(4), ops.randn(4), np.random.rand(), random.random()))
    first, second = drawn
    assert same(first[0], second[0]) and same(first[1], second[1]) and first[2:] == second[2:]
    assert not same(first[0], first[1])
    np.random.seed(5)
    random.seed(5)
    assert first[2:] == (np.random.rand(), random.random())
    assert ms.get_seed() == 5


def test_op_seed_continues_its_stream_until_the_global_seed_is_set_again() -> None:
    def draw() -> tuple[Tensor, Tensor]:
        ms.set_seed(5)
        bounds = Tensor(1.0), Tensor(2.0)
        return tuple(ops.uniform((1, 4), *bounds, seed=1) for _ in range(2))

    (a1, a2), (b1, b2) = draw(), draw()
    assert same(a1, b1) and same(a2, b2) and not same(a1, a2)
    ms.set_seed(6)
    assert not same(a1, ops.uniform((1, 4), Tensor(1.0), Tensor(2.0), seed=1))


def test_op_seeds_do_not_disturb_the_default_stream() -> None:
    ms.set_seed(1)
    expected = ops.randn(3), ops.randn(3)
    ms.set_seed(1)
    first = ops.randn(3)
    ops.randn(100, seed=9)
    assert same(first, expected[0]) and same(ops.randn(3), expected[1])


def test_primitive_with_seed_has_its_own_stream() -> None:
    one, other = ops.StandardNormal(seed=2), ops.StandardNormal(seed=2)
    a1, a2 = one((3,)), one((3,))
    assert same(a1, other((3,))) and not same(a1, a2)


def test_generator_state() -> None:
    g = ms.Generator()
    assert g.initial_seed() == 0
    assert g.manual_seed(3) is g and g.initial_seed() == 3
    state = g.get_state()
    a = ops.zeros(4).uniform(generator=g)
    b = ops.zeros(4).uniform(generator=g)
    g.set_state(state)
    assert same(a, ops.zeros(4).uniform(generator=g)) and not same(a, b)
    assert g.seed() == g.initial_seed()


def test_seed_and_offset_for_a_primitive() -> None:
    dropout = ops.DropoutExt()
    g = ms.Generator().manual_seed(-1)
    assert g.initial_seed() == -1

    def drop(x: Tensor) -> Tensor:
        return dropout(x, 0.5, *g._step(12))[0]

    state, x = g.get_state(), ops.ones((8, 8))
    masks = [drop(x), drop(x)]
    g.set_state(state)
    assert same(drop(x), masks[0]) and not same(*masks)
    with pytest.raises(ValueError, match="must be an int of 64 bits, but got 18446744073709551616"):
        g.manual_seed(2**64)


def test_an_offset_is_another_in_each_call_of_a_compiled_function() -> None:
    g = ms.Generator()
    step = ms.jit(lambda: g._step(12))
    seed, first = step()
    second = step()[1]
    g.manual_seed(0)
    assert same(step()[1], first) and not same(first, second)
    g.manual_seed(5)
    assert seed.item() == 0 and step()[0].item() == 5 and not step.report()["eager"]


def test_rng_state_of_the_default_generator() -> None:
    assert ms.manual_seed(13) is ms.default_generator
    assert ms.initial_seed() == 13
    state = ms.get_rng_state()
    a = ops.rand(3)
    ms.set_rng_state(state)
    assert same(a, ops.rand(3))
    assert ms.seed() == ms.initial_seed()


@pytest.mark.parametrize("seed, error", [(-1, ValueError), (2**32, ValueError), (1.5, TypeError),
                                         (True, TypeError), (None, TypeError)])
def test_bad_global_seeds(seed: object, error: type) -> None:
    with pytest.raises(error, match="For 'set_seed', 'seed' must be"):
        ms.set_seed(seed)  # type: ignore[arg-type]


def test_bad_op_seed_and_state() -> None:
    with pytest.raises(ValueError, match="must be an int of 0 or more, but got -1"):
        ops.randn(2, seed=-1)
    with pytest.raises(TypeError, match="must be a Tensor of uint8"):
        ms.set_rng_state(Tensor([1.0]))
    with pytest.raises(ValueError, match="not the state of a generator"):
        ms.set_rng_state(Tensor([1, 2], ms.uint8))


def test_threads_share_one_stream_without_losing_numbers() -> None:
    """Four threads that draw from one op seed get, together, what one thread gets."""
    ms.set_seed(11)
    source = generator(7)
    assert all(generator(7) is source for _ in range(3))
    alone = sorted(float(ops.rand(1, seed=7).asnumpy()[0]) for _ in range(400))
    ms.set_seed(11)
    together: list[float] = []
    found = []

    def draw() -> None:
        found.append(generator(8))
        for _ in range(100):
            together.append(float(ops.rand(1, seed=7).asnumpy()[0]))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(together) == alone
    assert len({id(g) for g in found}) == 1


def test_generators_are_made_while_another_thread_keeps_them():
    stop, made = threading.Event(), []

    def make():
        while not stop.is_set():
            made[60:] = [fresh_generator(object(), 1)]
            made.append(fresh_generator(object(), 2))
            made.append(ms.Generator())

    thread, before = threading.Thread(target=make), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        for _ in range(200):
            kept()
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)


def test_a_draw_by_another_threads_initializer_is_distinguished_from_this_threads():
    """Seeded again, the generator comes through positions that it has been at before."""
    def draw():
        return initializer("normal", (2, 2)).init_data()

    ms.set_seed(0)
    for _ in range(5):
        draw()
    ms.set_seed(0)
    place = place_of_numpy()
    in_a_thread(draw)
    assert is_as_before(place)
    np.random.rand()
    assert not is_as_before(place)


def test_generators_put_back_leave_what_other_threads_drew():
    ms.set_seed(0)
    place, back = place_of_numpy(), kept()
    in_a_thread(lambda: initializer("normal", (2, 2)).init_data())
    after = np.random.get_state()[2]
    back()
    assert np.random.get_state()[2] == after
    np.random.rand()
    back()
    assert np.random.get_state()[2] == place[0][2] != after


def test_a_thread_follows_generators_that_another_puts_back():
    ms.set_seed(0)
    place = place_of_numpy()

    def rehearse():
        back = kept()
        initializer("normal", (2, 2)).init_data()
        back()
        initializer("normal", (2, 2)).init_data()

    in_a_thread(rehearse)
    assert is_as_before(place)


def test_a_snapshot_is_put_back() -> None:
    ms.set_seed(3)
    own, bounds = ms.Generator().manual_seed(4), (Tensor(0.0), Tensor(1.0))

    def draw() -> list:
        tensors = (ops.randn(3), ops.uniform((3,), *bounds, seed=5),
                   ops.zeros(3).uniform(generator=own))
        return [*np.concatenate([t.asnumpy() for t in tensors]), np.random.rand()]

    draw()
    saved, first = snapshot(), draw()
    ms.set_seed(9)
    assert draw() != first
    put_back(saved)
    assert draw() == first and ms.get_seed() == 3
    put_back(saved | {"own": [[-1, saved["own"][0][1]]]})  # of a generator that isn't there
    assert draw()[:6] == first[:6]


def test_streams_that_are_made_since_begin_again() -> None:
    ms.set_seed(1)
    before = ops.randn(3, seed=771)
    back = kept()
    known, made = ops.randn(3, seed=771), ops.randn(3, seed=772)
    back()
    assert same(ops.randn(3, seed=771), known) and same(ops.randn(3, seed=772), made)
    assert not same(before, known)


def test_which_generator_a_seed_means() -> None:
    assert generator() is generator(0) is generator(None, 0) is default_raw()
    assert generator(3) is generator(np.int64(3)) is generator(3, 0) is not generator(0, 3)
    assert generator(0, 3) is generator(None, 3) is not default_raw()
    own = ms.Generator()
    assert seeded() is seeded(0) is seeded(ms.default_generator) is None
    assert seeded(own) is own.raw and seeded(3) is generator(3) and seeded(0, 2) is generator(0, 2)
    for wrong, error in ((-1, ValueError), (True, TypeError), (1.0, TypeError), ("1", TypeError)):
        for seeds in ((wrong,), (1, wrong)):
            with pytest.raises(error, match="'seed' of a random operator must be an int of 0 or"):
                generator(*seeds)


@pytest.mark.parametrize("seed, told", [
    (0, 0), (2**63 - 1, 2**63 - 1), (2**63, -2**63), (2**64 - 1, -1), (-1, -1), (-2**63, -2**63),
    (2**64, None), (-2**63 - 1, None)])
def test_the_ends_of_seeds(seed: int, told: int | None) -> None:
    own = ms.Generator()
    if told is None:
        with pytest.raises(ValueError, match="must be an int of 64 bits"):
            own.manual_seed(seed)
    else:
        assert own.manual_seed(seed).initial_seed() == told


def test_generators_of_operators_differ_by_each_seed() -> None:
    ms.set_seed(2)
    drawn = [generator(*seeds).initial_seed() for seeds in ((1, 0), (0, 1), (1, 1), (2, 0))]
    assert len(set(drawn)) == 4 and min(drawn) >= 0
    ms.set_seed(3)
    again = [generator(*seeds).initial_seed() for seeds in ((1, 0), (0, 1), (1, 1), (2, 0))]
    assert not {*drawn} & {*again}
    made = fresh_generator(object(), 1), fresh_generator(object(), 1), fresh_generator(object(), 2)
    assert made[0] is not made[1] and made[0].initial_seed() == made[1].initial_seed()
    assert made[0].initial_seed() != made[2].initial_seed()
    ms.set_seed(4)
    assert fresh_generator(object(), 1).initial_seed() == made[0].initial_seed()
