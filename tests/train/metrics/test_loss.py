"""Means of losses and perplexity; errors and likeness by their definitions."""

import math

import numpy as np
import pytest

from lamella import train


def test_batches_count_alike_whatever_their_size():
    metric = train.Loss()
    metric.update(np.array([1.0, 2.0, 6.0]))
    metric.update(np.array(7.0))
    assert metric.eval() == 5
    with pytest.raises(ValueError, match="must have 0 or 1 dimensions"):
        metric.update(np.ones((1, 1)))


@pytest.mark.parametrize("chance, want", [(0.0, 1e10), (1e-10, 1e10), (1e-11, 1e10), (1e-9, 1e9),
                                          (1.0, 1.0)])
def test_a_chance_is_1e_10_at_least(chance, want):
    metric = train.Perplexity()
    assert metric(np.array([[chance, 1 - chance]]), [0]) == pytest.approx(want)


def test_perplexity_of_batches():
    metric = train.Perplexity(ignore_label=0)
    metric.update([[0.1, 0.9], [0.5, 0.5], [0.25, 0.75]], [0, 1, 1])
    metric.update([[0.8, 0.2]], [1])
    assert metric.eval() == pytest.approx(math.prod((0.5, 0.75, 0.2)) ** (-1 / 3))
    metric.clear()
    metric.update([[0.8, 0.2]], [0])
    with pytest.raises(RuntimeError, match="number of samples is 0"):
        metric.eval()


@pytest.mark.parametrize("labels", [[0], [0, 1, 0], []])
def test_each_row_has_a_label(labels):
    with pytest.raises(RuntimeError, match="a label for each row"):
        train.Perplexity().update([[0.5, 0.5], [0.5, 0.5]], np.array(labels, int))


@pytest.mark.parametrize("metric, of", [(train.MAE, np.abs), (train.MSE, np.square)])
@pytest.mark.parametrize("shape, rows", [((), 1), ((3,), 3), ((3, 2), 3), ((2, 3, 4), 2)])
def test_errors_are_summed_over_rows(metric, of, shape, rows):
    rng = np.random.default_rng(1)
    a, b, c, d = map(np.asarray, rng.standard_normal((4, *shape)))
    made = metric()
    made.update(a, b)
    made.update(c, d)
    assert made.eval() == pytest.approx((of(a - b).sum() + of(c - d).sum()) / (2 * rows))
    assert metric()(a, b.reshape((*shape, 1))) == pytest.approx(of(a - b).sum() / rows)


@pytest.mark.parametrize("smooth", [1e-5, 2.0])
def test_dice_by_its_definition(smooth):
    rng = np.random.default_rng(2)
    a, b, c, d = rng.random((4, 3, 5))
    metric = train.Dice(smooth)
    metric.update(a, b)
    metric.update(c[:2], d[:2])
    want = sum(2 * (p * t).sum() / ((p ** 2).sum() + (t ** 2).sum() + smooth)
               for p, t in ((a, b), (c[:2], d[:2])))
    assert metric.eval() == pytest.approx(want / 5)
    for given in ((a, b.T), (a[0], b), (np.array(1.0), np.array(1.0))):
        with pytest.raises(ValueError, match="must have the same shape"):
            metric.update(*given)


@pytest.mark.parametrize("smooth", [0.0, -1.0])
def test_smooth_is_above_0(smooth):
    with pytest.raises(ValueError, match="smooth"):
        train.Dice(smooth)


@pytest.mark.parametrize("zero", [True, False])
@pytest.mark.parametrize("kind", ["dot", "cosine"])
def test_likeness_of_rows(kind, zero):
    rows = np.random.default_rng(3).standard_normal((4, 3))
    want = np.array([[p @ q / (1 if kind == "dot" else math.hypot(*p) * math.hypot(*q))
                      for q in rows] for p in rows]) * (1 - np.eye(4) * zero)
    for reduction, value in (("none", want), ("sum", want.sum(1)), ("mean", want.sum(1) / 4)):
        metric = train.CosineSimilarity(kind, reduction, zero)
        np.testing.assert_allclose(metric(rows), value)
        np.testing.assert_allclose(metric.eval(), value)  # which left the matrix as it was
    for given in (rows[0], rows[None]):
        with pytest.raises(ValueError, match="must have 2 dimensions"):
            metric.update(given)
