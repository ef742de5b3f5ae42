"""`mint.distributed`: alone, and in two real processes."""

import json
import pickle
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.mint import distributed as dist
from lamella.mint.distributed import in_place, objects

from ..worlds import run_world_here
from .distributed_worker import main

WORKER = Path(__file__).with_name("distributed_worker.py")


@pytest.fixture(scope="module")
def found():
    return [json.loads(out.splitlines()[-1]) for out in run_world_here(
        main, WORKER, 2)]


@pytest.mark.parametrize("rank", [0, 1])
def test_two_processes(found, rank):
    mine, other = np.array([[1.0, 2], [3, 4]]), np.array([[10.0, 20], [30, 40]])
    if rank == 1:
        mine, other = other, mine
    total, both = mine + other, [[[1, 2], [3, 4]], [[10, 20], [30, 40]]]
    want = {
        "ranks": [rank, 2, [0, 1]],
        "all_reduce": total, "reduce": total if rank == 1 else mine,
        "broadcast": [[10, 20], [30, 40]], "all_gather": both,
        "all_gather_into_tensor": sum(both, []), "reduce_scatter_tensor": total[rank:rank + 1],
        "reduce_scatter": (both[0][rank][0] + both[1][rank][0]),
        "scatter": [100.0 + rank], "scatter_tensor": [7.0 + rank],
        "gather": both if rank == 0 else [[[0, 0], [0, 0]]] * 2,
        "gather_into_tensor": sum(both, []) if rank == 0 else [[0, 0]] * 4,
        "all_to_all": [[0 * 10 + rank], [1 * 10 + rank]],
        "all_to_all_single": [rank, 10 + rank], "uneven gather": [0, 10, 11],
        "uneven split": [0, 10, 11] if rank == 0 else [1, 2, 12],
        "uneven scatter": [0] if rank == 0 else [2, 4],
        "message": both[1 - rank], "batch": [5.0 * (1 - rank)], "sent": 0,
        "objects": [{"rank": 0, "long": 0}, {"rank": 1, "long": 50}],
        "gathered": [0, 1] if rank == 1 else [None, None], "told": ["a", [1, 2.5, None]],
        "dealt": ["for 0", "for 1"][rank], "received": ["hello", 3] if rank == 1 else [],
        "tensor": [0.5, 1.5],
    }
    want["by counts"] = [[0.0], [10.0], [11.0]] if rank == 0 else [[1.0], [12.0]]
    for name, value in want.items():
        got = found[rank][name]
        if isinstance(value, (np.ndarray, float)) or name.startswith(("uneven", "all_", "gather_")):
            np.testing.assert_allclose(got, value, err_msg=name)
        else:
            assert got == value, name
    assert found[rank]["of one"] == ([0, 1] if rank == 0 else [-1, -1])


def test_functions_that_give_or_write(found):
    mine = np.array([[1.0, 2], [3, 4]]), np.array([[10.0, 20], [30, 40]])
    for rank, answer in enumerate(found):
        got = answer["in place or not"]
        for name, want in (("all_reduce", mine[0] + mine[1]), ("gradient", 3 * mine[0]),
                           ("all_gather", np.concatenate(mine)), ("recv", mine[1 - rank]),
                           ("reduce_scatter", (mine[0] + mine[1])[rank:rank + 1]),
                           ("irecv", mine[0])):
            np.testing.assert_allclose(got[name], want, err_msg=name)
        assert got["again"] == [None, (mine[0] + mine[1]).tolist()]
        assert got["broadcast"].startswith("ValueError: For 'broadcast', there is no form that")
        assert got["mint"] == "nothing"


def test_processes_share_a_store_and_meet_in_it(found):
    assert [answer["store"] for answer in found] == [
        ["6200", 21, True, False, [3.0]], ["61", 21, True, False, [3.0]]]


def test_alone():
    x = Tensor([1.0, 2.0])
    target = Tensor([0.0, 0.0])
    assert dist.get_rank() == 0 and dist.get_world_size() == 1 and dist.is_available()
    assert dist.all_reduce(x) is None
    dist.all_reduce(x, async_op=True).wait()
    dist.all_gather([target], x)
    assert target.asnumpy().tolist() == [1.0, 2.0]
    dist.all_to_all_single(target, x * 2)
    assert target.asnumpy().tolist() == [2.0, 4.0]
    places = [None]
    dist.all_gather_object(places, {"a": (1, Tensor([1.0]))})
    assert places[0]["a"][0] == 1 and places[0]["a"][1].asnumpy().tolist() == [1.0]


def test_a_store_of_one_process():
    store = in_place.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=120))
    assert store.store.timeout == timedelta(seconds=120)
    store.store.set_timeout(timedelta(seconds=0.1))  # not before: it may be slow to open
    with pytest.raises(RuntimeError, match="absent"):
        store.get("absent")
    with pytest.raises(RuntimeError, match=f"127.0.0.1:{store.port} could not be opened"):
        in_place.TCPStore("127.0.0.1", store.port, is_master=True)


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda: in_place.set_comm_ops_inplace(1), TypeError, "'is_enable' must be type of bool"),
    (lambda: in_place.set_comm_ops_inplace(True, "send"), TypeError, "must be a list of names"),
    (lambda: in_place.set_comm_ops_inplace(True, ["bogus"]), ValueError, "but got 'bogus'"),
    (lambda: in_place.all_to_all_v_c(Tensor([1.0]), Tensor([1.0]), [1, 1]), TypeError, "each pair"),
    (lambda: in_place.all_to_all_v_c(Tensor([1.0]), Tensor([1.0]), 1), TypeError, "list of int"),
    (lambda: in_place.all_to_all_v_c(Tensor([1.0]), Tensor([1.0]), [2]), ValueError, "add up to 1"),
    (lambda: in_place.TCPStore(1, 0), TypeError, "'host_name' must be type of str"),
    (lambda: in_place.TCPStore("h", 70000), ValueError, "but got 70000"),
    (lambda: in_place.TCPStore("h", 0, 0), ValueError, "must be above 0, but got 0"),
    (lambda: dist.init_process_group(store="s"), TypeError, "must be a TCPStore, but got 's'"),
    (lambda: dist.all_reduce([1.0]), TypeError, "must be a Tensor, but got list"),
    (lambda: dist.all_reduce(Tensor([1.0]), op="mean"), ValueError, "'op' must be one of"),
    (lambda: dist.all_gather([], Tensor([1.0])), ValueError, "for each of the 1 processes, but"),
    (lambda: dist.all_gather([Tensor([1.0, 2.0])], Tensor([1.0])), ValueError,
     "the result has shape \\[1\\]"),
    (lambda: dist.broadcast(Tensor([1.0]), src=3), ValueError, "'src' must be one of"),
    (lambda: dist.all_to_all_single(Tensor([1.0]), Tensor([1.0]), [2], [1]), ValueError,
     "'output_split_sizes' must have a length"),
    (lambda: dist.all_gather_object([], 1), ValueError, "must have 1 entries, but has 0"),
    (lambda: dist.init_process_group(init_method="file:///x"), ValueError, "'tcp://host:port'"),
    (lambda: dist.init_process_group(rank=1), ValueError, "must be given together"),
    (lambda: dist.P2POp("push", Tensor([1.0]), 0), ValueError, "must be isend or irecv"),
], ids=range(20))
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


class Hostile:
    def __reduce__(self):
        return exec, ("raise SystemExit('code of another process ran')",)


def test_objects_of_other_classes_are_refused():
    for bad in (Hostile(), Path("x"), ms.nn.Dense(1, 1)):
        with pytest.raises(pickle.UnpicklingError, match="is not read from another process"):
            objects._read(objects._written(bad))
    for good in ({1: "a"}, {1, 2}, (None, 1.5, b"x"), [True], range(3)):
        assert objects._read(objects._written(good)) == good
    np.testing.assert_array_equal(objects._read(objects._written(np.arange(3))), np.arange(3))
