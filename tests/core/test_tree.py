"""Structures as values: `lamella.tree`."""

import pytest

import lamella as ms

ONE = {"a": (1, [2, None]), "b": 3}


def structure(value):
    return ms.tree.flatten(value)[1]


def test_what_two_structures_have_in_common():
    its = structure(ONE)
    assert its == structure({"a": (5, [6, None]), "b": 7}) and its.num_leaves == 3
    assert its == structure({"a": [1, (2, None)], "b": 3}), "a list agrees with a tuple"
    for other in ({"a": (1, [2]), "b": 3}, {"a": (1, [2, 4]), "b": 3}, {"a": 1, "c": 3}, [1]):
        assert its != structure(other)
    assert its != 1 and its != "x" and its is not None and not its == ONE


def test_a_structure_is_no_key():
    with pytest.raises(TypeError, match="unhashable"):
        hash(structure(ONE))


def test_its_printed_form_has_stars_for_leaves():
    assert repr(structure((1, [2]))).count("*") == 2
    assert repr(structure((1, [2]))).startswith("Structure(")
