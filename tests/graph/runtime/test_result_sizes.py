"""Graphs of functions with data-dependent shapes: masks, `nonzero`, `unique`."""

import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, jit, nn, ops
from lamella.graph.tracing.symbolic import preparation


@pytest.fixture(scope="module", autouse=True)
def _prepared():
    preparation.begin()
    assert preparation.finished.wait(120)


def draws(calls, *shape, seed=0):
    stream = np.random.default_rng(seed)
    return [Tensor(stream.standard_normal(shape).astype(np.float32)) for _ in range(calls)]


def close(got, want):
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for pair in zip(got, want, strict=True):
            close(*pair)
    elif isinstance(want, dict):
        close(list(got.items()), list(want.items()))
    elif isinstance(want, Tensor):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    else:
        assert type(got) is type(want) and got == want


def padded(x):
    """The mean of the tokens that are not padding, and their number."""
    mask = x[:, 0] > -0.5
    tokens = x[mask]
    return tokens.mean(0), mask.sum()


def matches(x):
    found = ops.nonzero(x > 0.5)
    return ops.gather(x.sum(1), found[:, 0], 0) * x[found[:, 0], found[:, 1]]


def labels(x):
    return ops.unique((x * 3).astype(ms.int32).reshape(-1))


def both_sides(x):
    flat = x.reshape(-1)
    return ops.concat((flat[flat > 0], flat[flat <= 0])).reshape(x.shape) @ x.T


def by_size(x):
    chosen = x[x > 0]
    return chosen.sum() if chosen.shape[0] > 15 else chosen.mean() * 2


def by_value(x):
    return x[x > 0].mean() if x.sum() > 0 else x[x < 0].max()


def divided(x):
    return x.sum() / max(ops.nonzero(x > 0).shape[0], 1)


def derived(x):
    return ms.grad(lambda y: (ops.masked_select(y, y > 0) ** 2).mean() + y[y < 0].sum())(x)


def counted(x):
    chosen = x[x > 0]
    return {"count": chosen.shape[0], "half": [chosen.size / 2]}, chosen * chosen.shape[0]


@pytest.mark.parametrize("fn", [padded, matches, labels, both_sides, by_size, by_value, divided,
                                derived, counted], ids=lambda fn: fn.__name__)
def test_one_graph_stands_for_all_sizes(fn, executor):
    compiled = jit(fn, jit_level="O0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in draws(25, 5, 6):
            close(compiled(x), fn(x))
    report = compiled.report()
    assert report["traces"] <= 8 and report["replays"] >= 17, report


def test_the_selected_rows_may_be_none_or_one():
    def fn(x):
        return x[x > 0] * 2, ops.nonzero(x > 0).shape

    compiled = jit(fn)
    for count in (3, 5, 0, 4, 1, 2, 0, 1, 6, 0, 3, 1):
        x = Tensor(np.r_[np.arange(1.0, count + 1), -np.ones(6 - count)].astype(np.float32))
        close(compiled(x)[0], fn(x)[0])
        assert compiled(x)[1] == fn(x)[1] == (count, 1)


def test_a_training_step_that_selects_its_samples(executor):
    def make():
        ms.set_seed(0)
        net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                                nn.Conv2d(4, 6, 1, has_bias=True))
        net.set_train()
        optimizer = nn.Adam(net.trainable_params(), 0.01)

        def loss(x, boxes):
            found = net(x).transpose(0, 2, 3, 1).reshape(-1, 6)
            mask = boxes.reshape(-1) > 0.8
            chosen, best = found[mask], ops.nonzero(mask)[:, 0]
            return ((chosen[:, :4] - 1) ** 2).sum() / (best.shape[0] + 1) + (
                found[~mask][:, 4] ** 2).mean()

        gradient = ms.value_and_grad(loss, None, optimizer.parameters)

        def step(x, boxes):
            value, gradients = gradient(x, boxes)
            optimizer(gradients)
            return value

        return step, list(net.get_parameters())

    (eager, own), (step, its) = make(), make()
    compiled = jit(step, jit_level="O0")
    for x, boxes in zip(draws(12, 2, 1, 6, 6), draws(12, 2, 6, 6, seed=1), strict=True):
        close(compiled(x, boxes), eager(x, boxes))
    for a, b in zip(own, its, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
    assert compiled.report()["traces"] <= 4 and not compiled.report()["eager"]


def test_arguments_and_results_of_any_size():
    def fn(x):
        chosen = x[x > 0]
        return chosen.sum() / x.shape[0], x * 2

    compiled = jit(fn)
    for number, length in enumerate((6, 9, 12, 7, 20, 31, 8, 15, 11, 40)):
        x, = draws(1, length, seed=number)
        close(compiled(x), fn(x))
    assert compiled.report()["traces"] <= 4


def test_a_size_that_is_used_as_a_number_ends_in_eager_calls_that_say_why():
    def fn(x):
        return float(x[x > 0].shape[0])

    compiled = jit(fn)
    with pytest.warns(UserWarning, match="data-dependent shape") as warned:
        for x in draws(60, 40):
            assert compiled(x) == fn(x)
    assert len(warned) == 1 and compiled.report()["traces"] <= 12


def test_without_symbolic_shapes_two_sizes_have_graphs_and_a_third_runs_eagerly(monkeypatch):
    monkeypatch.setattr(preparation, "finished", type(preparation.finished)())
    compiled = jit(lambda x: x[x > 0].sum())
    for count in (3, 4, 3, 4, 5, 3):
        x = Tensor(np.r_[np.ones(count), -np.ones(6 - count)].astype(np.float32))
        assert float(compiled(x)) == count
    report = compiled.report()
    assert (report["traces"], report["replays"], report["eager"]) == (2, 2, [])
    misses = compiled.statistics.misses
    # graphs aren't tried meanwhile
    assert float(compiled(x)) == 3 and compiled.statistics.misses == misses
    preparation.finished.set()
    assert float(compiled(x)) == 3 and compiled.report()["replays"] == 3


def test_numbers_that_change_beside_sizes():
    class State:
        count = 0

    def make():
        state = State()

        def fn(x, scale):
            state.count += 1
            return x[x > 0].sum() * scale + state.count

        return fn

    eager, compiled = make(), jit(make())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, x in enumerate(draws(30, 12)):
            close(compiled(x, number / 2), eager(x, number / 2))
    assert compiled.report()["traces"] <= 20


def test_kernels_before_the_choice_are_a_stage_that_may_be_compiled():
    x, = draws(1, 4, 5)
    compiled = jit(lambda x: (ops.tanh(x * 2 + 1) * x)[x > 0].exp().sum())
    compiled(x)
    compiled(x)
    graph, = compiled.graphs(x)
    assert graph.execution.plan is not None
    kernels = [[n.name for n in stage.part.copied().graph.nodes if n.op == "call_function"]
               for stage in graph.execution.plan.stages]
    assert [stage.settled for stage in graph.execution.plan.stages] == [False, True, True]
    assert [len(names) for names in kernels][1] == 1
