"""In PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from . import BATCH, ENOUGH, EPOCHS


def model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))


def learn(net, images, labels, unseen, answers):
    """From the weights that `net` has, which stay what they are."""
    before = {name: weight.clone() for name, weight in net.state_dict().items()}
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    rows, share = DataLoader(TensorDataset(images, labels), BATCH), torch.zeros(())
    for _ in range(EPOCHS):
        for image, label in rows:
            optimizer.zero_grad()
            F.cross_entropy(net(image), label).backward()
            optimizer.step()
        with torch.inference_mode():
            share = (net(unseen).argmax(1) == answers).float().mean()
        if share >= ENOUGH:
            break
    net.load_state_dict(before)
    return share
