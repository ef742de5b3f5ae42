"""Weights of PyTorch models, from modules and from every kind of file, give PyTorch's answers."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import lamella as ms
from lamella import Tensor, nn
from lamella.train import load_torch_weights, torch_weights


class Theirs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.conv = torch.nn.Conv1d(4, 6, 3, padding=1)
        self.bn = torch.nn.BatchNorm1d(6)
        self.norm = torch.nn.LayerNorm(6)
        self.rnn = torch.nn.LSTM(6, 5, batch_first=True)
        self.encoder = torch.nn.TransformerEncoderLayer(5, 1, 8, batch_first=True)
        self.head = torch.nn.Linear(5, 2)

    def forward(self, x):
        y = self.norm(self.bn(self.conv(self.embedding(x).transpose(1, 2))).transpose(1, 2))
        return self.head(self.encoder(self.rnn(y)[0]))


class Ours(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.conv = nn.Conv1d(4, 6, 3, pad_mode="pad", padding=1, has_bias=True)
        self.bn = nn.BatchNorm1d(6)
        self.norm = nn.LayerNorm((6,), epsilon=1e-5)
        self.rnn = nn.LSTM(6, 5, batch_first=True)
        self.encoder = nn.TransformerEncoderLayer(5, 1, 8, batch_first=True)
        self.head = nn.Dense(5, 2)

    def construct(self, x):
        y = self.bn(self.conv(self.embedding(x).swapaxes(1, 2))).swapaxes(1, 2)
        return self.head(self.encoder(self.rnn(self.norm(y))[0]))


@pytest.fixture
def theirs():
    torch.manual_seed(0)
    net = Theirs()
    with torch.no_grad():
        net.bn.running_mean.uniform_()
        net.bn.running_var.uniform_(0.5, 2)
    return net.eval()


def same_answers(ours, theirs):
    x = np.array([[1, 2, 3, 6, 0]])
    np.testing.assert_allclose(ours.set_train(False)(Tensor(x)).asnumpy(),
                               theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5)


def written(net, folder, kind):
    """A file, or folder, with the weights."""
    weights = {k: v.contiguous() for k, v in net.state_dict().items()}
    path = folder / f"model.{kind}"
    if kind in ("pth", "pt", "bin"):
        torch.save(weights, path)
    elif kind == "training.pt":
        torch.save({"epoch": 3, "state_dict": weights}, path)
    elif kind == "parallel.pth":
        torch.save({f"module.{k}": v for k, v in weights.items()}, path)
    elif kind == "safetensors":
        save_file(weights, path)
    else:
        halves = {f"part-{i}.safetensors": dict(list(weights.items())[i::2]) for i in (0, 1)}
        for name, half in halves.items():
            save_file(half, folder / name)
        path = folder / "model.safetensors.index.json"
        path.write_text(json.dumps({"weight_map": {
            k: name for name, half in halves.items() for k in half}}))
        return folder if kind == "folder" else path
    return path


@pytest.mark.parametrize("kind", ["pth", "pt", "bin", "training.pt", "parallel.pth", "safetensors",
                                  "index", "folder"])
def test_files(theirs, tmp_path, kind):
    ours = Ours()
    report = load_torch_weights(ours, str(written(theirs, tmp_path, kind)), strict=True)
    assert not report.missing and not report.unused
    assert report.renamed["bn.gamma"] == "bn.weight"
    same_answers(ours, theirs)


def test_modules_and_dicts(theirs):
    for source in (theirs, theirs.state_dict()):
        ours = Ours()
        load_torch_weights(ours, source, strict=True)
        same_answers(ours, theirs)


def test_renaming(theirs):
    weights = {k.replace("head.", "classifier.").replace("rnn.", "cells."): v
               for k, v in theirs.state_dict().items()}
    for rename in ({"classifier.": "head.", "cells.": "rnn."},
                   lambda name: name.replace("classifier", "head").replace("cells", "rnn")):
        ours = Ours()
        report = load_torch_weights(ours, weights, rename)
        assert report.loaded["head.weight"] == "classifier.weight"
        same_answers(ours, theirs)


def test_missing_and_unused_are_reported():
    net = nn.SequentialCell(nn.Dense(3, 2))
    before = net[0].bias.asnumpy()
    report = load_torch_weights(net, {"0.weight": torch.ones(2, 3), "1.scale": torch.ones(1)})
    assert (report.missing, report.unused) == (["0.bias"], ["1.scale"])
    assert "0.bias" in str(report) and "not used" in str(report)
    with pytest.raises(ValueError, match="'a' and 'b' would both have the name '0.bias'"):
        load_torch_weights(net, dict.fromkeys("ab", torch.ones(2)), lambda name: "0.bias")
    np.testing.assert_array_equal(net[0].bias.asnumpy(), before)
    with pytest.raises(RuntimeError, match="'strict' is True"):
        load_torch_weights(net, {"0.weight": torch.zeros(2, 3)}, strict=True)
    assert float(net[0].weight.sum()) == 6


def test_shapes_that_do_not_fit_change_nothing():
    net = nn.SequentialCell(nn.Dense(3, 2), nn.Dense(2, 1))
    before = [p.asnumpy() for p in net.get_parameters()]
    with pytest.raises(RuntimeError, match="'1.weight' has shape \\(1, 2\\) in the network"):
        load_torch_weights(net, {"0.weight": torch.ones(2, 3), "1.weight": torch.ones(5, 2)})
    for parameter, value in zip(net.get_parameters(), before, strict=True):
        np.testing.assert_array_equal(parameter.asnumpy(), value)


class Evil:
    def __reduce__(self):
        return print, ("this must not run",)


def test_nothing_in_a_file_is_run(tmp_path, capsys):
    torch.save({"weight": Evil()}, tmp_path / "evil.pth")
    with pytest.raises(ValueError, match="can't be read as a file of weights"):
        load_torch_weights(nn.Dense(1, 1), tmp_path / "evil.pth")
    assert "must not run" not in capsys.readouterr().out


def test_other_errors(tmp_path):
    net = nn.Dense(1, 1)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load_torch_weights(net, tmp_path / "none.pth")
    with pytest.raises(TypeError, match="'source' must be a path"):
        load_torch_weights(net, 3)
    with pytest.raises(ValueError, match="one file of weights"):
        load_torch_weights(net, tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    for text, message in (('{"weight_map": {"a": "../b.safetensors"}}', "doesn't lie beside it"),
                          ("[]", "no index"), ("{", "no index")):
        index.write_text(text)
        with pytest.raises(ValueError, match=message):
            load_torch_weights(net, index)
    (tmp_path / "broken.pth").write_bytes(b"not a file of weights")
    with pytest.raises(ValueError, match="can't be read"):
        load_torch_weights(net, tmp_path / "broken.pth")
    torch.save([torch.ones(1)], tmp_path / "list.pth")
    with pytest.raises(ValueError, match="must hold tensors by name"):
        load_torch_weights(net, tmp_path / "list.pth")
    assert ms.train.load_torch_weights is load_torch_weights


@pytest.mark.parametrize("name, rename, wanted", [
    ("a.weight", None, "a.weight"), ("a.weight", str.upper, "A.WEIGHT"),
    ("a.weight", {"a.weight": "b", "a.": "c."}, "b"), ("a.weight", {"a.": "b.c."}, "b.c.weight"),
    ("a.weight", {"a": "b"}, "a.weight"), ("a.weight", {"weight.": "b."}, "a.weight"),
    ("x.a.weight", {"a.": "b."}, "x.a.weight"), ("ab.weight", {"a.": "c."}, "ab.weight"),
    ("a.b.c", {"a.": "first.", "a.b.": "second."}, "first.b.c"), ("a.", {"a.": "b."}, "b.")])
def test_new_names(name, rename, wanted):
    assert torch_weights._renamed(name, rename) == wanted


@pytest.mark.parametrize("shape, wanted, found", [
    ((2, 3, 4), (2, 3, 1, 4), (2, 3, 1, 4)), ((2, 3, 4), (2, 3, 2, 4), (2, 3, 4)),
    ((2, 3, 4), (2, 3, 4, 1), (2, 3, 4)), ((2, 3), (2, 3, 1, 1), (2, 3)),
    ((2, 3, 4), (2, 3, 1), (2, 3, 4)), ((2, 3, 4, 5), (2, 3, 1, 5), (2, 3, 4, 5))])
def test_weights_of_convolutions_over_sequences(shape, wanted, found):
    raw = torch.arange(float(np.prod(shape))).reshape(shape)
    shaped = torch_weights._shaped(raw, wanted)
    assert shaped.shape == found and torch.equal(shaped.flatten(), raw.flatten())


@pytest.mark.parametrize("names, wanted", [
    (["a.bin", "b.safetensors"], "b.safetensors"),
    (["a-1.safetensors", "a-2.safetensors", "a.safetensors.index.json", "a.bin"],
     "a.safetensors.index.json"),
    (["a-1.safetensors", "a-2.safetensors", "z.bin"], "z.bin"),
    (["a-1.bin", "a-2.bin", "a.bin.index.json", "b.pt"], "a.bin.index.json"),
    (["x.pt", "y.pth"], "y.pth"), (["x.pt", "config.json"], "x.pt"),
    (["x.pt", "y.pt"], None), (["config.json"], None), ([], None)])
def test_the_file_of_a_folder(names, wanted, tmp_path):
    for name in names:
        (tmp_path / name).touch()
    if wanted is None:
        with pytest.raises(ValueError, match="must hold one file of weights"):
            torch_weights._inside(str(tmp_path))
    else:
        assert torch_weights._inside(str(tmp_path)) == str(tmp_path / wanted)
