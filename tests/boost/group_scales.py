"""Two layers whose gradients have scales of their own, and the step that trains them."""

from lamella import Tensor, boost, nn


class Scaled(nn.Cell):
    def __init__(self, scale):
        super().__init__()
        self.one, self.two, self.scale = nn.Dense(2, 3), nn.Dense(3, 1), scale

    def construct(self, x):
        x = self.one(self.scale(x, 0, 1))
        return self.scale(self.two(self.scale(x, 1, 2)), 2, 3).sum()


def scaled_by_groups(start=32.0, rates=(16.0, 64.0)):
    """The network, the manager of its scales, and the step; `rates` are the layers' scales."""
    boost.AutoBoost("O0", {"boost": {"mode": "manual", "loss_scale_group": True}})
    manager = boost.GroupLossScaleManager(start, [])
    net = Scaled(manager)
    manager.loss_scale_groups = [net.one.trainable_params(), net.two.trainable_params()]
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    step = boost.BoostTrainOneStepWithLossScaleCell(net, optimizer, manager)
    for scale, value in zip(manager.dynamic_loss_scale[1:-1], rates, strict=True):
        scale.set_data(Tensor(value))
    return net, manager, step
