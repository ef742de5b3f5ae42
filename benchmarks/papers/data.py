"""What the algorithms compute on: the same numbers for each framework."""

from __future__ import annotations

import numpy as np

Arrays = list[np.ndarray]


def normal(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Normal random numbers."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def layers(seed: int, *sizes: int) -> Arrays:
    """Weights and biases of dense layers between these sizes."""
    found = []
    for i, (before, after) in enumerate(zip(sizes, sizes[1:], strict=False)):
        found += [normal(seed + i, before, after, scale=before**-0.5),
                  normal(seed + 50 + i, after, scale=0.1)]
    return found


_TIMES = np.linspace(0, 4, 100, dtype=np.float32)

_EDGES = np.random.default_rng(79).integers(0, 100, (2, 400)).astype(np.int32)

# by algorithm: the weights, then what a call gets besides
DATA: dict[str, tuple[Arrays, Arrays]] = {
    "maml": (layers(1, 1, 24, 24, 1), [normal(2, 8, 10, 1), normal(3, 8, 10, 1)]),
    "deq": ([normal(4, 24, 24, scale=0.1), normal(5, 24, 24, scale=0.2)], [normal(6, 16, 24)]),
    "bilevel": ([normal(7, 12)], [normal(8, 40, 12), normal(9, 40), normal(10, 20, 12),
                                  normal(11, 20)]),
    "neural ode": (layers(12, 4, 32, 4), [normal(13, 32, 4), normal(14, 32, 4)]),
    "pinn": (layers(15, 2, 24, 24, 1), [normal(16, 64, 2)]),
    "spiking": ([normal(17, 20, 40, scale=0.4), normal(18, 40, 5, scale=0.3)],
                [(normal(19, 100, 16, 20) > 0.7).astype(np.float32), normal(20, 16, 5)]),
    "dp-sgd": (layers(21, 20, 32, 5), [normal(22, 32, 20), normal(23, 32, 5)]),
    "natural gradient": (layers(24, 6, 16, 1), [normal(25, 48, 6), normal(26, 48, 1)]),
    "wgan-gp": (layers(27, 8, 32, 1), [normal(28, 32, 8), normal(29, 32, 8),
                                       np.abs(normal(30, 32, 1, scale=0.3))]),
    "vq": ([*layers(31, 16, 8), *layers(33, 8, 16), normal(35, 32, 8)], [normal(36, 64, 16)]),
    "learned optimizer": (layers(37, 2, 8, 1), [normal(38, 20), normal(39, 20, 20, scale=0.2)]),
    "rnn": ([normal(40, 8, 32, scale=0.3), normal(41, 32, 32, scale=0.15), normal(42, 32, 4)],
            [normal(43, 60, 16, 8), normal(44, 16, 4)]),
    "fixed point": ([normal(45, 24, 24, scale=0.1), normal(46, 24, 24, scale=0.2)],
                    [normal(47, 16, 24)]),
    "adaptive ode": (layers(48, 4, 32, 4), [normal(49, 32, 4)]),
    "line search": ([normal(50, 10)], [normal(51, 40, 10), np.sign(normal(52, 40))]),
    "flow": (layers(53, 3, 32, 32, 3), [normal(54, 64, 3)]),
    "fourier operator": ([normal(55, 16), normal(56, 16, 1, scale=0.3), *[
        array for i in range(3) for array in (
            normal(57 + i, 16, 16, 12, scale=0.06), normal(60 + i, 16, 16, 12, scale=0.06),
            normal(63 + i, 16, 16, scale=0.25))]], [normal(66, 16, 64), normal(67, 16, 64)]),
    "levenberg-marquardt": ([np.array([1.0, 0.5, 0.5, 2.0, 0.0], np.float32)], [
        _TIMES, 1.3 * np.exp(-0.7 * _TIMES) + 0.4 * np.sin(2.2 * _TIMES) + np.float32(0.1)]),
    "influence": ([normal(68, 20)], [normal(69, 256, 20), np.sign(normal(70, 256)),
                                     normal(71, 8, 20), np.sign(normal(72, 8))]),
    "kalman filter": ([0.9 * np.eye(4, dtype=np.float32) + normal(73, 4, 4, scale=0.05),
                       normal(74, 2, 4)], [normal(75, 30, 2)]),
    "hutchinson flow": (layers(76, 6, 32, 32, 6), [normal(77, 64, 6), np.sign(normal(78, 64, 6))]),
    "reversible network": ([array for i in range(6) for array in layers(80 + i, 16, 32, 16)],
                           [normal(88, 64, 16), normal(89, 64, 16)]),
    "graph network": ([normal(90, 8, 16, scale=0.3), normal(91, 16, 1, scale=0.3),
                       normal(92, 24, 8, scale=0.2), normal(93, 8, 16, scale=0.3),
                       normal(94, 24, 8, scale=0.2), normal(95, 8, 1)],
                      [normal(96, 100, 8), _EDGES[0], _EDGES[1], normal(97, 100, 1)]),
    "sinkhorn": ([normal(98, 32, 2), normal(99, 24, 2)], []),
    "lanczos": (layers(100, 6, 24, 1), [normal(101, 64, 6), normal(102, 64, 1)]),
    "jet": (layers(103, 1, 24, 24, 1), [normal(104, 64)]),
    "ensemble": ([np.stack([normal(105 + 10 * i + j, *w.shape, scale=0.3) for i in range(8)])
                  for j, w in enumerate(layers(105, 8, 32, 32, 1))],
                 [normal(190, 64, 8), normal(191, 64, 1)]),
    "k-fac": (layers(192, 12, 32, 32, 5), [normal(193, 64, 12), normal(194, 64, 5)]),
    "truncated bptt": ([normal(195, 8, 96, scale=0.3), normal(196, 32, 96, scale=0.15),
                        normal(197, 32, 4, scale=0.3)], [normal(198, 48, 16, 8),
                                                         normal(199, 48, 16, 4)]),
    "leapfrog": ([normal(200, 20), normal(201, 20)], [normal(202, 128, 20),
                                                      np.sign(normal(203, 128))]),
    "gaussian process": ([np.zeros(3, np.float32)], [normal(204, 48, 2), normal(205, 48)]),
    "score matching": (layers(206, 4, 32, 32, 1), [normal(207, 64, 4)]),
    "coupling flow": ([array for i in range(4) for array in layers(210 + i, 3, 24, 6)],
                      [normal(220, 64, 6)]),
    "control": ([normal(221, 20, 2, scale=0.1)], [normal(222, 4), normal(223, 4)]),
    "diffusion": (layers(224, 5, 32, 32, 4), [normal(225, 16, 4), normal(226, 40, 16, 4)]),
    "advantages": (layers(227, 6, 32, 1), [normal(228, 50, 16, 6), normal(229, 50, 16)]),
    "sharpness": (layers(230, 8, 32, 32, 1), [normal(231, 64, 8), normal(232, 64, 1)]),
}

# by stage, what Dormand and Prince's method takes of the slopes so far; the last one is the step
DORMAND_PRINCE = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84))
# the step minus that of the fourth order
ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
