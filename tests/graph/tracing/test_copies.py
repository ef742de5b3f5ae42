"""Copies of arguments and results."""

import dataclasses

from lamella import Parameter, Tensor
from lamella.graph.tracing.copies import copied, copies_of


@dataclasses.dataclass
class Both:
    left: object
    right: object


def test_tensors_are_copied_and_parameters_only_in_results():
    x, weight, name = Tensor([1.0]), Parameter(Tensor([2.0]), name="w"), ["a"]
    given = {"x": [x, (x, weight)], "name": name, "both": Both(x, 3)}
    of_arguments, of_results = copied(given), copies_of([given["x"], name])
    x.add_(5)
    weight.set_data(Tensor([7.0]))
    assert of_arguments["x"][0].tolist() == [1.0] == of_arguments["x"][1][0].tolist()
    assert of_arguments["x"][1][1] is weight and of_arguments["name"] == name
    assert of_arguments["both"].left.tolist() == [1.0] and of_arguments["both"].right == 3
    assert type(of_arguments["both"]) is Both and of_arguments["both"] is not given["both"]
    assert [t.tolist() for t in (of_results[0][0], *of_results[0][1])] == [[1.0], [1.0], [2.0]]
    assert type(of_results[0][1][1]) is Tensor
