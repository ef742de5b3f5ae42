"""Metrics by their names, and what `Model` is given."""

import pytest

import lamella as ms
from lamella import train
from lamella.train.metrics.registry import get_metrics


def test_metrics_by_name():
    assert isinstance(train.get_metric_fn("acc"), train.Accuracy)
    assert train.get_metric_fn("topk", 3).k == train.get_metric_fn("topk", k=3).k == 3
    assert {"mae", "mse", "loss", "F1", "roc"} <= set(train.names())


def test_what_a_model_may_be_given():
    loss = train.Loss()
    assert get_metrics(None) == {} and get_metrics({"its": loss}) == {"its": loss}
    found = get_metrics({"mae", "loss"})
    assert {name: type(metric) for name, metric in found.items()} == {
        "mae": train.MAE, "loss": train.Loss}


@pytest.mark.parametrize("given, words", [
    (["mae"], "must be None, a dict or a set, but got list"), ("mae", "but got str"),
    ({"mae": 1}, "must hold Metrics by name, but got 'mae': int"),
    ({1: train.MAE()}, "must hold Metrics by name, but got 1: MAE")])
def test_what_a_model_is_not_given(given, words):
    with pytest.raises(TypeError, match=words):
        ms.Model(ms.nn.Dense(1, 1), ms.nn.MSELoss(), metrics=given)
    with pytest.raises(KeyError, match="'name' must be one of"):
        get_metrics({"no such"})
