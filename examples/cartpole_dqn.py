"""DQN learns to balance gymnasium's pole on a cart.

    python examples/cartpole_dqn.py [--moves 20000] [--out dqn_out]

A network learns what each move is worth, from moves that are kept and drawn again at random (Mnih
et al., Human-level control through deep reinforcement learning, 2015); a second one, which follows
slowly, says what the next state is worth, of the move that the first would choose (double
Q-learning, van Hasselt et al. 2016). Writes OUT/games.png. The last line says how long the pole
stays up on average over 10 games (at most 500; at random 22).
"""

import argparse
import pathlib

import gymnasium
import matplotlib
import numpy as np

import lamella as ms
from lamella import nn, ops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DISCOUNT, FOLLOW, BATCH, FIRST = 0.99, 0.01, 128, 1000


def worth():
    """What each of both moves is worth in a state, (B, 4) to (B, 2)."""
    return nn.SequentialCell(nn.Dense(4, 128), nn.ReLU(), nn.Dense(128, 128), nn.ReLU(),
                             nn.Dense(128, 2))


class Memory:
    """The latest moves: state, move, reward, next state, and whether the pole fell."""

    def __init__(self, size):
        kinds = ((4,), np.float32), ((), np.int32), ((), np.float32), ((4,), np.float32), (
            (), np.float32)
        self.columns = [np.zeros((size, *shape), kind) for shape, kind in kinds]
        self.count = 0

    def keep(self, *move):
        for column, value in zip(self.columns, move, strict=True):
            column[self.count % len(column)] = value
        self.count += 1

    def some(self, random):
        rows = random.integers(0, min(self.count, len(self.columns[0])), BATCH)
        return [ms.Tensor(column[rows]) for column in self.columns]


def play(choose, games=10):
    """How long the pole stays up on average."""
    cart, total = gymnasium.make("CartPole-v1"), 0.0
    for game in range(games):
        state, over = cart.reset(seed=1000 + game)[0], False
        while not over:
            state, reward, ended, cut, _ = cart.step(choose(state))
            total, over = total + float(reward), ended or cut
    cart.close()
    return total / games


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--moves", type=int, default=20000)
    parser.add_argument("--out", default="dqn_out")
    given = parser.parse_args()
    ms.set_seed(1)
    random = np.random.default_rng(1)
    net, slow = worth(), worth()
    for behind, weight in zip(slow.get_parameters(), net.get_parameters(), strict=True):
        behind.set_data(weight.value())
    optimizer = nn.Adam(net.trainable_params(), nn.polynomial_decay_lr(
        1e-3, 1e-5, given.moves, 1, given.moves, 1.0))

    def loss(state, move, reward, following, fell):
        best = net(following).argmax(1)
        later = ops.gather_elements(slow(following), 1, best.reshape(-1, 1)).squeeze(1)
        goal = ops.stop_gradient(reward + DISCOUNT * (1 - fell) * later)
        found = ops.gather_elements(net(state), 1, move.reshape(-1, 1)).squeeze(1)
        return ops.smooth_l1_loss(found, goal, reduction="mean")

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def improve(*batch):
        value, change = gradient(*batch)
        optimizer(ops.clip_by_global_norm(change, 10.0))
        for behind, weight in zip(slow.get_parameters(), net.get_parameters(), strict=True):
            ops.assign(behind, behind + FOLLOW * (weight - behind))
        return value

    look = ms.jit(net)

    def best(state):
        return int(look(ms.Tensor(state[None])).asnumpy().argmax())

    cart, memory, lasted, length = gymnasium.make("CartPole-v1"), Memory(given.moves), [], 0
    state = cart.reset(seed=1)[0]
    for number in range(1, given.moves + 1):
        curious = max(0.05, 1 - number / (0.25 * given.moves))  # how often a move is random
        move = int(random.integers(2)) if random.random() < curious else best(state)
        following, reward, ended, cut, _ = cart.step(move)
        memory.keep(state, move, float(reward), following, float(ended))
        state, length = following, length + 1
        if ended or cut:
            lasted.append((number, length))
            state, length = cart.reset()[0], 0
        if number > min(FIRST, given.moves // 4):
            improve(*memory.some(random))
        if number % 2500 == 0 and lasted:
            print(f"move {number}: a game lasts {np.mean([n for _, n in lasted[-10:]]):.0f} moves")
    cart.close()
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.plot(*zip(*lasted, strict=True), ".", ms=3)
    axes.set(xlabel="moves", ylabel="how long a game lasts")
    folder = pathlib.Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "games.png", dpi=100)
    print(f"the pole stays up for {play(best):.0f} of 500 moves")


if __name__ == "__main__":
    main()
