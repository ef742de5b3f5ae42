"""Text with values of tensors, compiled: what is only printed is made by each replay."""

import contextlib
import io
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit

CALLS = [(Tensor([k + 0.5, 2.0, -1.0]), k) for k in range(6)]


def plain(x, k):
    loss = (x * x).sum()
    print(f"loss: {loss}", x.shape, end=";\n")
    return loss


def formats(x, k):
    loss = (x * x).sum()
    print(f"step: {k}, loss: {loss:.4f} {x}", f"{loss:>10.2f}|{k:03d}")
    return loss


def numbers(x, k):
    loss = (x * x).sum()
    print(f"{float(loss):8.2f} {loss.item()} {k}")
    return loss


def several_lines(x, k):
    for i in range(2):
        print(
            f"{i}",
            f"{x.sum():.3f}")
    x[0] = 7.0  # after it was printed
    return x * 2


def marks_of_its_own(x, k):
    print("a\0007\0b", f"{x.sum():.1f} a\0007\0b")
    return x * 2


def inside_of_a_gradient(x, k):
    def function(x):
        loss = (x * x).sum()
        print(f"{loss:.3f}")
        return loss

    return ms.grad(function)(x)


def kept(x, k):
    text = f"{x.sum():.2f}"
    print(text)
    return x * len(text)


def computed_with(x, k):
    print(f"{x.sum():.2f}".rjust(10), len(f"{x}"))
    return x * 2


def of_a_varying_width(x, k):
    print(f"{x.sum():{10 + k}.2f}")
    return x * 2


def handed_on(x, k):
    (lambda *texts: print(*[text[:2] for text in texts]))(f"{x.sum()}")
    return x * 2


def refused_in_between(x, k):
    print(f"{x.sum():.2f} {x.asnumpy()}")
    return x * 2


def raises_in_between(x, k):
    try:
        print(f"{x.sum():.2f} {x[5]}")
    except IndexError:
        print(f"{x.sum():.3f}")
    return x * 2


def called(function, calls):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = [function(x.copy(), k).asnumpy().tolist() for x, k in calls]
    return found, out.getvalue()


@pytest.mark.parametrize("function, is_graph", [
    (plain, True), (formats, True), (numbers, True), (several_lines, True),
    (marks_of_its_own, True),
    (inside_of_a_gradient, True), (raises_in_between, True), (kept, False),
    (computed_with, False), (of_a_varying_width, False), (handed_on, False),
    (refused_in_between, False)])
def test_printed_text(function, is_graph):
    compiled = jit(function)
    assert called(compiled, CALLS) == called(function, CALLS)
    report = compiled.report()
    assert (report["replays"] > 2 and not report["eager"]) if is_graph else not report["replays"]


def test_text_of_a_parameter_that_is_updated(capsys):
    w = Parameter(Tensor([0.0, 0.0]), name="w")

    @jit(fullgraph=True)
    def step(x):
        print(f"before {w.sum():.1f}")
        w.set_data(w + x)
        print(f"after {w.sum():.1f}")
        return w.sum()

    for _ in range(3):
        step(Tensor(np.ones(2, np.float32)))
    assert capsys.readouterr().out.split("\n")[:-1] == [
        "before 0.0", "after 2.0", "before 2.0", "after 4.0", "before 4.0", "after 6.0"]


def test_a_print_of_the_programs_own_gets_the_text():
    said = []

    def print(text):
        said.append(text)

    def step(x):
        print(f"{x.sum():.1f}")
        return x

    compiled = jit(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(3):
            compiled(Tensor([1.0 * k]))
    assert said == ["0.0", "1.0", "2.0"]


def returned():
    def step(x):
        return x * 2, f"loss {float(x.mean()):.3f}", {"last": [f"{x.sum().item():>9.2e}!"]}

    return step


def appended():
    texts: list[str] = []

    class Step:
        def __init__(self):
            self.texts = texts

        def __call__(self, x):
            self.texts.append(f"{float(x.sum()):.3f} and {float(x.max()) + 1:.1f}")
            return x * 2

    step = Step()
    return lambda x: step(x), texts


def test_a_text_that_is_returned_is_made_by_replays():
    eager, compiled = returned(), ms.jit(returned())
    for i in range(10):
        x = ms.Tensor([1.5 * i, 2.0, -i])
        assert str(compiled(x)) == str(eager(x))
    assert compiled.report()["replays"] >= 7 and not compiled.report()["eager"]


def test_a_text_that_is_appended_is_made_by_replays():
    (eager, wanted), (fn, found) = appended(), appended()
    compiled = ms.jit(fn)
    for i in range(10):
        x = ms.Tensor([1.5 * i, 2.0, -i])
        eager(x), compiled(x)
        assert found == wanted
    assert compiled.report()["replays"] >= 6 and not compiled.report()["eager"]


def inner_text():
    def text(x):
        return f"{float(x.sum()):.1f}"

    def step(x):
        return x * 2 if len(text(x)) == 3 else x

    return step


def compared_text():
    def step(x):
        return x, f"{float(x.sum()):.0f}" == "6"

    return step


def as_a_key():
    def step(x):
        return {f"{float(x.sum()):.0f}": x}

    return step


def formatted_twice():
    def step(x):
        return x, f"{float(x.sum()):.1f}".zfill(9), f"{f'{float(x.sum()):.1f}':>9}"

    return step


def seen_by_a_hook():
    class Net(ms.nn.Cell):
        def construct(self, x):
            return x, f"{float(x.sum()):.1f}"

    net = Net()
    net.register_forward_hook(lambda cell, given, out: (out[0] * len(out[1]), out[1]))
    return net


def kept_then_read():
    texts: list[str] = []

    def step(x):
        texts.append(f"{float(x.sum()):.1f}")
        return x * len(texts[-1])

    return step


def own_list():
    class Lengths(list):
        def append(self, text):
            super().append(len(text))

    lengths = Lengths()

    def step(x):
        lengths.append(f"{float(x.sum()):.1f}")
        return x * 2, list(lengths)

    return step


def in_a_generator():
    def texts(x):
        yield f"{float(x.sum()):.1f}"
        return f"{float(x.sum()):.1f}"

    return lambda x: (x, len(next(texts(x))))


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("make", [inner_text, compared_text, as_a_key, formatted_twice,
                                  seen_by_a_hook, kept_then_read, own_list, in_a_generator],
                         ids=lambda make: make.__name__)
def test_a_text_that_the_program_computes_with_is_right(make):
    eager, compiled = make(), ms.jit(make())
    for i in range(14):
        x = ms.Tensor([1.5 * i, 2.0, 4.0 * i])
        assert str(compiled(x)) == str(eager(x))
