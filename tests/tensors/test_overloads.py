"""Errors of calls that match no overload of a method: the texts are MindSpore 2.10's."""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, mint
from lamella.tensors import tensor_forms
from lamella.tensors.overloads import overloaded, parse, shortcut

TEXTS = json.loads((Path(__file__).parents[1] / "data" / "messages_of_forms.json").read_text())


@pytest.mark.parametrize("call", TEXTS)
def test_text(call):
    names = {"x": Tensor(np.array([[1.0, 5, 3], [4, 2, 9]], np.float32)), "mint": mint, "np": np,
             "i": Tensor([0, 1]), "Tensor": Tensor}
    with pytest.raises(TypeError) as caught:
        eval(call, names)
    assert str(caught.value).rstrip() == TEXTS[call]


def example(self, axis=None, keep=False):
    if not isinstance(keep, bool):
        raise ValueError("no bool")
    return axis, keep


FORMS = (parse("example(axis=<int,None>?, keep=<bool>?)"),
         parse("example(dim=<int>, keep=<bool>?)"))
METHOD = overloaded("example", example, FORMS, {"dim": "axis"})


@pytest.mark.parametrize(("args", "given", "expected"), [
    ((), {}, (None, False)), ((1, True), {}, (1, True)), ((), {"dim": 2}, (2, False)),
    ((), {"dim": 2, "keep": True}, (2, True)), ((3,), {"keep": True}, (3, True)),
], ids=["nothing", "places", "other_name", "names", "mixed"])
def test_calls_that_fit(args, given, expected):
    for _ in range(2):
        assert METHOD(None, *args, **given) == expected


@pytest.mark.parametrize(("args", "given"), [
    ((1, True, 2), {}), ((1,), {"axis": 2}), ((), {"dim": 1, "axis": 2}), ((), {"keep": 3}),
    ((), {"other": 1}), ((1,), {"dim": 1}),
], ids=["many", "twice", "both", "kind", "unknown", "place_and_name"])
def test_calls_that_do_not(args, given):
    for _ in range(2):
        with pytest.raises(TypeError, match='^Failed calling example with "example'):
            METHOD(None, *args, **given)


def test_an_error_of_the_function_stays():
    with pytest.raises(ValueError, match="5 is out of|must be in|Dimension out of range"):
        Tensor([1.0]).sum(5)


def test_compiled_too():
    assert ms.jit(lambda x: x.sum(axis=0, keepdims=True))(Tensor([1.0, 2.0])).shape == (1,)


@pytest.mark.parametrize("name", "all any max min mean sum argmax".split())
def test_reductions_of_numpy(name):
    x = np.float32([[1.0, 0.0], [3.0, 4.0]])
    found = getattr(np, name)(ms.Tensor(x))
    assert isinstance(found, ms.Tensor)
    np.testing.assert_allclose(found.asnumpy(), getattr(np, name)(x))


def test_scatter_by_dim_and_by_axis():
    x, at, src = Tensor([[1.0, 2.0, 3.0]]), Tensor([[2, 0]]), Tensor([[8.0, 9.0]])
    wanted = {"none": [[9.0, 2.0, 8.0]], "add": [[10.0, 2.0, 11.0]], "multiply": [[9.0, 2.0, 24.0]]}
    for reduce, elements in wanted.items():
        assert x.scatter(dim=1, index=at, src=src, reduce=reduce).tolist() == elements
        assert x.scatter(1, at, src, reduce).tolist() == elements
    for found in (x.scatter(dim=1, index=at, src=src), x.scatter(axis=1, index=at, src=src)):
        assert found.tolist() == wanted["none"]
    assert x.scatter(dim=Tensor(1), index=at, src=7).tolist() == [[7.0, 2.0, 7.0]]
    with pytest.raises(ValueError, match="'reduce' must be one of"):
        x.scatter(1, at, src, "max")


def test_each_declared_name_is_an_argument():
    unknown = []
    for name, forms in tensor_forms.FORMS.items():
        method = getattr(Tensor, name)
        cells = zip(method.__code__.co_freevars, method.__closure__, strict=True)
        names = {key: cell.cell_contents for key, cell in cells}["names"]
        takes = inspect.signature(inspect.unwrap(method)).parameters
        if any(p.kind is p.VAR_KEYWORD for p in takes.values()):
            continue
        by_name = {key for key, p in takes.items() if p.kind is not p.VAR_POSITIONAL}
        unknown += [(form.text, p.name) for form in forms for p in form.parameters
                    if names.get(p.name, p.name) not in by_name]
    assert not unknown


@pytest.mark.parametrize(("call", "words"), [
    (lambda x: x.max(1, [1]), [
        'Failed calling max with "max(int, list<int>)".', '"Tensor.max()"\n',
        '"Tensor.max(dim=<int>, keepdim=<bool>)"\n'
        "    match failed because invalid types: (int, list<int>)\n"
        "                                              ~~~~~~~~~~~\n"
        '"Tensor.max(axis=<int,Tuple,None,List>, keepdims=<bool>, *, initial=<number,None>, '
        'where=<bool,Tensor>, return_indices=<bool>)"']),
    (lambda x: x.max(a=1, b=2), ["\tmatch failed because incorrect keyword name: a\n"]),
    (lambda x: x.clamp(min=1, max_value=2), ["incorrect keyword name: max_value\n"]),
    (lambda x: x.max(1, 1, initial=None),
     ["max(): argument 'keepdims' (position 2) must be bool, not int."]),
    (lambda x: x.max(1, True, initial=[1]),
     ["max(): argument 'initial' must be Number but got list of Any"]),
    (lambda x: x.roll(shifts=1, dims=1.5), [
        '"Tensor.roll(shifts=<int,Tuple,List>, dims=<int,Tuple,None,List>)"\n'
        "    match failed because invalid types: (shifts=int, dims=float)\n"
        "                                         ~~~~~~~~~~~~~~~~~~~~~~~~"]),
])
def test_text_in_graphs(call, words):
    """As MindSpore 2.10's graphs say it, where forms are shown as they were declared."""
    with pytest.raises(TypeError) as caught:
        ms.jit(call)(Tensor([[1.0, 2.0]]))
    for word in words:
        assert word in str(caught.value)


def test_a_declaration_is_read_in_parts():
    form = parse("f(a=<Tensor, list<int>>, *, b=<int>?)".replace(", list<int>", ",list"), "Tensor.")
    assert form.text == "Tensor.f(a=<Tensor,list>, *, b=<int>)" and form.name == "f"
    first, second = form.parameters
    assert first == ("a", ("Tensor", "list"), True, True)
    assert second == ("b", ("int",), False, False)
    assert [form.takes(count) for count in range(4)] == [False, True, True, False]
    none = parse("g()")
    assert none.parameters == () and none.takes(0) and not none.takes(1)


@pytest.mark.parametrize("skip", [0, 1, 2])
def test_how_many_arguments_fit_with_some_left_out(skip):
    called = []

    def serve(*given):
        called.append(given)

    forms = parse("f(a=<int>, b=<int>?)"), parse("f(a=<int>, b=<int>, c=<int>, d=<int>)")
    call = overloaded("f", serve, forms, None, skip)
    for count, fits in enumerate([False, True, True, False, True, False]):
        if fits:
            call(*range(skip + count))
            assert called.pop() == tuple(range(skip + count))
        else:
            with pytest.raises(TypeError, match="f"):
                call(*range(skip + count))
    assert called == []


def test_a_tuple_may_be_spelled_as_many_arguments():
    def serve(self, *dims):
        return dims

    several = overloaded("f", serve, (parse("f(dims=<Tuple>)"),))
    assert several(0, 1, 2, 3) == (1, 2, 3) and several(0, (1, 2)) == ((1, 2),)
    with pytest.raises(TypeError):
        several(0)
    none_too = overloaded("f", serve, (parse("f(dims=<Tuple>?)"),))
    assert none_too(0) == () and none_too(0, 4, 5) == (4, 5)
    single = overloaded("f", lambda self, *dims: dims, (parse("f(dims=<int>)"),))
    with pytest.raises(TypeError):
        single(0, 1, 2)


def test_an_error_of_a_call_with_many_numbers_stays_where_a_tuple_of_them_fits():
    def serve(self, *dims):
        raise ValueError("no such dimension")

    several = overloaded("f", serve, (parse("f(dims=<Tuple>)"),))
    for given in ((0, 1), ((0, 1),), (5,)):
        with pytest.raises(ValueError, match="no such dimension"):
            several(None, *given)
    for given in ((0, 1.5), ("a",), (1, (2,))):
        with pytest.raises(TypeError, match="Failed calling f"):
            several(None, *given)


def test_only_a_first_tuple_may_be_spelled_as_many_arguments():
    call = overloaded("f", lambda self, *given: given, (parse("f(a=<int>, dims=<Tuple>)"),))
    assert call(None, 1, (2, 3)) == (1, (2, 3))
    with pytest.raises(TypeError, match="Failed calling f"):
        call(None, 1, 2, 3)


def test_a_shortcut_serves_calls_of_few_arguments_by_place():
    def both(a, b=0, c=0):
        return "form", a, b, c

    marked = shortcut(lambda a, b=0: ("shortcut", a, b), 2)(both)
    call = overloaded("f", marked, (parse("f(a=<int>, b=<int>?, c=<int>?)"),), None, 0)
    assert call(1) == ("shortcut", 1, 0) and call(1, 2) == ("shortcut", 1, 2)
    assert call(1, 2, 3) == ("form", 1, 2, 3) and call(1, b=2) == ("form", 1, 2, 0)
