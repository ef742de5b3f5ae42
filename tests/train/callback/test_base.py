"""What callbacks say about a wrong context."""

import pytest

from lamella import train


@pytest.mark.parametrize("callback", [
    train.LossMonitor(), train.History(), train.EarlyStopping(), train.ProgressBar(),
    train.LearningRateScheduler(lambda rate, step: rate), train.ReduceLROnPlateau(),
], ids=lambda callback: type(callback).__name__)
def test_the_context_is_checked(callback):
    methods = [method for method in ("step_end", "epoch_end", "on_train_epoch_begin",
                                     "on_train_epoch_end") if method in vars(type(callback))]
    assert methods
    for method in methods:
        with pytest.raises(TypeError, match=f"For '{type(callback).__name__}', 'run_context' must "
                                            f"be a RunContext, but got None"):
            getattr(callback, method)(None)
