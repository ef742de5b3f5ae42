"""Text with values of tensors, compiled: what is only printed is made by each replay."""

import contextlib
import functools
import io
import logging
import sys
import types
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit
from lamella.core import log
from lamella.graph.tracing import texts
from tests.graph.random_loops import compile_source

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


class Place:
    """A value that notes where its text is made."""

    def __init__(self):
        self.found = None

    def __format__(self, spec):
        frame = sys._getframe(1)
        into = texts.appended_to(frame)
        self.found = "".join(letter for letter, holds in (
            ("p", texts.is_only_printed(frame)), ("l", texts.is_only_logged(frame)),
            ("r", texts.is_only_returned(frame)), ("a", isinstance(into, list))) if holds)
        return "text"


def place_of(lines, outside=()):
    """Where a text is made in the last of some lines of a function, by the first letters."""
    text = "\n".join([*outside, "def program(x, table, log, keep):",
                      *["    " + line for line in lines.split("\n")]]) + "\n"
    holder = types.SimpleNamespace(table=table, log=logging.getLogger("of.places"), n=5)
    fn = compile_source(text, f"place_{abs(hash(text))}", {
        "logging": logging, "holder": holder, "own": Own(), "contextlib": contextlib, "say": print,
        "lamella_log": log, "names": names})
    place = Place()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(AttributeError):
        fn(place, [], logging.getLogger("of.places"), [])
    return place.found


class Own:
    """Has the methods of a logger, and of a list."""

    def info(self, *texts):
        pass

    append = info


class Names(str):
    pass


table: list = []
names = Names("n")


@pytest.mark.parametrize("lines, found", [
    ('print(f"{x}")', "p"), ('print("a", f"{x:>{9}}")', ""), ('print(f"{x:>9}", end="")', "p"),
    ('print("a",\n      f"{x}",\n      "b")', "p"), ('say(f"{x}")', ""), ('x = f"{x}"', ""),
    ('print(len(f"{x}"))', ""), ('print("n", end=f"{x}")', ""), ('print(format(x))', ""),
    ('print("{:>9}".format(x))', "p"), ('print("{:>{}}".format(x, 9))', ""),
    ('print("{}".format(x), "{}".format(3))', "p"), ('print(names.format(x), f"{x}")', ""),
    ('print(f"{x}", (lambda: 3)())', ""), ('print(f"{x}"); n = 3', ""),
    ('if x: print(f"{x}")', ""), ('if x:\n    print(f"{x}")', "p"), ('y = print(f"{x}")', "p"),
    ('print(f"{x}").text', ""), ('[print(f"{x}")]', ""), ('print(*[f"{x}"])', ""),
    ('with contextlib.suppress(len(f"{x}"),\n                         ValueError):\n    pass', ""),
    ('print = len\nprint(f"{x}")', ""), ('print(f"{x}", "{}".format_map)', ""),
    ('log.info(f"{x}")', "l"), ('log.exception(f"{x}")', ""), ('logging.warning(f"{x}")', "l"),
    ('log.log(20, f"{x}")', "l"), ('own.info(f"{x}")', ""), ('holder.log.error(f"{x}")', "l"),
    ('lamella_log.error(f"{x}")', "l"), ('logging.getLogger("a").error(f"{x}")', ""),
    ('logging.root.error(f"{x}")', "l"),
    ('keep.append(f"{x}")', "a"), ('table.append(f"{x:.2f}")', "a"), ('own.append(f"{x}")', ""),
    ('holder.table.append("{}".format(x))', "a"), ('keep.append([f"{x}"])', ""),
    ('keep.insert(0, f"{x}")', ""), ('keep.append(f"{x}".upper())', ""),
    ('return f"{x}"', "r"), ('return 3, [f"{x}", {"a": (f"{x}",)}]', "r"),
    ('return {f"{x}": 1}', ""), ('return f"{x}".upper()', ""), ('return {f"{x}"}', ""),
    ('return f"{x}" + "a"', ""), ('return "{:.2f}".format(x)', "r"),
    ('return lambda: f"{x}"', None), ('return f"{x}", format(3)', ""), ('if x: return f"{x}"', ""),
    ('return (3,\n        f"{x}")', "r"),
    ('return print(f"{x}")', "p"), ('return table.append(f"{x}")', "a"),
    ('def inner():\n    yield 1\n    return f"{x}"\nlist(inner())', ""),
    ('def inner():\n    return f"{x}"\ninner()', "r"),
    ('def inner():\n    print(f"{x}")\ninner()', "p"),
    ('def inner(print):\n    print(f"{x}")\ninner(len)', ""),
    ('def print(a):\n    return a\ndef inner():\n    print(f"{x}")\ninner()', "")])
def test_what_is_made_of_a_text_where_it_is_made(lines, found):
    assert place_of(lines) == found


def test_a_text_for_a_print_of_a_module():
    assert place_of('print(f"{x}")', ["print = len"]) == ""


def test_a_text_in_code_without_lines():
    place = Place()
    eval("print(f'{x}')", {"x": place})
    assert place.found == ""


def test_the_pieces_of_a_text_with_marks():
    first, second = texts.marked(2.5, ".2f"), texts.marked(7, "")
    text = f"a{first}b\0{10**9}\0{second}"
    pieces = ["a", 2.5, ".2f", f"b\0{10**9}\0", 7, "", ""]
    assert texts.parts_of_text(text, keep=True) == pieces == texts.parts_of_text(text)
    assert texts.joined(pieces) == f"a2.50b\0{10**9}\x007"
    assert texts.parts_of_text(text) is None  # taken apart before
    for other in ("plain", "a\0b", 3, None, first.encode()):
        assert texts.parts_of_text(other) is None
    third = texts.marked(1, "")
    texts.forget()
    assert texts.parts_of_text(third) is None
    call = functools.partial(texts.printing, print, frozenset({1}))
    assert texts.texts_of(call) == {1} and texts.texts_of(print) == frozenset()
    assert texts.texts_of(functools.partial(print, print, frozenset({1}))) == frozenset()


class Sink:
    """Gets what is printed or logged, by code of the program."""

    def __init__(self):
        self.lines = []

    def write(self, text):
        self.lines.append(text)

    def flush(self):
        pass


def printed_to(sink):
    def step(x):
        print("sum", x.sum(), file=sink)
        return x * len(sink.lines)

    return step


def printed_text_to(sink):
    def step(x):
        print(f"sum {x.sum():.1f}", file=sink)
        return x * 2

    return step


def logged_to(sink):
    logger = logging.Logger("of.a.sink", logging.INFO)
    logger.addHandler(logging.StreamHandler(sink))

    def step(x):
        logger.info(f"sum {x.sum():.1f}")
        return x * len(sink.lines)

    return step


def by_a_method_of_its_own(sink):
    logger = logging.Logger("of.its.own", logging.INFO)
    logger.info = sink.write

    def step(x):
        logger.info(f"sum {x.sum():.1f}")
        return x * len(sink.lines[-1])

    return step


@pytest.mark.filterwarnings("ignore:For 'jit'")
@pytest.mark.parametrize("make", [printed_to, printed_text_to, logged_to, by_a_method_of_its_own])
def test_code_of_the_program_that_gets_a_text(make):
    found = []
    for wrap in (lambda fn: fn, jit):
        sink = Sink()
        step = wrap(make(sink))
        found.append(([step(Tensor([1.0 * k, 10.0 ** k])).asnumpy().tolist() for k in range(5)],
                      sink.lines))
    assert found[0] == found[1]
