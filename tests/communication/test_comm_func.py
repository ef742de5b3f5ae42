"""Functions for exchanges: what they refuse in worlds of one and of several processes."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, communication, ops
from lamella.communication import comm_func
from lamella.communication.groups import Group, _get_group_map, _remove_group_info
from tests.communication.test_groups import in_each

X = Tensor(np.arange(6, dtype=np.float32).reshape(3, 2))


@pytest.mark.parametrize("shape", [(3, 2), [3, 2], X])
@pytest.mark.parametrize("sizes", [None, [], [3]])
def test_one_process_sends_all_to_itself(shape, sizes):
    found, handle = comm_func.all_to_all_single_with_output_shape(shape, X, sizes, sizes)
    assert (found == X).all() and handle is None
    (found,), handle = comm_func.all_to_all_with_output_shape([shape], (X,), async_op=True)
    assert (found == X).all() and handle.wait() is None
    into = ops.zeros((3, 2))
    assert comm_func.all_to_all_v_c(into, X, [3]) is None and (into == X).all()
    assert comm_func.all_to_all_v_c(into, X, [3], async_op=True).wait() is None


@pytest.mark.parametrize("call, error, text", [
    (lambda: comm_func.all_to_all_single_with_output_shape((3, 2), X, [2], None), ValueError,
     r"'output_split_sizes' must give 1 sizes that add up to 3, but got \[2\]"),
    (lambda: comm_func.all_to_all_single_with_output_shape((3, 2), X, None, [1, 2]), ValueError,
     r"'input_split_sizes' must give 1 sizes that add up to 3, but got \[1, 2\]"),
    (lambda: comm_func.all_to_all_with_output_shape([(3, 2)], X), TypeError, "input_tensor_list"),
    (lambda: comm_func.all_to_all_with_output_shape(3, [X]), TypeError, "output_shape_list"),
    (lambda: comm_func.all_to_all_with_output_shape([], [X]), ValueError,
     "'output_shape_list' must have one element for each of the 1 processes, but got 0"),
    (lambda: comm_func.all_to_all_with_output_shape([(3, 2)], [X, X]), ValueError,
     "'input_tensor_list' must have one element for each of the 1 processes, but got 2"),
    (lambda: comm_func.all_to_all_with_output_shape([(3, 2)], [3]), TypeError, "must be a Tensor"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, (3,)), TypeError, "must be a list of int"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, [3.0]), TypeError, "must be a list of int"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, [True]), TypeError, "must be a list of int"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, [3, 0]), TypeError, "each pair of the 1 processes"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, []), TypeError, "each pair of the 1 processes"),
    (lambda: comm_func.all_to_all_v_c(X + 0, X, [2]), ValueError, "add up to 3"),
    (lambda: comm_func.all_to_all_v_c(X[:2] + 0, X, [3]), ValueError,
     r"the result has shape \[3, 2\], but the Tensor that it is to be written into is"),
    (lambda: comm_func.all_to_all_v_c(ops.ones(2).broadcast_to((3, 2)), X, [3]), ValueError,
     "share memory"),
    (lambda: comm_func.all_to_all_v_c(3, X, [3]), TypeError, "must be a Tensor, but got int"),
    (lambda: comm_func.reduce(X, True), TypeError, "'dst' must be an int, but got True"),
    (lambda: comm_func.reduce(X, 0.0), TypeError, "'dst' must be an int, but got 0.0"),
    (lambda: comm_func.reduce(X, 1), ValueError, r"'dst' must be one of the processes \[0\]"),
    (lambda: comm_func.gather_into_tensor(X, -1), ValueError, "'dst' must be one of"),
    (lambda: comm_func.scatter_tensor(X, 1), ValueError, "'src' must be one of"),
    (lambda: comm_func.scatter_tensor(Tensor(1.0)), ValueError, "the input has shape"),
    (lambda: comm_func.irecv(X, 0), ValueError, "'src' must be another process.* process 0 itself"),
    (lambda: comm_func.send(X, 0), ValueError, "'dst' must be another process"),
    (lambda: comm_func.recv(X, 0), ValueError, "'src' must be another process"),
    (lambda: comm_func.barrier("none"), RuntimeError, "init|no communication group"),
    (lambda: comm_func.P2POp("isend", (3, 2), 0), TypeError, "'tensor' must be a Tensor .* tuple"),
    (lambda: comm_func.P2POp("irecv", 3, 0, recv_dtype=ms.int32), TypeError, "but got int"),
    (lambda: comm_func.P2POp("irecv", [3], 0), ValueError, "'recv_dtype' must be given"),
    (lambda: comm_func.P2POp(comm_func.send, X, 0), ValueError, "'isend' or 'irecv'"),
    (lambda: comm_func.P2POp(3, X, 0), ValueError, "'isend' or 'irecv', but got 3"),
    (lambda: comm_func.P2POp("isend", X, "0"), TypeError, "'peer'"),
    (lambda: comm_func.batch_isend_irecv((comm_func.P2POp("isend", X, 0),)), TypeError, "a list"),
    (lambda: comm_func.batch_isend_irecv([comm_func.P2POp("isend", X, 0), 3]), TypeError, "P2POp"),
    (lambda: comm_func.batch_isend_irecv([comm_func.P2POp("isend", X, 0)]), ValueError,
     "'peer' must be another process"),
], ids=range(35))
def test_what_one_process_refuses(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_kinds_of_messages():
    for given, kind in (("isend", "isend"), (comm_func.isend, "isend"), ("irecv", "irecv"),
                        (comm_func.irecv, "irecv")):
        made = comm_func.P2POp(given, X, 3, "g", 2)
        assert (made.kind, made.op, made.peer, made.group, made.tag) == (kind, given, 3, "g", 2)
    for shape in ((2, 3), [2, 3]):
        made = comm_func.P2POp("irecv", shape, 1, recv_dtype=ms.int32)
        assert made.tensor is shape and made.recv_dtype is ms.int32


def test_shapes_of_results_in_a_world_of_three():
    """Those that aren't to get a result get a zero."""
    def shapes():
        x = ops.ones((6, 2))
        return [tuple(each.shape) for each in (
            comm_func.all_reduce(x)[0], comm_func.all_gather_into_tensor(x)[0],
            comm_func.reduce_scatter_tensor(x)[0], comm_func.reduce(x, 1),
            comm_func.broadcast(x, 2), comm_func.scatter_tensor(x, 1),
            comm_func.gather_into_tensor(x, 2),
            comm_func.all_to_all_single_with_output_shape((9, 2), x)[0],
            comm_func.all_to_all_single_with_output_shape(
                (7, 2), x, [1, 2, 4], [0, 5, 1])[0],
            *comm_func.all_to_all_with_output_shape([(1, 5), x, [4]], [x, x, x])[0])]

    found = in_each(3, shapes)
    for rank, got in enumerate(found):
        assert got == [(6, 2), (18, 2), (2, 2), (6, 2) if rank == 1 else (1,), (6, 2), (2, 2),
                       (18, 2) if rank == 2 else (1,), (9, 2), (7, 2), (1, 5), (6, 2), (4,)]


def test_rows_and_columns_of_a_matrix_of_counts():
    """Process i sends its row, and gets its column."""
    matrix = [1, 2, 3, 4, 5, 6, 7, 8, 9]

    def run():
        rank = communication.get_rank()
        into = ops.zeros((sum(matrix[rank::3]), 2))
        comm_func.all_to_all_v_c(into, ops.ones((sum(matrix[3 * rank:3 * rank + 3]), 2)), matrix)
        for sent, came in ((1, 0), (0, 1)):
            with pytest.raises(ValueError, match="add up to|the result has shape"):
                comm_func.all_to_all_v_c(
                    ops.zeros((sum(matrix[rank::3]) + came, 2)),
                    ops.ones((sum(matrix[3 * rank:3 * rank + 3]) + sent, 2)), matrix)
        return tuple(into.shape)

    assert in_each(3, run) == [(12, 2), (15, 2), (18, 2)]


def test_what_processes_of_a_group_refuse():
    def run():
        communication.create_group("some", [3, 1])
        rank, x = communication.get_rank(), ops.ones((3, 2))
        for call, text in (
                (lambda: comm_func.reduce(x, 2, group="some"), r"one of the processes \[1, 3\]"),
                (lambda: comm_func.broadcast(x, 0, "some"), "of group 'some', but got 0"),
                (lambda: comm_func.reduce_scatter_tensor(x), "must be divisible by 4"),
                (lambda: comm_func.scatter_tensor(x), "must be divisible by 4"),
                (lambda: comm_func.isend(x, rank), "must be another process"),
                (lambda: comm_func.irecv(x, 4), "one of the processes"),
                (lambda: comm_func.all_to_all_single_with_output_shape((4,), x), "divisible by 4"),
                (lambda: comm_func.all_to_all_single_with_output_shape((4,), x, None, [3]),
                 "must give 4 sizes that add up to 3")):
            with pytest.raises(ValueError, match=text):
                call()
        return rank

    assert in_each(4, run) == [0, 1, 2, 3]


def test_groups_by_name_and_their_order():
    def run():
        communication.create_group("some", [3, 1])
        communication.create_group("some", [1, 3])
        for ranks, error in (([1, 2], ValueError), ([], ValueError), ([1, 1], ValueError),
                             ([0, 4], ValueError), ([-1], ValueError), ((1, 3), TypeError),
                             ([1.0], TypeError), ([True], TypeError)):
            with pytest.raises(error):
                communication.create_group("some" if ranks == [1, 2] else "other", ranks)
        found = _get_group_map()
        _remove_group_info("some")
        _remove_group_info("some")
        with pytest.raises(RuntimeError, match="no communication group 'some'"):
            communication.get_group_size("some")
        return found["some"], len(set(found)), found[communication.GlobalComm.WORLD_COMM_GROUP]

    assert {str(each) for each in in_each(4, run)} == {"([1, 3], 2, [0, 1, 2, 3])"}
    alone = Group("g", [2, 0, 1])
    assert (alone.ranks, alone.rank, alone.size, alone.has_ended) == ([0, 1, 2], 0, 3, True)
    assert Group("g", [1]).rank == -1 and not Group("g", [1]).has_ended
    assert not alone.compares
