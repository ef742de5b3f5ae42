"""CUDA graphs of stages."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn
from lamella.graph.runtime import capture, execution
from lamella.graph.runtime.capture import Captured

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_inputs_on_other_devices_are_refused():
    for values in ([], [torch.ones(2)]):
        with pytest.raises(ValueError, match="inputs on one device"):
            Captured(lambda given: given, values, [False] * len(values))


@needs_cuda
def test_a_captured_run_reads_new_arguments_and_the_parameters_as_they_are():
    weight = torch.ones(4, device="cuda")
    x = torch.arange(4.0, device="cuda")
    run = Captured(lambda given: [given[0] * given[1], given[0].sum().expand(3)],
                   [x, weight], [False, True])
    first, total = run([x, weight])
    weight.mul_(3.0)
    second, _ = run([x + 1, weight])
    moved, _ = run([x, weight.clone()])
    assert torch.equal(first.cpu(), torch.arange(4.0))
    assert torch.equal(second.cpu(), (torch.arange(4.0) + 1) * 3)
    assert torch.equal(moved.cpu(), torch.arange(4.0) * 3)
    assert torch.equal(total.cpu(), torch.full((3,), 6.0))


@needs_cuda
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_training_step_is_captured(dropout, monkeypatch):
    monkeypatch.setattr(execution, "HOT", 0.0)
    ms.set_device("GPU")
    try:
        def make(wrap):
            ms.set_seed(2)
            net = nn.SequentialCell(nn.Dense(6, 16), nn.Dropout(p=dropout), nn.Dense(16, 3))
            net.set_train()
            optimizer = nn.Adam(net.trainable_params(), 0.01)
            criterion = nn.CrossEntropyLoss()
            gradient = ms.value_and_grad(lambda x, y: criterion(net(x), y), None,
                                         optimizer.parameters)

            def step(x, y):
                loss, gradients = gradient(x, y)
                optimizer(gradients)
                return loss

            return wrap(step)

        rng = np.random.default_rng(0)
        batches = [(Tensor(rng.standard_normal((8, 6)).astype(np.float32)),
                    Tensor(rng.integers(0, 3, 8).astype(np.int32))) for _ in range(50)]
        found = []
        for wrap in (lambda step: step, ms.jit):
            step = make(wrap)
            ms.set_seed(5)
            found.append([float(step(*batch).asnumpy()) for batch in batches])
        np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    finally:
        ms.set_device("CPU")


SQUARE = torch.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize("value, wanted", [
    (SQUARE, [[5.0, 0.0, 1.0], [2.0, 3.0, 4.0]]), (SQUARE.T, [[5.0, 2.0], [0.0, 3.0], [1.0, 4.0]]),
    (SQUARE[:, 1:], [[5.0, 1.0], [3.0, 4.0]]), (torch.tensor([2.0, 2.0]), [1.0, 1.0]),
    (torch.tensor([2, 2]), [2, 2]), (torch.tensor([3, 5, 7]), [7, 3, 5]),
    (torch.tensor(4.0), 2.0), (torch.tensor(4), 4), (torch.zeros(2), [0.0, 0.0]),
    (torch.tensor([True, False]), [False, True]), (torch.ones(0), []),
    (torch.tensor([1.0, 3.0]).expand(2, 2), [[3.0, 1.0], [3.0, 1.0]])], ids=range(12))
def test_other_inputs_have_numbers_that_the_stage_has_been_given(value, wanted):
    same, other = capture.others_like([value, value], [True, False])
    assert same is value and other.tolist() == wanted
    assert other.stride() == value.stride() and other.dtype is value.dtype
    assert not value.numel() or other.data_ptr() != value.data_ptr()


@pytest.mark.parametrize("out, place", [
    (SQUARE, 1), (SQUARE.T[1:], 1), (SQUARE.view(torch.int32), None), (SQUARE * 1, None),
    (torch.ones(0), None), (SQUARE[:0], 1)])
def test_which_input_a_result_lies_in(out, place):
    assert capture._place_among(out, [torch.ones(2), SQUARE, torch.ones(0), SQUARE[0]]) == place


def test_all_of_the_memory_that_a_tensor_lies_in():
    assert capture._whole(SQUARE.T[1]).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert capture._whole(SQUARE[1, 1]).numel() == 6
    assert not capture.captures([]) and not capture.captures([SQUARE])
