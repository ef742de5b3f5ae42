"""MindSpore RL's DQN on CartPole and its PPO on a made-up environment, by their own sessions.

In an empty folder, with MindSpore RL 0.7.0 and gym 0.26.2 on PYTHONPATH, T the path of this file:

    python -m lamella run $T dqn
    python -m lamella run $T ppo

PPO's network is made for six actions, as HalfCheetah's are, which needs another simulator. The
environment here has as many: the reward is high where the actions are a function of the state.
"""

from __future__ import annotations

import sys

import numpy as np

LENGTH, EPISODES = 64, {"dqn": 150, "ppo": 60}


if __name__ in ("__main__", "__mp_main__"):  # this process and those that it starts
    import gym

    class Follow(gym.Env):
        """States are random; the best actions are ``tanh(state @ weights)``."""

        observation_space = gym.spaces.Box(-np.inf, np.inf, (17,), np.float32)
        action_space = gym.spaces.Box(-1.0, 1.0, (6,), np.float32)

        def __init__(self, render_mode=None):
            self.random = np.random.default_rng(3)
            self.weights = self.random.normal(0, 0.3, (17, 6)).astype(np.float32)

        def observe(self):
            self.state = self.random.normal(0, 1, 17).astype(np.float32)
            return self.state

        def reset(self, *, seed=None, options=None):
            return self.observe(), {}

        def step(self, action):
            wanted = np.tanh(self.state @ self.weights)
            reward = -float(np.square(np.asarray(action) - wanted).mean())
            return self.observe(), reward, False, False, {}


def main() -> None:
    import mindspore as ms

    ms.set_seed(1)
    np.random.seed(1)
    ms.set_context(device_target="CPU", mode=ms.GRAPH_MODE)
    if sys.argv[1] == "dqn":
        from mindspore_rl.algorithm.dqn.dqn_session import DQNSession
        from mindspore_rl.algorithm.dqn.dqn_trainer import DQNTrainer

        DQNSession().run(class_type=DQNTrainer, episode=EPISODES[sys.argv[1]])
    else:
        gym.register("Follow-v0", Follow, max_episode_steps=10**9)
        from mindspore_rl.algorithm.ppo import config

        for params in (config.collect_env_params, config.eval_env_params):
            params["GymEnvironment"]["name"] = "Follow-v0"
        config.trainer_params.update(duration=LENGTH, num_eval_episode=10, num_save_episode=10)
        config.learner_params["gamma"] = 0.0  # states don't depend on actions
        config.algorithm_config["collect_environment"].update(number=4, num_parallel=2)
        config.algorithm_config["replay_buffer"]["capacity"] = LENGTH
        from mindspore_rl.algorithm.ppo.ppo_session import PPOSession
        from mindspore_rl.algorithm.ppo.ppo_trainer import PPOTrainer

        PPOSession().run(class_type=PPOTrainer, episode=EPISODES[sys.argv[1]])


if __name__ == "__main__":
    main()
