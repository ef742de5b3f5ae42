"""Which graphs Inductor is asked to compile, by what text, and what is loaded; none is compiled."""

import json

import pytest
import torch

from lamella.graph.aoti import native
from lamella.graph.aoti.native import Native
from lamella.graph.ir.stages import Part
from lamella.machine import background, extension
from tests.graph.passes.checks import recorded

aten = torch.ops.aten
X, PLACES = torch.ones(3), torch.tensor([0, 2])


@pytest.fixture(autouse=True)
def folder(cache_folder):
    return cache_folder


def made(fn, *inputs):
    return Native(Part.whole(recorded(fn, *inputs)), list(inputs))


def described(one):
    return json.loads(one._text())


def test_graphs_that_are_alike_have_one_key():
    one, again = made(torch.sin, X), made(torch.sin, X * 2)
    assert one.key == again.key and one.name == again.name and one.key and one.name
    others = [made(torch.cos, X), made(torch.sin, torch.ones(4)), made(torch.sin, X.double())]
    assert len({one.key, *(other.key for other in others)}) == 4
    assert described(one) == described(again)
    assert [node[0] for node in described(one)["nodes"]] == [
        "placeholder", "aten.sin.default", "output"]
    assert not one.requested and not one.finished and not one._has_flag


@pytest.mark.parametrize("fn, inputs, is_named", [
    (lambda x: torch.histc(x, 3), [X], True),  # what it fails for isn't known
    (lambda x: (aten._assert_async.msg(x.sum() > 0, "no"), x * 2)[1], [X], True),
    (lambda x: x[torch.tensor([1])], [X], False)])  # a constant of the graph
def test_graphs_that_are_not_compiled(fn, inputs, is_named):
    one = made(fn, *inputs)
    assert one.key is None and bool(one.name) == is_named and one.entry() is None
    one.request()
    assert one.requested and one.finished and one.load() is None


def test_kernels_that_machine_code_would_call_wrongly(monkeypatch):
    monkeypatch.setattr(native, "REFUSED", ("aten.sin.default",))
    assert made(torch.sin, X).key is None and made(torch.cos, X).key is not None
    assert made(lambda x: x.sin().cos(), X).key is None


def test_without_a_folder_a_graph_has_a_name_alone(monkeypatch):
    key = made(torch.sin, X).name
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    one = made(torch.sin, X)
    assert one.key is None and one.name == key


def test_a_kernel_that_may_fail_has_a_flag():
    one = made(lambda x, i: x.index_select(0, i) * 2, X, PLACES)
    assert one._has_flag and one.key
    results = described(one)["nodes"][-1][1][0]
    assert len(results) == 2 and len(one.part.results) == 1
    # a wrong place is replaced by one that is right, since code would read beyond the tensor
    assert any(node[0].startswith(("aten.where", "aten.masked_fill", "aten.clamp"))
               for node in described(one)["nodes"])
    for fn in (lambda x, i: x * 2,
               lambda x, i: x.index_select(0, i.argmax(0, keepdim=True) * 0 + 1)):
        other = made(fn, X, PLACES)
        assert other._has_flag == ("index_select" in other._text())
    known = made(lambda x, i: x.gather(0, x.argmax(0, keepdim=True)), X, PLACES)
    assert not known._has_flag and len(described(known)["nodes"][-1][1][0]) == 1


@pytest.mark.parametrize("cores, threads", [(8, "4"), (3, "1"), (1, "1"), (None, "1"), (5, "2")])
def test_how_many_threads_compile(cores, threads, monkeypatch):
    monkeypatch.setattr(native.os, "cpu_count", lambda: cores)
    assert made(torch.sin, X).settings == {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    other = made(lambda x, i: x.index_select(0, i), X.to("meta"), PLACES.to("meta"))
    assert other.settings == {"TORCHINDUCTOR_COMPILE_THREADS": threads}
    assert other.device.type == "meta" and not other._has_flag  # a device reports it itself
    constant = Native(Part.whole(recorded(lambda: torch.ones(2))), [])
    assert constant.device.type == "cpu" and constant.key


def test_what_is_requested_is_compiled_once(monkeypatch, folder):
    jobs = []
    monkeypatch.setattr(background, "submit", jobs.append)
    monkeypatch.setattr(extension, "compiler", lambda: "g++")
    one = made(torch.sin, X)
    one.request()
    assert len(jobs) == 1 and one.requested and not one.finished
    texts = []
    monkeypatch.setattr(one, "compile", texts.extend)
    jobs[0]()
    assert one.finished and texts == [one._text()]
    (folder / one.key).mkdir()
    again = made(torch.sin, X)
    again.request()
    assert len(jobs) == 1 and again.finished


def test_what_is_made_now_is_made_once(monkeypatch, folder):
    made_in = []

    def compile_in(draft):
        made_in.append(draft)
        (draft / "digest").write_text("")

    monkeypatch.setattr(native.worker, "compile_in", compile_in)
    for compiler, count in ((None, 0), ("g++", 1), ("g++", 1)):
        monkeypatch.setattr(extension, "compiler", lambda compiler=compiler: compiler)
        monkeypatch.setattr(native, "_warned", [True])
        one = made(torch.sin, X)
        one.make_now()
        assert one.requested and one.finished and len(made_in) == count
        assert (one.entry() is not None) == bool(count)
    none = made(lambda x: torch.histc(x, 3), X)
    none.make_now()
    assert none.finished and len(made_in) == 1


def test_a_request_ends_also_after_an_error(monkeypatch):
    one = made(torch.sin, X)

    def fails(texts):
        raise OSError

    monkeypatch.setattr(one, "compile", fails)
    with pytest.raises(OSError):
        one._make(["text"])
    assert one.finished


def test_what_is_not_loaded(folder, capsys):
    one = made(torch.sin, X)
    assert one.load() is None
    place = folder / one.key
    place.mkdir()
    (place / "failed").write_text("why")
    assert one.load() is None and place.exists()
    (place / "failed").unlink()
    (place / "model.so").write_bytes(b"library")
    (place / "digest").write_text("another")
    assert one.load() is None and not place.exists()
    assert "is damaged (its digest is another)" in capsys.readouterr().err


def test_code_whose_flag_is_set_is_an_error():
    flag = torch.tensor(False)
    run = native._checked(lambda values: [*values, flag])
    assert run([X, PLACES]) == [X, PLACES]
    flag.fill_(True)
    with pytest.raises(RuntimeError, match="a kernel fails for these values"):
        run([X])


class Runners:
    """Stands for PyTorch's runners, which say what they were called with."""

    def AOTIModelContainerRunnerCpu(self, *args):  # noqa: N802 - as PyTorch has it
        return args

    def AOTIModelContainerRunnerCuda(self, *args):  # noqa: N802
        if self.is_old and len(args) > 3:
            raise TypeError
        return args


@pytest.mark.parametrize("is_old", [False, True])
def test_how_code_is_loaded_on_each_device(is_old, monkeypatch):
    runners = Runners()
    runners.is_old = is_old
    monkeypatch.setattr(torch._C, "_aoti", runners)
    assert native.runner_of("m.so", torch.device("cpu")) == ("m.so", 1)
    found = native.runner_of("m.so", torch.device("cuda:1"))
    assert found == (("m.so", 1, "cuda:1") if is_old else ("m.so", 1, "cuda:1", "", True))
    with pytest.raises(ValueError, match="no compiled code on meta"):
        native.runner_of("m.so", torch.device("meta"))
