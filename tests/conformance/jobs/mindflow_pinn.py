"""A physics-informed network for Burgers' equation with MindFlow's symbols, on random points.

With MindFlow 0.2.0 on PYTHONPATH:

    python -m lamella run tests/conformance/jobs/mindflow_pinn.py

Each line has the number of steps and the loss; then comes what a later step takes, and how many
were replayed. MindSpore itself runs it, too, without the last line; `pinn_in_pytorch.py` is the
same in PyTorch.
"""

import time

import numpy as np

STEPS, RATE, MORE = 60, 1e-2, 400


def points():
    """Points inside, at the beginning, and at both ends."""
    rng = np.random.default_rng(0)
    inside = np.c_[rng.uniform(-1, 1, 512), rng.uniform(0, 1, 512)]
    start = np.c_[rng.uniform(-1, 1, 128), np.zeros(128)]
    ends = np.c_[np.sign(rng.uniform(-1, 1, 128)), rng.uniform(0, 1, 128)]
    return [part.astype(np.float32) for part in (inside, start, ends)]


def main():
    import mindspore as ms
    import sympy
    from mindflow.cell import FCSequential
    from mindflow.pde import Burgers, sympy_to_mindspore
    from mindspore import jit, nn, ops

    class Problem(Burgers):
        def __init__(self, model):
            super().__init__(model, loss_fn=nn.MSELoss())
            self.at_start = sympy_to_mindspore({"start": self.u + sympy.sin(sympy.pi * self.x)},
                                               self.in_vars, self.out_vars)
            self.at_ends = sympy_to_mindspore({"ends": self.u}, self.in_vars, self.out_vars)

        def get_loss(self, inside, start, ends):
            found = 0.0
            for nodes, rows in ((self.pde_nodes, inside), (self.at_start, start),
                                (self.at_ends, ends)):
                rest = self.parse_node(nodes, inputs=rows)[0]
                found = found + self.loss_fn(rest, ops.zeros_like(rest))
            return found

    ms.set_seed(1)
    np.random.seed(1)
    model = FCSequential(in_channels=2, out_channels=1, layers=4, neurons=20, residual=False,
                         act="tanh")
    problem = Problem(model)
    optimizer = nn.Adam(model.trainable_params(), RATE)
    gradient = ms.value_and_grad(problem.get_loss, None, optimizer.parameters)

    @jit
    def step(inside, start, ends):
        loss, gradients = gradient(inside, start, ends)
        return ops.depend(loss, optimizer(gradients))

    rows = [ms.Tensor(part) for part in points()]
    for number in range(STEPS):
        loss = step(*rows)
        if number % 15 == 0 or number == STEPS - 1:
            print(number, f"{float(loss):.4f}")
    replays = step.report()["replays"] if hasattr(step, "report") else None  # Lamella's
    for _ in range(MORE):
        step(*rows)
    begin = time.process_time()
    for _ in range(MORE):
        step(*rows)
    print(f"{1e3 * (time.process_time() - begin) / MORE:.2f} ms of processor time a step")
    if replays is not None:
        print(replays)


if __name__ == "__main__":
    main()
