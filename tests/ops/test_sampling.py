"""Draws of positions, classes and orders: chances at their ends, and what is refused."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

N = 3000


@pytest.fixture(autouse=True)
def _seeded():
    ms.set_seed(11)


@pytest.mark.parametrize("p", [0, 1, 0.0, 1.0, Tensor(0.0), Tensor([1.0]),
                               Tensor([[0.0, 1.0, 1.0]] * 2)], ids=range(7))
@pytest.mark.parametrize("seed", [None, -1, 0, 5])
def test_events_that_are_certain(p, seed):
    found = ops.bernoulli(ops.ones((2, 3), ms.int32), p, seed)
    wanted = np.broadcast_to(p.asnumpy() if isinstance(p, Tensor) else p, (2, 3))
    np.testing.assert_array_equal(found.asnumpy(), wanted)
    assert found.dtype is ms.int32


@pytest.mark.parametrize("p", [-0.1, 1.1, Tensor([0.5, -0.1, 0.5]), Tensor([0.5, 1.1, 0.5]),
                               Tensor([0.5, 0.5]), Tensor([[0.5] * 3])], ids=range(6))
def test_chances_that_are_none(p):
    with pytest.raises(ValueError, match="For 'bernoulli'"):
        ops.bernoulli(ops.ones(3), p)


def test_each_element_has_its_chance():
    chances = np.linspace(0.1, 0.9, 5).repeat(N).reshape(5, N).astype(np.float32)
    for seed in (None, 4):
        found = ops.bernoulli(ops.zeros((5, N)), Tensor(chances), seed).asnumpy().mean(1)
        np.testing.assert_allclose(found, [0.1, 0.3, 0.5, 0.7, 0.9], atol=0.04)


@pytest.mark.parametrize("shape, count", [((4,), 4), ((2, 4), 4), ((4,), 1)])
def test_positions_without_repetition(shape, count):
    found = ops.multinomial(ops.ones(shape), count, False).asnumpy()
    assert found.shape == (*shape[:-1], count) and found.dtype == np.int32
    for row in found.reshape(-1, count):
        assert len(set(row.tolist())) == count and 0 <= row.min() and row.max() < 4
    whole = ops.multinomial(Tensor([0, 3, 0]), 5)
    assert whole.tolist() == [1] * 5


@pytest.mark.parametrize("call", [
    lambda: ops.multinomial(ops.ones(4), 5, False), lambda: ops.multinomial(ops.ones((2, 4)), 5,
                                                                            False),
    lambda: ops.multinomial(ops.ones((1, 2, 3)), 1), lambda: ops.multinomial(Tensor(1.0), 1),
    lambda: ops.multinomial_with_replacement(Tensor([1.0, np.inf]), 1, 0, 1),
    lambda: ops.multinomial_with_replacement(Tensor([[1.0, 1.0], [0.0, 0.0]]), 0, 1, 1),
    lambda: ops.multinomial_with_replacement(ops.ones(3), 0, 1, 4),
    lambda: ops.multinomial_with_replacement(ops.ones(3), 0, 1, 0, True),
    lambda: ops.random_categorical(ops.ones(3), 1),
    lambda: ops.random_categorical(ops.ones((1, 1, 3)), 1),
    lambda: ops.uniform((2,), Tensor(0.0), Tensor(1.0), -1), lambda: ops.randint(3, 3, (2,))])
def test_refused(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


@pytest.mark.parametrize("seeds", [(3, 0), (0, 3), (3, 4)])
def test_all_positions_by_weight(seeds):
    """As many as there are: each once, the heavy ones mostly first."""
    weights = np.array([[1.0, 100.0, 10.0]] * 400)
    found = ops.multinomial_with_replacement(Tensor(weights), *seeds, 3).asnumpy()
    assert (np.sort(found, 1) == [0, 1, 2]).all()
    first = np.bincount(found[:, 0], minlength=3) / 400
    np.testing.assert_allclose(first, weights[0] / 111, atol=0.05)
    with_zero = ops.multinomial_with_replacement(Tensor([0.0, 1.0, 0.0, 2.0]), *seeds, 2)
    assert sorted(with_zero.tolist()) == [1, 3]
    one = ops.multinomial_with_replacement(Tensor([[1, 3], [3, 1]]), *seeds, N, True).asnumpy()
    np.testing.assert_allclose(one.mean(1), [0.75, 0.25], atol=0.04)
    assert one.dtype == np.int64


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("kind", [ms.float32, ms.float16])
def test_classes_by_unnormalised_logarithms(seed, kind):
    chances = np.array([[0.1, 0.6, 0.3], [0.7, 0.1, 0.2]])
    for shift in (0.0, 50.0):
        found = ops.random_categorical(Tensor(np.log(chances) + shift, kind), N, seed, ms.int32)
        counts = np.stack([np.bincount(row, minlength=3) for row in found.asnumpy()]) / N
        np.testing.assert_allclose(counts, chances, atol=0.04)
        assert found.dtype is ms.int32


def test_slices_in_random_order():
    rows = np.arange(60).reshape(20, 3)
    found = ops.shuffle(Tensor(rows), 3).asnumpy()
    assert found.tolist() != rows.tolist() and sorted(found.tolist()) == rows.tolist()
    assert ops.shuffle(Tensor(5)) == 5
    assert ops.shuffle(Tensor(rows), 3).tolist() != found.tolist()  # the seed's stream goes on


@pytest.mark.parametrize("count, rows", [(0, 3), (2, 2), (3, 3), (5, 5), (256, 256)])
def test_places_where_a_mask_holds(count, rows):
    mask = np.array([[[True, False], [False, True]], [[False, False], [True, False]]])
    places, counted = ops.choice_with_mask(Tensor(mask), count, 3)
    held = min(rows, 3)
    assert places.shape == (rows, 3) and places.dtype is ms.int32
    assert counted.tolist() == [True] * held + [False] * (rows - held)
    found = [tuple(place) for place in places.tolist()[:held]]
    assert len(set(found)) == held and all(mask[place] for place in found)
    assert not places.asnumpy()[held:].any()
    with pytest.raises(RuntimeError, match="below 2"):
        ops.choice_with_mask(Tensor(mask), 2**31 // 3 + 1)


@pytest.mark.parametrize("kind", [ms.float32, ms.float16, ms.float64])
def test_probabilities_in_the_tensor_itself(kind):
    assert Tensor([0.0, 1.0, 0.0], kind).bernoulli().tolist() == [0, 1, 0]
    for make in (ops.rand, ops.randn):
        assert make(2, 3, dtype=kind).dtype is kind
    for make in (ops.rand_like, ops.randn_like):
        assert make(ops.ones((2, 3), kind)).dtype is kind
        assert make(ops.ones((2, 3)), dtype=kind).dtype is kind


def test_types_of_what_is_alike():
    assert ops.randn_like(Tensor([1, 2])).dtype is ms.float32
    assert ops.randint_like(Tensor([1, 2], ms.int8), 0, 5).dtype is ms.int8
    assert ops.randint_like(Tensor([1, 2], ms.int8), 0, 5, dtype=ms.int32).dtype is ms.int32
    for call in (lambda: ops.rand_like(Tensor([1])), lambda: ops.randn(2, dtype=ms.int32),
                 lambda: ops.randint_like(Tensor([1.0]), 0, 5),
                 lambda: ops.randint(0, 5, (2,), dtype=ms.float32)):
        with pytest.raises(ValueError, match="must be an? (floating|int) type"):
            call()
    with pytest.raises(TypeError, match="float32 or int32"):
        ops.uniform((2,), Tensor(0), Tensor(5), dtype=ms.int64)
    assert set(ops.randint(-1, 2, (200,)).tolist()) == {-1, 0, 1}
    found = ops.uniform((300,), Tensor(-1, ms.int32), Tensor(2, ms.int32), dtype=ms.int32)
    assert set(found.tolist()) == {-1, 0, 1}


def test_means_and_scales_move_the_same_draws():
    def drawn(make):
        ms.set_seed(5)
        return make().asnumpy()

    centre, scale = Tensor(np.float64([[1.0], [2.0]])), Tensor(np.float64([3.0, 0.5, 2.0]))
    plain = drawn(lambda: ops.normal((2, 3), Tensor(np.float64(0)), Tensor(np.float64(1))))
    moved = drawn(lambda: ops.normal((2, 3), centre, scale))
    np.testing.assert_allclose(moved, centre.asnumpy() + scale.asnumpy() * plain, rtol=1e-6)
    plain = drawn(lambda: ops.laplace((2, 3), Tensor(np.float64(0)), Tensor(np.float64(1))))
    moved = drawn(lambda: ops.laplace((2, 3), centre, scale))
    np.testing.assert_allclose(moved, centre.asnumpy() + scale.asnumpy() * plain, rtol=1e-6)
    plain = drawn(lambda: ops.gamma((2, 3), scale, Tensor(np.float64(1))))
    moved = drawn(lambda: ops.gamma((2, 3), scale, centre))
    np.testing.assert_allclose(moved, plain / centre.asnumpy(), rtol=1e-6)
    plain = drawn(lambda: ops.zeros((2, 3)).cauchy())
    moved = drawn(lambda: ops.zeros((2, 3)).cauchy(2.0, 3.0))
    np.testing.assert_allclose(moved, 2 + 3 * plain, rtol=1e-4)
    plain = np.log(drawn(lambda: ops.zeros((2, 3)).log_normal(0.0, 1.0)))
    moved = np.log(drawn(lambda: ops.zeros((2, 3)).log_normal(2.0, 0.5)))
    np.testing.assert_allclose(moved, 2 + 0.5 * plain, rtol=1e-4)
    assert ops.normal((2,), Tensor([1], ms.float16), 1).dtype is ms.float32
