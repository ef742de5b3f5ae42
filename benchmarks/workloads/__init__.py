"""The workloads. The programs are in the folders beside this file."""

import os
from dataclasses import replace

from ..workload import Workload, classes, noise

# models of real size: in a small form, for tests; with batches that fill a GPU
TINY, LARGE = (os.environ.get(f"BENCHMARKS_{size}") == "1" for size in ("TINY", "LARGE"))

from . import (  # noqa: E402  (they have sizes by TINY)
    bert,
    checkpoint,
    digits,
    gpt,
    gpt2,
    lstm_lm,
    photographs,
    resnet50,
    unet,
)

CHAIN = 200
ROWS = 60_000
AS_IT_IS: dict = {"compiles": False, "compare": 1}
FILE = {**AS_IT_IS, "unit": "GB/s", "parts": checkpoint.SIZE / 1e9}
BFLOAT16 = {"precision": "bfloat16", "compare": 1, "agree": 5e-3}


def _gpt_data():
    return gpt.tokens(8), gpt.tokens(8, seed=1)


def _resnet_data():
    return noise(8, 3, 224, 224), classes(8, of=1000)


WORKLOADS = [
    Workload("add", "addition", "two tensors of four numbers",
             "small", lambda: (noise(4), noise(4)), "add", "µs"),
    Workload("chain", "chain, gradient", f"{CHAIN} operations on four numbers; the time of one",
             "small", lambda: (noise(4),), "chain", "µs", parts=CHAIN),
    Workload("mlp", "MLP", "training step, 784-512-512-10, batch 64, momentum",
             "mlp", lambda: (noise(64, 784), classes(64, of=10))),
    Workload("lenet", "LeNet-5", "training step, batch 64, Adam",
             "lenet", lambda: (noise(64, 1, 28, 28), classes(64, of=10))),
    Workload("lstm", "LSTM", "training step, embedding 64, LSTM 128, batch 32 x 64 tokens, Adam",
             "lstm", lambda: (classes(32, 64, of=1000), classes(32, of=4))),
    # MindSpore's AdamWeightDecay has no bias correction: the first losses are the same, no others
    Workload("gpt", "GPT", "training step, 4 layers of 256, batch 8 x 128 tokens, AdamW",
             "gpt", _gpt_data, compare=1),
    Workload("resnet", "ResNet-18", "training step, batch 8 x 224 x 224, momentum",
             "resnet", _resnet_data),
    Workload("gpt-bf16", "GPT, bfloat16", "the same in mixed precision",
             "gpt", _gpt_data, **BFLOAT16),
    Workload("resnet-bf16", "ResNet-18, bfloat16", "the same in mixed precision",
             "resnet", _resnet_data, **BFLOAT16),
    Workload("gpt-forward", "GPT, answer", "inference, 1 x 128 tokens",
             "gpt", lambda: (gpt.tokens(1),), "forward"),
    Workload("resnet-forward", "ResNet-18, answer", "inference, one image",
             "resnet", lambda: (noise(1, 3, 224, 224),), "forward"),
    Workload("jacobian", "MLP, Jacobian", "of 10 answers by 784 inputs, in reverse mode",
             "mlp", lambda: (noise(1, 784),), "jacobian"),
    Workload("by-sample", "LeNet-5, gradient by sample", "of all weights, for each of 64 images",
             "lenet", lambda: (noise(64, 1, 28, 28), classes(64, of=10)), "gradients_by_sample"),
    Workload("curvature", "GPT, Hessian-vector product", "by all weights, batch 2 x 128 tokens",
             "gpt", lambda: (gpt.tokens(2), gpt.tokens(2, seed=1)), "curvature"),
    Workload("rows", "rows in memory", "28 x 28 float32 with labels, shuffled, batches of 64",
             "rows", lambda: (noise(ROWS, 28, 28), classes(ROWS, of=10)), "epoch", "rows/s",
             ROWS, **AS_IT_IS),
    Workload("photographs", "photographs", "JPEG decoded, cropped, flipped, normalized, batches "
             "of 32, 2 workers", "photographs", photographs.photographs, "epoch", "images/s",
             photographs.COUNT, **AS_IT_IS),
    Workload("digits", "digits", "training until 98 % of 360 digits are read right", "digits",
             digits.digits, "learn", "s", agree=0.02, **AS_IT_IS),
    Workload("checkpoint-write", "checkpoint, written", "128 MiB; .ckpt against torch.save",
             "checkpoint", checkpoint.weights, "write", agree=0.01, **FILE),
    Workload("checkpoint-read", "checkpoint, read", "the same, against torch.load",
             "checkpoint", checkpoint.weights, "read", **FILE),
    Workload("safetensors-write", "safetensors, written", "128 MiB, against the package's own",
             "checkpoint", checkpoint.weights, "write_safetensors", agree=0.01, **FILE),
    Workload("safetensors-read", "safetensors, read", "the same", "checkpoint",
             checkpoint.weights, "read_safetensors", **FILE),
]


def _tokens_of(sizes):
    """Tokens, and those that follow them."""
    return tuple(classes(sizes.BATCH, sizes.LENGTH, of=sizes.VOCABULARY, seed=seed)
                 for seed in (0, 1))


def _images():
    return (noise(resnet50.BATCH, 3, resnet50.SIZE, resnet50.SIZE),
            classes(resnet50.BATCH, of=1000))


def _noisy_images():
    shape = unet.BATCH, 3, unet.SIZE, unet.SIZE
    return noise(*shape), noise(unet.BATCH, 1, seed=1), noise(*shape, seed=2)


# models of real size: `python -m benchmarks.real`
_REAL = [
    Workload("gpt2", "GPT-2 124M", f"training step, {gpt2.BATCH} x {gpt2.LENGTH} tokens, AdamW",
             "gpt2", lambda: _tokens_of(gpt2), compare=1),
    Workload("bert", "BERT-base", f"training step, {bert.BATCH} x {bert.LENGTH} tokens, dropout, "
             "AdamW", "bert", lambda: _tokens_of(bert), compare=1, agree=0.1),
    Workload("resnet50", "ResNet-50", f"training step, {resnet50.BATCH} x {resnet50.SIZE}², "
             "momentum", "resnet50", _images, compare=1),
    Workload("lstm-lm", "LSTM language model", f"training step, 2 x {lstm_lm.WIDTH}, "
             f"{lstm_lm.BATCH} x {lstm_lm.LENGTH} tokens, Adam", "lstm_lm",
             lambda: _tokens_of(lstm_lm), compare=1),
    Workload("unet", "diffusion U-Net", f"training step, {unet.BATCH} x {unet.SIZE}², Adam",
             "unet", _noisy_images, compare=1),
]
REAL = [*_REAL, *(replace(w, name=f"{w.name}-bf16", title=f"{w.title}, bfloat16",
                          about="the same in mixed precision", precision="bfloat16",
                          agree=max(w.agree, 0.02)) for w in _REAL)]
