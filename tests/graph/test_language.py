"""Python's statements and built-in functions in compiled functions: one graph, and Python's results
at every call.

PYTEST_DONT_REWRITE: compiled functions need Python's own asserts.
"""

import functools

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

X, Y = Tensor([1.0, 2.0, 3.0]), Tensor([4.0, 5.0, 6.0])


def plain(value):
    """A result with lists of numbers for Tensors."""
    if isinstance(value, Tensor):
        return value.asnumpy().tolist()
    if isinstance(value, (tuple, list)):
        return type(value)(plain(part) for part in value)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value


def strings(a):
    return (f"{a.shape} {a.dtype}", "%d-%s" % (a.shape[0], "x"),  # noqa: UP031
            "{}:{}".format(a.ndim, "b"),
            str((1, 2)), str({"a": None}), "ab" * 2 + "c", "a" < "b", "abc"[1],
            f"{a.shape[0]:>5d}|{1.5:.3f}|{a.ndim=}", "a,b".split(","), "-".join(["p", "q"]))


def kinds(a):
    return (type(a) is Tensor, isinstance(a.sum(), Tensor), isinstance(1, (int, float)),
            isinstance((1,), tuple), isinstance([1], list), isinstance("a", str),
            isinstance({}, dict), isinstance(None, type(None)), int.__name__, callable(kinds))


def lengths(a):
    return len(a), len((1, 2)), len("abc"), len({"a": 1}), len([a, a])


def sequences(a):
    return (tuple(map(lambda p, q: p + q, (a, a), (a, 1))), list(zip((1, 2), (3, a), strict=True)),
            list(enumerate((a, 2), 1)), list(filter(lambda v: v > 1, (1, 2, 3))),
            list(range(4, 0, -2)), sorted([3, 1, 2]), list(reversed((1, 2))), all((True, False)),
            any((0, 1)))


def lists(a):
    found = [1, 2, 3]
    found.append(a)
    found.insert(0, 5)
    found.pop(1)
    found.extend([7])
    found.reverse()
    found[0] = 9
    del found[1]
    return found, found + [1], found[::2], 2 in (1, 2), [0] * 2


def dicts(a):
    found = {"a": a, "b": 2}
    found["c"] = 3
    found.update({"e": 5})
    del found["b"]
    taken = found.pop("e")
    return found, taken, list(found.keys()), list(found.values()), found.get("z", 7), "a" in found


def comprehensions(a):
    return ([i * 2 for i in range(4) if i % 2], {k: a * k for k in (1, 2)},
            tuple(v for v in (1, 2)), [[i + j for i in (1, 2)] for j in (10, 20)])


def unpacking(a):
    first, *rest = (1, 2, a)
    (p, q), s = (4, 5), 6
    return first, rest, p, q, s, a[1:], a[::2], a[..., None].shape


def numbers(a):
    return (int(3.7), float(2), bool(0), int("5"), (-123.6), complex(1, 2), abs(-3),
            max(1, 5), min((4, 2)), sum([1, 2, 3]), round(2.567, 2), pow(2, 3), divmod(7, 2),
            a.shape[0] // 2, -7 // 2, -7 % 3, 2 ** -1, 7 / 2, 5 & 3, 5 | 3, 5 ^ 1, ~5, 1 << 3)


def of_tensors(a):
    return int(a[0]), bool(a[2] > 2), max(a), min(a), sum(a), abs(-a), a[0] > 0 and a[1] > 0


def loops(a):
    total = 0
    for i in range(3):
        total = total + i * a
    while total.sum() < 50:
        total = total * 2
    else:
        total = total + 1
    count = 0
    while True:
        count += 1
        if count == 2:
            continue
        if count > 4:
            break
    return total, count, a if a.sum() > 0 else -a


def handling(a):
    try:
        raise ValueError("x")
    except ValueError as error:
        return a + 1, str(error)


def functions(a):
    def inner(*args, k=2, **more):
        return a * k + len(args) + len(more)

    return inner(1, 2, k=3, z=1), functools.partial(lambda u, v: u - v, 10)(3)


def arrays(a):
    return Tensor(np.array([1.0, 2.0, 3.0], np.float32)) + a, {1, 2} == {2, 1}


def leaving(a):
    for i, value in enumerate(a):
        if value > 1.5:
            return i, value
    return -1, a[0]


def nothing(a):
    return None


@pytest.mark.parametrize("function", [
    strings, kinds, lengths, sequences, lists, dicts, comprehensions, unpacking, numbers,
    of_tensors, loops, handling, functions, arrays, leaving, nothing], ids=lambda f: f.__name__)
def test_python_means_the_same_in_a_graph(function):
    compiled = ms.jit(function, fullgraph=True)
    for _ in range(3):
        assert plain(compiled(X)) == plain(function(X))
    assert compiled.report()["replays"] == 2
    for _ in range(2):
        assert plain(compiled(Y)) == plain(function(Y))


def test_print_shows_values_at_every_run(capsys):
    @ms.jit
    def f(a):
        print("value:", a * 2, a.shape, 3)
        return a

    for x in (X, Y, X):
        f(x)
    assert capsys.readouterr().out == ("value: [2. 4. 6.] (3,) 3\nvalue: [ 8. 10. 12.] (3,) 3\n"
                                       "value: [2. 4. 6.] (3,) 3\n")


def test_asserts_and_raises_of_values():
    @ms.jit
    def f(a):
        assert a.shape[0] == 3, "three"
        assert a.sum() < 10, "sum"
        if a[0] > 1:
            raise ValueError("too large")
        return a

    for _ in range(2):
        assert plain(f(X)) == plain(X)
        with pytest.raises(AssertionError, match="sum"):
            f(Y)
        with pytest.raises(ValueError, match="too large"):
            f(X + 1)


@ms.jit_class
class Scale:
    shift = 3

    def __init__(self, factor):
        self.factor = factor

    def go(self, a):
        return a * self.factor + self.shift

    def __call__(self, a):
        return a - 1


def test_classes_in_graphs():
    scale = Scale(2)

    @functools.partial(ms.jit, fullgraph=True)
    def f(a):
        return (scale.go(a), Scale(5).go(a), scale(a), getattr(scale, "factor"),  # noqa: B009
                hasattr(scale, "nothing"), getattr(scale, "nothing", 4))

    for _ in range(2):
        assert plain(f(X)) == ([5, 7, 9], [8, 13, 18], [0, 1, 2], 2, False, 4)
    scale.factor = 1
    assert plain(f(X))[0] == [4, 5, 6]


class Layer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ops.ones(1), name="w")
        self.seen, self.count = [1, 2], 0

    def construct(self, a):
        self.w = self.w + 1
        self.count = self.count + 1
        self.seen.append(3)
        return a * self.w, len(self.seen), self.count


def test_a_cells_own_attributes_change_at_every_run():
    layer = Layer()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        found = [plain(layer(X)) for _ in range(3)]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert found == [([2, 4, 6], 3, 1), ([3, 6, 9], 4, 2), ([4, 8, 12], 5, 3)]
    assert (layer.count, layer.seen, layer.w.asnumpy()) == (3, [1, 2, 3, 3, 3], 4)
