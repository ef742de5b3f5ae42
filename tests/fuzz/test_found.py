"""Calls that random calls have found: the error names the function and what it was given."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, mint, nn, ops

X = Tensor([[1.0, 2.0]])
CALLS = {
    "row_tensor_add": lambda: ops.row_tensor_add((None, 0), X),
    "broadcast_object_list": lambda: mint.distributed.broadcast_object_list(True),
    "all_to_all_single": lambda: mint.distributed.all_to_all_single(X, X, input_split_sizes=3),
    "all_to_all_single of no Tensor": lambda: mint.distributed.all_to_all_single("valid", X),
    "all_gather_into_tensor_uneven": lambda: mint.distributed.all_gather_into_tensor_uneven(
        (1, 3), X),
    "all_reduce of shared elements": lambda: mint.distributed.all_reduce(
        Tensor([[1.0]]).broadcast_to((8, 1))),
    "scatter_tensor": lambda: mint.distributed.scatter_tensor(X, True),
    "new_group": lambda: mint.distributed.new_group(ranks=abs),
    "get_rank": lambda: mint.distributed.get_rank(group=np.zeros(3)),
    "get_global_rank": lambda: mint.distributed.get_global_rank(np.zeros(3), 0),
    "init_process_group": lambda: mint.distributed.init_process_group(world_size=()),
    "init_process_group at a list": lambda: mint.distributed.init_process_group(init_method=[X]),
    "add_layer_norm": lambda: ops.add_layer_norm(
        Tensor(0, "uint32"), Tensor(0, "uint8"), (2, 1), Tensor(1.0)),
    "square_sum_all": lambda: ops.SquareSumAll()(Tensor([4], "uint64"), (X, X)),
    "einsum": lambda: ops.Einsum(-np.inf)("prod"),
    "PrimitiveWithCheck": lambda: ops.PrimitiveWithCheck(np.zeros((3, 0))),
    "matrix_power": lambda: ops.matrix_power(ops.ones((2, 2)), -2**63),  # it never ended
    "repeat_interleave": lambda: ops.repeat_interleave(  # it ended the process
        Tensor(np.ones((1, 8, 5, 4), np.uint32)), Tensor(2**62)),
    "col2im": lambda: ops.col2im(  # it never ended
        ops.ones((1, 1, 2, 2)), Tensor([1, 3]), [1, 2], [1, 1], [0, 2**40], [1, 1]),
    "environ_add": lambda: ops.environ_add({1: 2}, object()),
    "environ_get": lambda: ops.environ_get((1, 2), 1, 3),
    "environ_set": lambda: ops.environ_set([1], 1, 3),
    "zip_operation": lambda: ops.zip_operation((1, 2), abs),
    "ms_next": lambda: ops.ms_next(True),
    "PyExecute": lambda: ops.PyExecute()(1.0, ("x",), (1,)),
    "DumpGradient": lambda: ops.DumpGradient()([1], Tensor(1.0), "out"),
    "env_get": lambda: ops.env_get(object(), Tensor([1.0])),
    "switch": lambda: ops.switch(torch.ones(3, 0), 1, 2),
    "augassign_add": lambda: ops.augassign_add(X, ms.uint8),
    "Cell": lambda: nn.Cell(flags=np.zeros(3)),
    "cov": lambda: Tensor([], "uint32").cov(fweights=Tensor([], "int8")),
    "GRU": lambda: nn.GRU(10, 16)(ops.ones((0, 3, 10))),
    "PyExecute of no expression": lambda: ops.PyExecute()("", (), ()),
    "environ_get by a dict": lambda: ops.environ_get({1: 2}, {}, 3),
    "environ_set by a dict": lambda: ops.environ_set({1: 2}, {}, 3),
    "zip_operation of a number": lambda: ops.zip_operation(torch.tensor(1.0)),
    "iter_converter of an array": lambda: ops.iter_converter(np.array(1.0)),
    "augassign_sub": lambda: ops.augassign_sub(np.ones(2), np.ones(3)),
    "int": lambda: int(Tensor(float("nan"))),
    "Tensor.__getitem__ by a number": lambda: X[np.array(1.0)],
    "the norm of no elements": lambda: ops.clip_by_norm(ops.zeros((0, 2)), 1.0, -2.0),
    "pad": lambda: nn.ReplicationPad3d(-100)(ops.ones((1, 2, 2, 3, 4))),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_error_names_the_function(name):
    with pytest.raises((TypeError, ValueError, RuntimeError, SyntaxError, IndexError)) as caught:
        CALLS[name]()
    text = str(caught.value)
    assert text.startswith("For '") and "can't be normalized" not in text
    assert not any(words in text for words in ("Calculated output", "in RNN", "ambiguous",
                                               "unsupported operand"))


def test_rounding_by_a_bool_and_gathering_numbers():
    assert round(Tensor([1.26]), True).asnumpy().tolist() == [np.float32(1.3)]
    out, empty = ops.zeros((1,)), ops.zeros((4, 0))
    mint.distributed.gather_into_tensor(out, Tensor(3.0))
    assert out.asnumpy().tolist() == [3.0]
    mint.distributed.all_gather_into_tensor(empty, ops.ones((4, 0)))
    assert empty.shape == (4, 0)


def test_an_error_of_an_expression_names_it():
    with pytest.raises(NameError, match="name 'z' is not defined") as found:
        ops.PyExecute()("x + z", ("x",), (1,))
    for note in getattr(found.value, "__notes__", [])[:1]:  # Python 3.10 has no notes
        assert "For 'PyExecute', this happened in 'script' 'x + z'" in note


def test_a_class_is_true():
    assert ops.switch(Tensor, 1, 2) == 1


def test_derivatives_where_pytorch_has_none():
    x = Tensor([[2.0, 1.0], [0.0, 3.0]])
    by_x = ms.grad(lambda x: ops.real(x.trace(dtype=ms.complex64)))(x)
    assert by_x.asnumpy().tolist() == [[1, 0], [0, 1]]
    assert ms.grad(lambda x: ops.pow(True, x).sum())(x).asnumpy().tolist() == [[0, 0], [0, 0]]
    assert float(ms.grad(lambda x: x.cov(fweights=Tensor(3)))(Tensor(1.0))) == 0


def test_identifiers_of_gradients_are_compared_by_type():
    with pytest.raises(RuntimeError, match="get_grad"):
        ms.get_grad((4, X), torch.ones(3))
