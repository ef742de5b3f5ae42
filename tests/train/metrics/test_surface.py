"""Distances of surfaces: empty ones, percentiles' ends, volumes."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lamella import train

A, B = np.zeros((4, 5, 6), int), np.zeros((4, 5, 6), int)
A[1, 2, 1:4] = A[2, 2, 5] = 7
B[3, 1, 2] = B[0, 4, 1] = 7
MEANS = [train.MeanSurfaceDistance, train.RootMeanSquareDistance]


@pytest.mark.parametrize("kind, name", [("euclidean", "euclidean"), ("chessboard", "chebyshev"),
                                        ("taxicab", "cityblock")])
def test_volumes(kind, name):
    apart = cdist(np.argwhere(A), np.argwhere(B), name)
    there, back = apart.min(1), apart.min(0)
    assert there.mean() != back.mean()
    distance = train.MeanSurfaceDistance(distance_metric=kind)(A, B, 7)
    assert distance == pytest.approx(there.mean())
    both = train.MeanSurfaceDistance(True, kind)(A, B, 7.0)
    assert both == pytest.approx((there.mean() + back.mean()) / 2)
    square = train.RootMeanSquareDistance(True, kind)(A, B, 7)
    assert square == pytest.approx(np.sqrt(((there ** 2).mean() + (back ** 2).mean()) / 2))
    for percentile in (0.5, 25.0, 100.0):
        metric = train.HausdorffDistance(kind, percentile, True)
        assert metric(A, B, 7) == pytest.approx(np.percentile(there, percentile))
        assert metric(B, A, 7) == pytest.approx(np.percentile(back, percentile))


def test_the_inside_is_no_surface():
    """Of a square of 5, the 16 at its rim; to each the nearest of the square of 3 inside."""
    outer, inner = np.zeros((2, 9, 9), int)
    outer[2:7, 2:7], inner[3:6, 3:6] = 1, 1
    rim = [2 ** 0.5] * 4 + [1] * 12
    assert train.MeanSurfaceDistance()(outer, inner, 1) == pytest.approx(np.mean(rim))
    assert train.MeanSurfaceDistance()(inner, outer, 1) == pytest.approx(1)


@pytest.mark.parametrize("metric", MEANS)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("given", [(A, A * 0), (A * 0, A)])
def test_a_surface_that_is_empty_is_infinitely_far(metric, symmetric, given):
    assert metric(symmetric)(*given, 7) == np.inf
    for directed in (False, True):
        assert train.HausdorffDistance(directed=directed)(*given, 7) == np.inf


@pytest.mark.parametrize("percentile, fit", [(-0.1, False), (0.0, True), (100.0, True),
                                             (100.1, False)])
def test_percentiles_are_0_to_100(percentile, fit):
    if fit:
        assert train.HausdorffDistance(percentile=percentile).percentile == percentile
    else:
        with pytest.raises(ValueError, match="'percentile' must be 0 to 100"):
            train.HausdorffDistance(percentile=percentile)


@pytest.mark.parametrize("given, words", [
    ((A, A, "7"), "an int or a float, but got str"), ((A, A, None), "but got NoneType"),
    ((A[:0], A[:0], 7), "the same shape with elements"), ((A, A[1:], 7), "the same shape"),
    ((A, B, 6), "6 is in neither"), ((A, B), "needs 3 inputs")])
def test_what_is_refused(given, words):
    for metric in (*MEANS, train.HausdorffDistance):
        with pytest.raises(ValueError, match=words):
            metric().update(*given)
