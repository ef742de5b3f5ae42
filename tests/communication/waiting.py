"""Two processes that wait for each other in different groups, or one for another that computes."""

import os
import sys
import time

import lamella as ms
from lamella import communication, ops


def main(how, signal):
    communication.init()
    rank = communication.get_rank()
    communication.create_group("pair", [0, 1])
    ops.AllReduce()(ms.Tensor([1.0]))
    if how == "groups":
        ops.AllReduce(**({"group": "pair"} if rank else {}))(ms.Tensor([1.0]))
    else:
        while rank and not os.path.exists(signal):
            time.sleep(0.01)
        ops.Broadcast(0)((ms.Tensor([1.0, 2.0]),))
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
