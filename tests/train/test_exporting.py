"""export and load: files that run without the network's code, here and in ONNX Runtime."""


import numpy as np
import onnxruntime
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops.primitives.gradients import ReluGrad
from lamella.train import exporting

from ..zygote import run as python


class Net(nn.Cell):
    """Convolution, normalization, attention's softmax, two inputs and outputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, pad_mode="same", has_bias=True)
        self.norm = nn.BatchNorm2d(4)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(4 * 5 * 5, 3)

    def construct(self, x, y):
        x = ops.relu(self.norm(self.conv(x)))
        x = self.fc(self.flatten(x))
        return ops.softmax(x + y), x.mean(1)


def random(*shape, seed=0):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def open_inputs():
    return (Tensor(shape=[None, 2, 5, 5], dtype=ms.float32),
            Tensor(shape=[None, 3], dtype=ms.float32))


@pytest.fixture(scope="module")
def net():
    made = Net().set_train(False)
    made.norm.moving_mean.set_data(random(4, seed=5))
    return made


@pytest.mark.parametrize("file_format", ["MINDIR", "LAMELLA"])
def test_a_network_from_a_file_runs_and_learns(net, tmp_path, file_format):
    path = str(tmp_path / "net")
    ms.export(net, *open_inputs(), file_name=path, file_format=file_format)
    path = f"{path}.{file_format.lower()}"
    run = nn.GraphCell(ms.load(path))
    for count in (1, 2, 5):
        inputs = random(count, 2, 5, 5, seed=count), random(count, 3, seed=count)
        for got, want in zip(run(*inputs), net(*inputs), strict=True):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    assert [p.name for p in run.get_parameters()] == [p.name for p in net.get_parameters()]
    trained = [p.name for p in net.trainable_params()]
    if file_format == "MINDIR":  # it doesn't say which are trained
        for parameter in run.get_parameters():
            parameter.requires_grad = parameter.name in trained
    assert [p.name for p in run.trainable_params()] == trained
    inputs = random(4, 2, 5, 5), random(4, 3)
    gradients = [ms.grad(lambda *x, net=n: net(*x)[0][:, 0].sum(), None, n.trainable_params())(
        *inputs) for n in (run, net)]
    for got, want in zip(*gradients, strict=True):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-4, atol=1e-6)
    ms.nn.SGD(run.trainable_params(), 0.5)(gradients[0])
    assert not np.allclose(run(*inputs)[1].asnumpy(), net(*inputs)[1].asnumpy())
    weights = {"fc.bias": Tensor(np.array([9.0, 9.0, 9.0], np.float32))}
    other = nn.GraphCell(ms.load(path), params_init=weights)
    assert float(other(*inputs)[1].mean() - net(*inputs)[1].mean()) == pytest.approx(
        9.0 - float(net.fc.bias.mean()), rel=1e-4)


def test_a_loaded_network_predicts_in_another_process(net, tmp_path):
    ms.export(net, random(2, 2, 5, 5), random(2, 3), file_name=str(tmp_path / "n.mindir"),
              file_format="MINDIR")
    np.save(tmp_path / "x.npy", random(2, 2, 5, 5, seed=1).asnumpy())
    program = ("import numpy as np, lamella as ms\n"
               "net = ms.nn.GraphCell(ms.load('n.mindir'))\n"
               "model = ms.train.Model(net)\n"
               "x = ms.Tensor(np.load('x.npy'))\n"
               "np.save('y.npy', model.predict(x, ms.ops.zeros((2, 3)))[0].asnumpy())\n")
    assert python("-c", program, cwd=tmp_path).returncode == 0
    want = net(random(2, 2, 5, 5, seed=1), ops.zeros((2, 3)))[0].asnumpy()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, rtol=1e-5, atol=1e-6)


def test_a_file_of_an_older_version_is_read(net, tmp_path):
    ms.export(net, *open_inputs(), file_name=str(tmp_path / "n"), file_format="LAMELLA")
    (tmp_path / "n.lamella").rename(tmp_path / "n.mindir")  # its ending then
    inputs = random(2, 2, 5, 5), random(2, 3)
    run = nn.GraphCell(ms.load(str(tmp_path / "n.mindir")))
    np.testing.assert_allclose(run(*inputs)[1].asnumpy(), net(*inputs)[1].asnumpy(), rtol=1e-5)


def test_onnx_runtime_gives_the_same(net, tmp_path):
    path = str(tmp_path / "net.onnx")
    ms.export(net, *open_inputs(), file_name=path, file_format="ONNX")
    session = onnxruntime.InferenceSession(path)
    names = [given.name for given in session.get_inputs()]
    assert names == ["x", "y"] and not isinstance(session.get_inputs()[0].shape[0], int)
    for count in (1, 3, 8):
        inputs = random(count, 2, 5, 5, seed=count), random(count, 3, seed=count)
        found = session.run(None, {n: x.asnumpy() for n, x in zip(names, inputs, strict=True)})
        for got, want in zip(found, net(*inputs), strict=True):
            np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-4, atol=1e-5)
    named = str(tmp_path / "named.onnx")
    ms.onnx.export(net, random(2, 2, 5, 5), random(2, 3), file_name=named, output_names=["p", "m"],
                   input_names=["a", "b"], dynamic_axes={"a": {-4: "n"}, "b": [0], "p": {0: "n"}})
    session = onnxruntime.InferenceSession(named)
    assert [o.name for o in session.get_outputs()] == ["p", "m"]
    found = session.run(["m"], {"a": random(4, 2, 5, 5).asnumpy(), "b": random(4, 3).asnumpy()})
    assert found[0].shape == (4,)


@pytest.mark.parametrize("axes, words", [
    ({"c": [0]}, "names of inputs or outputs, a, b, p, but got 'c'"), ({"x": {0: "n"}}, "got 'x'"),
    ({"a": [4]}, "dimensions of the input 'a', which has 4, but got .4"),
    ({"b": {-3: "n"}}, "of the input 'b', which has 2"),
    ({"p": [9], "b": [0, 2]}, "the input 'b', which has 2, but got .0, 2")])
def test_dimensions_that_there_are_not(net, axes, words, tmp_path):
    with pytest.raises(ValueError, match=f"'dynamic_axes' must .*{words}"):
        ms.onnx.export(net, random(2, 2, 5, 5), random(2, 3), file_name=str(tmp_path / "n"),
                       input_names=["a", "b"], output_names=["p"], dynamic_axes=axes)
    assert not list(tmp_path.iterdir())


class Reader(nn.Cell):
    """A word's vector, normalized, then recurrence, then attention."""

    def __init__(self):
        super().__init__()
        self.vectors, self.norm = nn.Embedding(7, 8), nn.LayerNorm((8,))
        self.lstm = nn.LSTM(8, 4, batch_first=True, bidirectional=True)
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def construct(self, words):
        return self.attention(self.lstm(self.norm(self.vectors(words)))[0])


def test_onnx_of_larger_layers(tmp_path):
    made, words = Reader().set_train(False), Tensor([[1, 2, 6], [0, 3, 3]], ms.int32)
    path = str(tmp_path / "net.onnx")
    ms.export(made, words, file_name=path, file_format="ONNX")
    got = onnxruntime.InferenceSession(path).run(None, {"words": words.asnumpy()})[0]
    np.testing.assert_allclose(got, made(words).asnumpy(), rtol=1e-4, atol=1e-5)


def test_what_can_not_be_exported_or_loaded(tmp_path):
    class Asks(nn.Cell):
        def construct(self, x):
            return x * 2 if float(x.sum()) > 0 else x

    path = str(tmp_path / "a.mindir")
    with pytest.raises(RuntimeError, match="Asks can't be recorded"):
        ms.export(Asks(), random(2), file_name=path, file_format="MINDIR")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="must be one of 'MINDIR', 'LAMELLA', 'PACKAGE', "
                                         "'STABLEHLO', 'ONNX'"):
        ms.export(Asks(), random(2), file_name=path, file_format="AIR")
    with pytest.raises(TypeError, match="'net' must be a Cell, but got 3 of type int"):
        ms.export(3, random(2), file_name=path, file_format="ONNX")
    with pytest.raises(ValueError, match="there is no file"):
        ms.load(path)
    (tmp_path / "a.mindir").write_bytes(b"\x0a\x050.1.0\x12\x09MindSpore")
    with pytest.raises(ValueError, match="can't be read"):
        ms.load(path)
    with pytest.raises(TypeError, match="'graph' must be what 'load' gave"):
        nn.GraphCell(nn.ReLU())
    ms.export(nn.Dense(2, 1), random(1, 2), file_name=path, file_format="MINDIR")
    content = (tmp_path / "a.mindir").read_bytes()
    (tmp_path / "b.mindir").write_bytes(content[:200] + content[-400:])
    with pytest.raises(ValueError, match="can't be read"):
        ms.load(str(tmp_path / "b.mindir"))
    with pytest.raises(ValueError, match="'w', which is none of the parameters"):
        nn.GraphCell(ms.load(path), params_init={"w": random(2)})


class Gradients(nn.Cell):
    """The gradients of a function by all of its inputs."""

    def __init__(self, function, starts=()):
        super().__init__()
        self.function, self.starts = function, starts
        self.gradient = ops.GradOperation(get_all=True, sens_param=bool(starts))

    def construct(self, *inputs):
        return self.gradient(self.function)(*inputs, *self.starts)


@pytest.mark.parametrize("function, inputs, starts", [
    (ops.relu, (random(2, 3),), ()),
    (lambda x: ops.exp(x).sum() * ops.sigmoid(x), (random(2, 3),), (random(2, 3),)),
    (ops.NLLLoss("none"), (random(2, 3), Tensor([2, 0], ms.int32), random(3)),
     ((random(2), Tensor(0.5)),)),
], ids=["relu", "kept results", "classes"])
def test_gradients_are_exported(function, inputs, starts, tmp_path):
    net, path = Gradients(function, starts), str(tmp_path / "a.mindir")
    wanted = net(*inputs)
    ms.export(net, *inputs, file_name=path, file_format="MINDIR")
    found = nn.GraphCell(ms.load(path))(*inputs)
    found, wanted = ((x,) if isinstance(x, Tensor) else x for x in (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.squeeze(one.asnumpy()), np.squeeze(other.asnumpy()),
                                   rtol=1e-5)


def test_a_primitive_of_gradients_is_exported(tmp_path):
    net, path = ReluGrad(), str(tmp_path / "a.mindir")

    class Net(nn.Cell):
        def construct(self, dout, x):
            return net(dout, x)

    dout, x = random(2, 3), random(2, 3) - 0.5
    ms.export(Net(), dout, x, file_name=path, file_format="MINDIR")
    np.testing.assert_array_equal(nn.GraphCell(ms.load(path))(dout, x).asnumpy(),
                                  net(dout, x).asnumpy())


def test_gradients_by_integers_are_not_exported(tmp_path):
    with pytest.raises(RuntimeError, match="Gradients can't be recorded"):
        ms.export(Gradients(lambda x, i: ops.exp(x * i)), random(2), Tensor([1, 2]),
                  file_name=str(tmp_path / "a.mindir"), file_format="MINDIR")


@pytest.mark.parametrize("text, wanted", [
    ("\n first\nsecond", "first"), ("", "ValueError"), (" \n", "ValueError"),
    ("target=torch.ops.aten.add", "target=torch.ops.aten.add")])
def test_an_error_of_the_exporter_that_names_no_operator(text, wanted):
    error = exporting._not_in_onnx(ValueError(text), None, None)
    assert str(error) == f"For 'export', the network can't be written as ONNX: {wanted}"
