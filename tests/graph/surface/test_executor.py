"""`common.api`'s executors."""

import lamella as ms
from lamella import Tensor, nn
from lamella.common.api import _cell_graph_executor as graphs
from lamella.common.api import _pynative_executor as eager

X = Tensor([1.0, 2.0])


def test_a_graph_is_named_by_its_phase_and_new_once_for_each_kind_of_input():
    net = nn.ReLU()
    names = [graphs.compile(net, X), graphs.compile(net, X, phase="train"),
             graphs.compile(net, X[:1]), graphs.compile(net, X)]
    assert [name.split(".")[:2] for name, _ in names] == [
        [phase, "ReLU"] for phase in ("predict", "train", "predict", "predict")]
    assert [fresh for _, fresh in names] == [True, False, True, False]


def test_whether_a_gradient_is_recorded():
    seen = []

    def note():
        seen.append((eager.enable_grad(), eager.grad_flag(), eager.requires_grad()))

    def cube(x):
        note()
        eager.set_enable_grad(False)
        factor = x * x
        note()
        eager.set_enable_grad(True)
        return x * factor

    note()
    try:
        assert float(ms.grad(cube)(Tensor(3.0))) == 9.0
        eager.set_enable_grad(False)
        assert float(ms.jvp(lambda x: x * x, Tensor(3.0), Tensor(1.0))[1]) == 6.0
        note()
    finally:
        eager.set_enable_grad(True)
    note()
    assert seen == [(True, False, False), (True, True, True), (False, True, False),
                    (False, False, False), (True, False, False)]
