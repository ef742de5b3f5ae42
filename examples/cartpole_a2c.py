"""A2C learns to balance gymnasium's pole on a cart.

    python examples/cartpole_a2c.py [--updates 1500]

Plays 16 carts at once, and after each 8 moves takes one step along the gradient of policy and value
(Mnih et al., Asynchronous Methods for Deep Reinforcement Learning, 2016, with all carts in one
batch). Prints as its last line how long the pole stays up on average over 10 games of the policy's
best moves (at most 500; at random 22).
"""

import argparse

import gymnasium
import numpy as np

import lamella as ms
from lamella import nn, ops

CARTS, MOVES, DISCOUNT = 16, 8, 0.99


class Policy(nn.Cell):
    """Scores of both moves, and the value of a state."""

    def __init__(self):
        super().__init__()
        self.actor = nn.SequentialCell(nn.Dense(4, 64), nn.Tanh(), nn.Dense(64, 2))
        self.critic = nn.SequentialCell(nn.Dense(4, 64), nn.Tanh(), nn.Dense(64, 1))

    def construct(self, state):
        return self.actor(state), self.critic(state).squeeze(-1)


def returns(rewards, ends, last):
    """What each move was worth: rewards until the end, or until `last`'s value takes over."""
    found = np.zeros_like(rewards)
    for t in reversed(range(len(rewards))):
        last = found[t] = rewards[t] + DISCOUNT * last * (1 - ends[t])
    return found


def play(policy, games=10):
    """How long the pole stays up on average."""
    cart, total = gymnasium.make("CartPole-v1"), 0.0
    for game in range(games):
        state, over = cart.reset(seed=1000 + game)[0], False
        while not over:
            scores = policy(ms.Tensor(state[None].astype(np.float32)))[0].asnumpy()
            state, reward, ended, cut, _ = cart.step(int(scores.argmax()))
            total, over = total + float(reward), ended or cut
    cart.close()
    return total / games


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--updates", type=int, default=1500)
    given = parser.parse_args()
    ms.set_seed(1)
    rng = np.random.default_rng(1)
    policy = Policy()
    rate = nn.polynomial_decay_lr(5e-3, 1e-4, given.updates, 1, given.updates, 1.0)
    optimizer = nn.RMSProp(policy.trainable_params(), rate, decay=0.99, epsilon=1e-5)

    def loss(state, move, worth):
        scores, value = policy(state)
        logarithms = ops.log_softmax(scores)
        chosen = (logarithms * ops.one_hot(move, 2, ms.Tensor(1.0), ms.Tensor(0.0))).sum(-1)
        better = worth - value
        entropy = -(ops.exp(logarithms) * logarithms).sum(-1).mean()
        gain = (chosen * ops.stop_gradient(better)).mean()
        return 0.5 * (better ** 2).mean() - gain - 0.01 * entropy

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def improve(*batch):
        value, gradients = gradient(*batch)
        optimizer(ops.clip_by_global_norm(gradients, 0.5))
        return value

    look = ms.jit(policy)
    carts = gymnasium.make_vec("CartPole-v1", CARTS)
    state, ended_games = carts.reset(seed=1)[0], 0.0
    for number in range(1, given.updates + 1):
        states, moves, rewards, ends = [], [], [], []
        for _ in range(MOVES):
            scores = look(ms.Tensor(state))[0].asnumpy()
            chance = 1 / (1 + np.exp(scores[:, 0] - scores[:, 1]))
            move = (rng.random(CARTS) < chance).astype(np.int32)
            following, reward, ended, cut, _ = carts.step(move)
            states.append(state)
            moves.append(move)
            rewards.append(reward.astype(np.float32))
            ends.append((ended | cut).astype(np.float32))
            state = following
        worth = returns(np.stack(rewards), np.stack(ends), look(ms.Tensor(state))[1].asnumpy())
        batch = np.concatenate(states), np.concatenate(moves), worth.reshape(-1)
        improve(*(ms.Tensor(part) for part in batch))
        ended_games += np.sum(ends)
        if number % 250 == 0:
            lasts = 250 * CARTS * MOVES / max(1.0, ended_games)
            print(f"update {number}: a game lasts about {lasts:.0f} moves")
            ended_games = 0.0
    carts.close()
    print(f"the pole stays up for {play(policy):.0f} of 500 moves")


if __name__ == "__main__":
    main()
