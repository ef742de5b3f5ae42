import pytest

from lamella.parallel import Layout

layout = Layout((2, 2, 2), ("dp", "sp", "mp"))


@pytest.mark.parametrize("axes, want", [
    (("dp", "mp"), (2, 0)), (("None", "mp"), (-1, 0)), ((("dp", "mp"), "sp"), ((2, 0), 1)),
    ((("mp", "dp"), "sp"), ((0, 2), 1)), ((), ())])
def test_places_of_a_tensor(axes, want):  # as recorded from MindSpore
    assert layout(*axes).to_dict() == {
        "device_matrix": (2, 2, 2), "tensor_map": want, "interleaved_parallel": False,
        "alias_name": ("dp", "sp", "mp"), "rank_list": list(range(8))}


def test_a_layout_is_not_changed_by_a_call():
    layout("dp")
    with pytest.raises(ValueError, match="tensor_map of layout is None"):
        layout.to_dict()
    assert Layout((2,), ("a",), [3, 1])("a").to_dict()["rank_list"] == [3, 1]


@pytest.mark.parametrize("call, kind, text", [
    (lambda: layout("zz"), ValueError, "axis zz is not found"),
    (lambda: layout("dp", "dp"), ValueError, "set more than one"),
    (lambda: Layout(2, ("a",)), TypeError, "device_matrix must be tuple"),
    (lambda: Layout((2, 2), ("a",)), ValueError, "equal to alias_name length"),
    (lambda: Layout((2,), ("a",), [0]), ValueError, "got 1 and 2"),
    (lambda: Layout((2, 2), ("a", "a")), ValueError, "should be different"),
    (lambda: Layout((2, 2), ("a", "None")), ValueError, "means no sharding"),
    (lambda: Layout((0,), ("a",)), ValueError, "above 0"),
    (lambda: Layout(("2",), ("a",)), TypeError, "must be int"),
    (lambda: Layout((2, True), ("a", "b")), TypeError, "must be int"),
    (lambda: Layout((2,), ["a"]), TypeError, "alias_name must be tuple"),
    (lambda: Layout((2,), (3,)), TypeError, "alias_name must be str"),
    (lambda: Layout((2,), ("",)), ValueError, "can not be empty"),
    (lambda: Layout((2,), ("a",), (0, 1)), TypeError, "rank_list must be list"),
    (lambda: Layout((2,), ("a",), [0, 1, 2]), ValueError, "got 3 and 2"),
    (lambda: layout(("dp", "sp"), ("mp", "sp")), ValueError, "set more than one"),
    (lambda: Layout((2, 2), ("a",)), ValueError, r"got \(2, 2\) and \('a',\)"),
], ids=range(17))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_the_smallest_and_the_name_that_means_interleaving():
    assert Layout((1,), ("a",))("a").to_dict()["rank_list"] == [0]
    found = Layout((2, 2), ("dp", "interleaved_parallel"))("dp").to_dict()
    assert found["interleaved_parallel"] is True and found["tensor_map"] == (1,)
