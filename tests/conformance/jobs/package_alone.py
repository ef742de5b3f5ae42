"""Networks as files that run where Lamella isn't: ``export(..., file_format="PACKAGE")``.

In an empty folder, with T the path of this file and P a Python of another environment, which has
PyTorch and NumPy and not Lamella:

    python $T P

Each line has the largest difference between what the network gives here and what the loader in
``examples/package`` gives there, for batches of 1, 3 and 6; then what the loader in C++ says of its
result for a batch of 3, if CMake and a compiler are there.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "package"
BATCHES = 1, 3, 6


def networks():
    """By name: a network, and the shape of one row of its input."""
    import lamella as ms
    from lamella import nn, ops

    ms.set_seed(5)
    lenet = nn.SequentialCell(
        nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
        nn.Dense(256, 84), nn.ReLU(), nn.Dense(84, 10))

    class Last(nn.Cell):
        """What an LSTM gives last."""

        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 12, batch_first=True)

        def construct(self, x):
            start = ops.zeros((1, x.shape[0], 12))
            return self.lstm(x, (start, start))[0][:, -1]

    block = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    return {"LeNet-5": (lenet, (1, 28, 28)), "LSTM": (Last(), (7, 8)),
            "Transformer": (block, (5, 16))}


def loader_in_cpp(python):
    """The loader in C++, built with the PyTorch of another Python; None without CMake."""
    if not shutil.which("cmake"):
        return None
    where = subprocess.run([python, "-c", "import torch; print(torch.utils.cmake_prefix_path)"],
                           check=True, capture_output=True, text=True).stdout.strip()
    for call in (["cmake", "-S", str(EXAMPLE), "-B", "cpp", f"-DCMAKE_PREFIX_PATH={where}"],
                 ["cmake", "--build", "cpp"]):
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    return str(Path("cpp", "run").resolve())


def main(python):
    import lamella as ms

    alone = subprocess.run([python, "-c", "import lamella"], capture_output=True, cwd="/")
    assert alone.returncode, f"{python} has Lamella"
    in_cpp = loader_in_cpp(python)
    rng = np.random.default_rng(3)
    for name, (net, shape) in networks().items():
        net.set_train(False)
        ms.export(net, ms.Tensor(shape=[None, *shape], dtype=ms.float32), file_name="net",
                  file_format="PACKAGE")
        off = 0.0
        for rows in BATCHES:
            x = rng.standard_normal((rows, *shape)).astype(np.float32)
            np.save("x.npy", x)
            subprocess.run([python, str(EXAMPLE / "run.py"), "net.pt2", "y.npy", "x.npy"],
                           check=True)
            off = max(off, float(np.abs(np.load("y.npy") - net(ms.Tensor(x)).asnumpy()).max()))
        said = ""
        if in_cpp is not None:
            sizes = map(str, (3, *shape))
            said = subprocess.run([in_cpp, "net.pt2", *sizes], check=True, capture_output=True,
                                  text=True).stdout.split("[ ")[-1].strip(" ]\n")
        print(f"{name}: {off:.0e} {said}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
