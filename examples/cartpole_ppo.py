"""PPO learns to balance gymnasium's pole on a cart.

    python examples/cartpole_ppo.py [--rounds 40]

Plays 8 carts at once, and after each 128 moves improves policy and value for 4 passes over them
(Schulman et al., Proximal Policy Optimization Algorithms, 2017). Prints as its last line how long
the pole stays up on average over 10 games of the policy's best moves (at most 500; at random 22).
"""

import argparse

import gymnasium
import numpy as np

import lamella as ms
from lamella import nn, ops

CARTS, MOVES = 8, 128


class Policy(nn.Cell):
    """Scores of both moves, and the value of a state."""

    def __init__(self):
        super().__init__()
        self.actor = nn.SequentialCell(nn.Dense(4, 64), nn.Tanh(), nn.Dense(64, 2))
        self.critic = nn.SequentialCell(nn.Dense(4, 64), nn.Tanh(), nn.Dense(64, 1))

    def construct(self, state):
        return self.actor(state), self.critic(state).squeeze(-1)


def advantages(rewards, values, ends, last, discount=0.99, smooth=0.95):
    """How much better each move was than expected (Schulman et al. 2016)."""
    found, running = np.zeros_like(rewards), 0.0
    for t in reversed(range(len(rewards))):
        following = last if t == len(rewards) - 1 else values[t + 1]
        error = rewards[t] + discount * following * (1 - ends[t]) - values[t]
        running = error + discount * smooth * (1 - ends[t]) * running
        found[t] = running
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
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    ms.set_seed(1)
    rng = np.random.default_rng(1)
    policy = Policy()
    optimizer = nn.Adam(policy.trainable_params(), 3e-3)

    def loss(state, move, old, advantage, goal):
        scores, value = policy(state)
        logarithms = ops.log_softmax(scores)
        chosen = (logarithms * ops.one_hot(move, 2, ms.Tensor(1.0), ms.Tensor(0.0))).sum(-1)
        ratio = ops.exp(chosen - old)
        gain = ops.minimum(ratio * advantage, ops.clamp(ratio, 0.8, 1.2) * advantage).mean()
        entropy = -(ops.exp(logarithms) * logarithms).sum(-1).mean()
        return 0.5 * ((value - goal) ** 2).mean() - gain - 0.01 * entropy

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    @ms.jit
    def improve(*batch):
        value, gradients = gradient(*batch)
        optimizer(ops.clip_by_global_norm(gradients, 0.5))
        return value

    look = ms.jit(policy)
    carts = gymnasium.make_vec("CartPole-v1", CARTS)
    state = carts.reset(seed=1)[0]
    for number in range(1, given.rounds + 1):
        seen = {name: [] for name in ("state", "move", "old", "value", "reward", "end")}
        for _ in range(MOVES):
            scores, value = (t.asnumpy() for t in look(ms.Tensor(state)))
            chances = np.exp(scores - np.logaddexp(*scores.T)[:, None])
            move = (rng.random(CARTS) < chances[:, 1]).astype(np.int32)
            following, reward, ended, cut, _ = carts.step(move)
            kept = (state, move, np.log(chances[np.arange(CARTS), move]), value,
                    reward.astype(np.float32), (ended | cut).astype(np.float32))
            for name, part in zip(seen, kept, strict=True):
                seen[name].append(part)
            state = following
        found = {name: np.stack(parts).astype(parts[0].dtype) for name, parts in seen.items()}
        better = advantages(found["reward"], found["value"], found["end"],
                            look(ms.Tensor(state))[1].asnumpy()).astype(np.float32)
        goal = better + found["value"]
        better = (better - better.mean()) / (better.std() + 1e-8)
        flat = [part.reshape(CARTS * MOVES, *part.shape[2:]) for part in (
            found["state"], found["move"], found["old"], better, goal)]
        for _ in range(4):
            for rows in np.split(rng.permutation(CARTS * MOVES), 4):
                improve(*(ms.Tensor(part[rows]) for part in flat))
        if number % 10 == 0:
            games = max(1.0, found["end"].sum())
            print(f"round {number}: a game lasts about {CARTS * MOVES / games:.0f} moves")
    carts.close()
    print(f"the pole stays up for {play(policy):.0f} of 500 moves")


if __name__ == "__main__":
    main()
