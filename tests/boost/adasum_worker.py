"""What each of four processes of test_boost.py runs: adaptive sums, and the order of exchanges."""

import numpy as np

import lamella as ms
from lamella import Tensor, boost, communication, nn, ops

GRADIENTS = [np.array(g, np.float32) for g in ([1, 0, 0], [1, 0, 0], [0, 2, 0], [1, 2, 3])]


def summed(a, b):
    product = a @ b
    return (1 - product / (2 * (a @ a))) * a + (1 - product / (2 * (b @ b))) * b


def main():
    communication.init()
    rank = communication.get_rank()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", gradients_mean=True)
    want = summed(summed(*GRADIENTS[:2]), summed(*GRADIENTS[2:]))
    for wrap in (nn.AdaSumByGradWrapCell, nn.AdaSumByDeltaWeightWrapCell):
        w = ms.Parameter(Tensor(np.zeros(3, np.float32)), name="w")
        wrap(nn.SGD([w], 0.5))((Tensor(GRADIENTS[rank]),))
        np.testing.assert_allclose(w.asnumpy(), -0.5 * want, rtol=1e-5)

    # two servers of two processes each: those of one place are summed
    w = ms.Parameter(Tensor(np.zeros(3, np.float32)), name="w")
    boost.AdaSum(rank, 2, 2, (w,))((Tensor(GRADIENTS[rank]),), (w,), (w.value().copy(),))
    np.testing.assert_allclose(w.asnumpy(), -summed(GRADIENTS[rank % 2], GRADIENTS[rank % 2 + 2]),
                               rtol=1e-5)

    ms.comm_exec_order_check("start")
    ops.AllReduce()(Tensor([1.0]))
    ms.comm_exec_order_check("end")
    ms.comm_exec_order_check("start")
    first = [ops.AllReduce(), ops.AllReduce("max")][::1 if rank else -1]
    try:
        for each in first:
            each(Tensor([1.0]))
        ms.comm_exec_order_check("end")
    except RuntimeError as error:  # found by the exchange itself, or in the end
        assert "process 1" in str(error), error
    else:
        raise AssertionError("different exchanges were not found")
    asked, ends = (ms.Parameter(Tensor(v), name=n) for n, v in (("a", np.array([1], np.int32)),
                                                                ("e", np.array(False))))
    ms.ExitByRequest().exit_by_request(None, asked, ends)
    assert bool(ends)
    communication.release()
    print("as it should be")


if __name__ == "__main__":
    main()
