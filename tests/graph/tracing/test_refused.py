"""Programs that no graph can hold run eagerly, with a reason."""

import dataclasses
import random

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.dataset import NumpySlicesDataset
from lamella.dataset.dataloader import DataLoader, TensorDataset

from .agreement import Plain, agree, numbers, x


@dataclasses.dataclass
class Pair:
    tensor: Tensor
    number: float


def keeps_an_object(thing):
    def fn(x):
        thing.pair = Pair(x * 2, 1.0)
        return thing.pair.tensor + 1
    return fn


def with_stream(stream):
    return lambda x: x * stream.random() * (stream.bit_generator is not None)


def by_default(stream):
    return lambda x, rng=stream: x * rng.random()


REFUSED = {
    "keeps a new Pair": lambda: keeps_an_object(Plain()),
    r"calls random\.Random\.seed": lambda: lambda x: x * (random.seed(4) or random.random()),
    "in a way that can't be repeated": lambda: by_default(random.Random(4)),
    "uses bit_generator of a generator": lambda: with_stream(np.random.default_rng(3)),
    "an iterator made outside": lambda: (lambda it: lambda x: x * next(it))(iter(range(9))),
    "hands a tensor to NumPy": lambda: lambda x: x + ops.rand(2) + x.asnumpy().sum(),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_eager_runs_with_a_reason(reason):
    def results(wrap):
        ms.set_seed(5)
        random.seed(5)
        fn = wrap(REFUSED[reason]())
        return [numbers(fn(x(1.0, i))) for i in range(3)]

    with pytest.warns(UserWarning, match=reason):
        compiled = results(jit)
    assert compiled == results(lambda fn: fn)


def test_a_refused_run_leaves_the_state_of_an_eager_run():
    def program(wrap):
        weight, log, array = Parameter(x(), name="w"), [], np.zeros(1)

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.count, self.log = 0, []

            def construct(self, x):
                self.count += 1
                self.log.append(self.count)
                log.append(1)
                array[0] += 1
                ops.assign(weight, weight + 1)
                x.add_(1)
                x.asnumpy()
                return x + self.count + ops.rand(2)

        net = Net()
        fn = wrap(net)
        for _ in range(3):
            given = x()
            yield fn(given), given, net.count, list(net.log), list(log), float(array[0])
            yield weight.value(), ops.rand(2)

    with pytest.warns(UserWarning, match="hands a tensor to NumPy"):
        agree(program)


def test_after_a_few_refused_kinds_of_arguments_no_more_are_recorded():
    runs = []

    def fn(x, number):
        runs.append(number)
        return x.asnumpy() * number

    compiled = jit(fn)
    with pytest.warns(UserWarning, match="hands a tensor to NumPy"):
        for i in range(20):
            assert compiled(x(1.0, 2.0), float(i)).tolist() == [i, 2.0 * i]
    assert runs == [float(i) for i in range(20)]
    assert len(compiled.report()["eager"]) == 1 and compiled.report()["traces"] == 0


def test_a_guard_on_a_mutated_value_counts_once():
    def program(wrap):
        total = Parameter(Tensor(0, ms.int32), name="n", requires_grad=False)

        @wrap
        def step(x):
            ops.assign_add(total, Tensor(1, ms.int32))
            if total % 3 == 0:
                return x * 2
            return x

        for _ in range(7):
            yield step(x()), total.value()

    def results(wrap):
        return [numbers(v) for v in program(wrap)]

    with pytest.warns(UserWarning, match="turns a tensor into a Python value after"):
        compiled = results(jit)
    assert compiled == results(lambda fn: fn)


def test_objects_that_are_made_when_first_needed():
    class Record:
        made = 0

        def __init__(self):
            Record.made += 1
            self.steps, self.mean = 0, None

        def note(self, x):
            self.steps += 1
            self.mean = x.mean() if self.mean is None else self.mean * 0.5 + x.mean()
            return self.mean * self.steps

    def make():
        records = {}

        def fn(x):
            for name in ("first", "second"):
                if name not in records:
                    records[name] = Record()
            return records["first"].note(x) + records["second"].steps

        return fn, records

    (eager, known), (fn, records) = make(), make()
    compiled = jit(fn)
    for k in range(9):
        if k == 5:
            records["second"].steps = known["second"].steps = 7
        np.testing.assert_allclose(compiled(x(1.0, k)).asnumpy(), eager(x(1.0, k)).asnumpy(), 1e-6)
    assert Record.made == 4 and compiled.report()["replays"] >= 4
    assert not compiled.report()["eager"]


@pytest.mark.parametrize("kind", ["dataset", "loader"])
def test_each_row_of_a_dataset_is_read_once(kind):
    def results(wrap):
        data = np.arange(6, dtype=np.float32)
        rows = (NumpySlicesDataset(data, shuffle=False).create_tuple_iterator()
                if kind == "dataset" else iter(DataLoader(TensorDataset(Tensor(data)))))
        fn = wrap(lambda w: w * next(rows)[0])
        return [numbers(fn(x(2.0))) for _ in range(5)]

    with pytest.warns(UserWarning, match="of a dataset"):
        compiled = results(jit)
    assert compiled == results(lambda fn: fn)


def _factor(a):
    return ops.cholesky(Tensor(np.eye(2, dtype=np.float32)) * a)


def _caught(function):
    def fn(a):
        try:
            return function(a)
        except (RuntimeError, IndexError):
            return a - 1
    return fn


CAUGHT = {"factor": _factor, "unused factor": lambda a: _factor(a) * 0 + a,
          "place": lambda a: ops.gather(ops.ones(3), (3 - a).int().reshape(1), 0),
          "inverse": lambda a: ops.inverse(Tensor(np.eye(2, dtype=np.float32)) * ops.relu(a)),
          "gradient": ms.grad(lambda a: _factor(a).sum())}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("first", [-1.0, 2.0])
@pytest.mark.parametrize("name", CAUGHT)
def test_an_error_of_a_kernel_that_is_caught_is_no_part_of_a_graph(name, first):
    """What else would hold for values for which there is none."""
    fn = _caught(CAUGHT[name])
    compiled = jit(fn)
    for value in (first, 2.0, 3.0, -1.0, 2.5, 0.0, 2.0):
        a = Tensor(value, ms.float32)
        assert numbers(compiled(a)) == numbers(fn(a))
    assert compiled.report()["replays"] >= 2


def test_an_error_that_is_caught_again_and_again_is_a_reason_to_run_eagerly():
    compiled = jit(_caught(_factor))
    with pytest.warns(UserWarning, match="catches the error of a kernel"):
        for value in range(5):
            assert numbers(compiled(Tensor(-1.0 - value))) == numbers(Tensor(-2.0 - value))


def test_kernels_that_lack_a_type_are_computed_otherwise_in_a_graph():
    compiled = jit(lambda a: (a + a, ops.floor_divide(a, a - 1), ops.sort(a)[0]))
    a = Tensor(np.array([3, 1, 2], np.uint16))
    found = [numbers(compiled(a)) for _ in range(3)]
    assert found[0] == found[2] and compiled.report()["replays"] == 2


def test_errors_that_only_lamella_catches_are_no_reason():
    """The gradient of integers tries a kernel that refuses them; the program knows nothing of it.
    """
    class Sum(nn.Cell):
        def construct(self, x, ids, count):
            return ops.unsorted_segment_sum(x, ids, count)

    class Gradients(nn.Cell):
        def construct(self, x, ids, count):
            return ops.grad(Sum(), (0, 1, 2))(x, ids, count)

    given = x(1.0, 2.0, 3.0, 4.0), Tensor([0, 0, 1, 2], ms.int32), 4
    wanted = numbers(Gradients()(*given))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net = Gradients()
        for _ in range(3):
            assert numbers(net(*given)) == wanted
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def _before(a, whole):
    try:
        a = _factor(a)
    except RuntimeError:
        a = a - 1
    return a, ops.floor_divide(whole, whole + 1), ops.sort(whole)[0]


def _meanwhile(a, whole):
    try:
        a = _factor(a)
    except RuntimeError:
        a = a - ops.floor_divide(whole, whole + 1).float().sum() - 1
    return a


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("fn", [_before, _meanwhile])
def test_an_error_that_lamella_catches_forgives_none_that_the_program_has_caught(fn):
    whole, compiled = Tensor(np.array([3, 1, 2], np.uint16)), jit(fn)
    for value in (-1.0, 2.0, -1.0, 3.0):
        a = Tensor(value, ms.float32)
        assert numbers(compiled(a, whole)) == numbers(fn(a, whole))
