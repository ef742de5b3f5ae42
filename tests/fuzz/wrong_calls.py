"""Wrong calls of the names that programs use most, and how good their errors are.

``python -m tests.fuzz.wrong_calls`` prints a table; ``--show bad`` or ``--show meh`` the errors of
that grade, ``--only conv2d`` takes some names. A call from the example in a name's docstring is
made wrong in one place at a time: an argument of another type or size, nine too many, one too few,
a keyword that it hasn't. Those that raise are graded.

good: the message says which function, what was given and what is expected.
meh: one of these is missing.
bad: two are missing, or it shows PyTorch's text or an error of Lamella's own code, or the traceback
that is shown doesn't end at the line of the call.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import inspect
import io
import os
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import lamella as ms
from lamella import Tensor, context
from lamella.core.tracebacks import shown_folded
from lamella.ops.primitive import Primitive

from . import judge
from .seeds import Call, examples
from .surface import Target

# by room, about 440 names
NAMES = {
    "": """
        JitConfig Parameter ParameterTuple Tensor dtype_to_nptype export
        get_auto_parallel_context get_context grad jacrev jit jvp load_checkpoint
        load_param_into_net manual_seed mutable pytype_to_dtype reset_auto_parallel_context
        save_checkpoint set_auto_parallel_context set_context set_deterministic set_device
        set_seed tensor value_and_grad vjp vmap""",
    "amp": """
        DynamicLossScaler StaticLossScaler all_finite auto_mixed_precision""",
    "common.initializer": """
        Constant HeNormal HeUniform Initializer Normal One TruncatedNormal Uniform
        VarianceScaling XavierUniform Zero initializer""",
    "dataset": """
        CSVDataset Cifar10Dataset ConcatDataset DistributedSampler GeneratorDataset
        ImageFolderDataset MindDataset NumpySlicesDataset""",
    "dataset.audio": """
        MelScale Spectrogram""",
    "dataset.config": """
        set_prefetch_size set_seed""",
    "dataset.transforms": """
        Compose OneHot TypeCast""",
    "dataset.vision": """
        CenterCrop Decode HWC2CHW Normalize RandomColorAdjust RandomCrop
        RandomCropDecodeResize RandomHorizontalFlip Rescale Resize ToPIL ToTensor""",
    "mint": """
        arange cat concat cumsum full matmul max mean ones stack sum zeros zeros_like""",
    "mint.nn": """
        Conv2d LayerNorm Linear""",
    "mint.nn.functional": """
        interpolate pad softmax""",
    "nn": """
        Adagrad Adam AdamWeightDecay AdaptiveAvgPool1d AdaptiveAvgPool2d AvgPool1d AvgPool2d
        BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d CellList ClipByNorm ConstantPad2d
        Conv1d Conv2d Conv2dTranspose Conv3d CosineDecayLR CosineEmbeddingLoss
        CrossEntropyLoss Dense DistributedGradReducer Dropout DynamicLossScaleUpdateCell ELU
        Embedding ExponentialDecayLR FixedLossScaleUpdateCell Flatten GELU GRU GroupNorm
        HSigmoid HSwish HuberLoss Identity InstanceNorm2d L1Loss LSTM Lamb LayerNorm
        LeakyReLU Linear LogSigmoid LogSoftmax LossBase MAELoss MSELoss MaxPool1d MaxPool2d
        Moments Momentum MultiheadAttention Norm OneHot Optimizer PReLU Pad PixelShuffle
        PolynomialDecayLR RMSProp RNN ReLU ReLU6 SGD SequentialCell SiLU Sigmoid
        SmoothL1Loss Softmax SoftmaxCrossEntropyWithLogits Softsign SyncBatchNorm Tanh
        TrainOneStepCell TrainOneStepWithLossScaleCell Unfold Upsample WarmUpLR WithEvalCell
        WithLossCell cosine_decay_lr exponential_decay_lr get_activation
        piecewise_constant_lr""",
    "nn.probability.distribution": """
        Categorical Normal""",
    "numpy": """
        arange array concatenate dot expand_dims linspace mean ones roll split stack sum
        tile where zeros zeros_like""",
    "ops": """
        Abs AdaptiveAvgPool2D Add AllGather AllReduce ArgMaxWithValue Argmax Assign
        AssignAdd AvgPool BatchMatMul BiasAdd BoundingBoxDecode Broadcast BroadcastTo
        CTCLossV2 Cast CheckValid Concat Conv2D Cos DType Div Equal Exp ExpandDims Fill
        Flatten Floor FloorDiv Gather GatherD GatherNd GradOperation Greater GreaterEqual
        HyperMap Identity KLDivLoss L2Normalize LayerNorm Less Log LogSoftmax LogicalAnd
        LpNorm Map MatMul MaxPool Maximum Minimum Mod Mul NMSWithMask Neg NotEqual OneHot
        Ones OnesLike Pad Pow PyFunc ReLU RealDiv Reciprocal ReduceMax ReduceMean ReduceSum
        Reshape ResizeBilinearV2 ResizeNearestNeighbor ScatterNd Select Shape Sigmoid
        SigmoidCrossEntropyWithLogits Sign Sin Slice SmoothL1Loss Softmax
        SoftmaxCrossEntropyWithLogits Softplus Sort Split Sqrt Square Squeeze Stack
        StandardNormal StridedSlice Sub Tanh Tile TopK Transpose UniformReal Unstack Zeros
        ZerosLike abs add amax arange argmax assign atan avg_pool2d baddbmm batch_norm
        binary_cross_entropy_with_logits bmm broadcast_to cast cat ceil clamp clip
        clip_by_global_norm clip_by_value concat conv2d cos cross_entropy cumsum depend diag
        div dot dropout dtype einsum elu equal erf exp expand_dims expm1 eye fill flatten
        flip floor full gather gather_elements gelu grid_sample identity interpolate
        is_tensor isinf isnan l1_loss layer_norm leaky_relu linspace log log1p log_softmax
        logical_and logical_or make_range masked_fill matmul max max_pool2d maximum mean
        meshgrid min minimum mse_loss mul nll_loss nonzero norm normal one_hot ones
        ones_like outer pad partial permute pow rand randn reciprocal reduce_mean reduce_sum
        relu relu6 repeat_elements reshape roll round scalar_to_tensor select shape sigmoid
        silu sin softmax sort split sqrt square squeeze stack standard_normal stop_gradient
        sub sum swapaxes tanh tensor_scatter_elements tile topk transpose tril triu
        tuple_len tuple_to_array uniform unique unsqueeze unstack value_and_grad where zeros
        zeros_like""",
    "parallel": """
        Layout set_algo_parameters""",
    "train": """
        Accuracy CheckpointConfig DynamicLossScaleManager FixedLossScaleManager Loss
        LossMonitor Model ModelCheckpoint TimeMonitor Top1CategoricalAccuracy
        Top5CategoricalAccuracy data_sink""",
}
GOOD, MEH, BAD = "good", "meh", "bad"
MOST = 6  # errors of a name that are graded
# words of Python's and PyTorch's own messages, which say nothing to who uses Lamella
_INTERNAL = re.compile(
    r"_raw\b|NoneType' object|object has no attribute '(?:_|shape|dtype)|not subscriptable|"
    r"unsupported operand|object is not (?:iterable|callable)|aten::|at::|INTERNAL ASSERT|"
    r"invalid combination of arguments|Tensor-likes|unhashable|can't multiply sequence|"
    r"has no len\(\)|cannot unpack|mat1 and mat2|non-singleton")
_GIVEN = re.compile(
    r"\bgot\b|Arguments: |given|but its? |Failed calling|there is no |doesn't have|does not exist|"
    r"missing|not defined|not known|not recognized|unexpected|multiple values|no initializer|"
    r"takes no|not supported|not implemented|'.*' is |has \d", re.IGNORECASE)
_EXPECTED = re.compile(
    r"\bmust\b|should|expected|can be\b|\btakes\b|needs?\b|is called|valid calling|"
    r"doesn't fit|don't fit|can't|don't broadcast|missing|did you mean|unexpected keyword|"
    r"out of range|is needed|use |not in|exist|only support|not supported|not implemented|Known|"
    r"multiple values|invalid", re.IGNORECASE)


class Graded(NamedTuple):
    """One error: the name called, what was made wrong, the grade and why, the message."""

    name: str
    change: str
    grade: str
    why: str
    message: str


def targets(only: str = "") -> Iterator[Target]:
    for room, names in NAMES.items():
        try:
            owner: Any = importlib.import_module(f"lamella.{room}" if room else "lamella")
        except ModuleNotFoundError:
            continue
        for name in names.split():
            full = f"{room}.{name}".strip(".")
            if only in full and hasattr(owner, name):
                thing = getattr(owner, name)
                yield Target(full, thing, isinstance(thing, type) and (
                    hasattr(thing, "construct") or issubclass(thing, Primitive)), owner)


def wrong(call: Call, is_class: bool) -> Iterator[tuple[str, Call]]:
    """The ways to make a call wrong, and what each of them is."""
    parts = [("made", call.made), ("called", (call.args, call.kwargs))]
    for part, given in parts if is_class else parts[1:]:
        if given is None:
            continue
        args, kwargs = given

        def changed(args: Any, kwargs: Any, part: str = part) -> Call:
            return (call._replace(made=(tuple(args), kwargs)) if part == "made"
                    else Call(call.made, tuple(args), kwargs))

        yield f"{part} with an unknown keyword", changed(args, {**kwargs, "nothing": 3})
        yield f"{part} with nine more", changed((*args, *"abcdefghi"), kwargs)
        if args:
            yield f"{part} with one less", changed(args[:-1], kwargs)
        for i, value in enumerate(args):
            for what, other in others(value):
                yield f"{part}: {i} {what}", changed((*args[:i], other, *args[i + 1:]), kwargs)
        for key, value in kwargs.items():
            for what, other in others(value):
                yield f"{part}: {key} {what}", changed(args, {**kwargs, key: other})


def others(value: Any) -> Iterator[tuple[str, Any]]:
    """Wrong values in place of one."""
    if isinstance(value, Tensor):
        yield "a text", "abc"
        yield "None", None
        yield "of rank 7", ms.ops.ones((1, 2, 1, 2, 1, 2, 1))
        if -1 in value.shape:  # a form without data
            return
        if value.ndim:
            yield "longer", ms.ops.ones((*value.shape[:-1], value.shape[-1] + 5), value.dtype)
        yield "of booleans", ms.ops.ones(value.shape, ms.bool_)
    elif isinstance(value, str):
        yield "another text", "nothing"
        yield "a number", 3
    elif isinstance(value, bool):
        yield "a text", "abc"
    elif isinstance(value, (int, float)):
        yield "a text", "abc"
        yield "far below", -1000
        yield "None", None
        yield "a fraction", 2.5
    elif isinstance(value, (list, tuple)):
        yield "a text", "abc"
        yield "empty", type(value)()
        yield "of objects", [object()]
        yield "longer", (*value, *value, *value)
    else:
        yield "a text", "abc"
        yield "an object", object()


def grade(name: str, error: Exception) -> tuple[str, str]:
    """How good an error of a call of `name` is, and why it isn't better."""
    message = str(error)
    kind = judge.judge(error)
    if kind in (judge.KERNEL, judge.INSIDE, judge.RAW):
        return BAD, kind
    if _INTERNAL.search(message):
        return BAD, "internals"
    with shown_folded(error):
        step: Any = error.__traceback__
        while step is not None and step.tb_next is not None:
            step = step.tb_next
        if step is None or "/lamella/" in step.tb_frame.f_code.co_filename:
            return BAD, "doesn't end at the call"
    missing = [what for what, said in (
        ("function", _names(name, message)), ("given", _GIVEN.search(message)),
        ("expected", _EXPECTED.search(message))) if not said]
    return (GOOD, MEH, BAD, BAD)[len(missing)], ", ".join(missing)


def _names(name: str, message: str) -> bool:
    """Whether a message names the function, in any spelling, or is about an argument by name."""
    last = name.rpartition(".")[2].lower().replace("_", "")
    text = message.lower().replace("_", "")
    return last in text or message.startswith("For '") or "Failed calling" in message


def run(only: str = "") -> list[Graded]:
    """Grade the errors of the wrong calls, at most `MOST` of each name."""
    found: list[Graded] = []
    mode = context.get_context("mode")
    with _empty_folder():
        for target in targets(only):
            calls = [c for c in examples(target) if c.made is not None or not target.is_class]
            calls = calls or [Call(((), {}) if target.is_class else None, (), {})]
            errors = [(change, error) for change, call in wrong(calls[0], target.is_class)
                      if (error := _error(target, call)) is not None]
            # spread over the ways, as the first of them would hide the others
            for change, error in errors[::max(1, len(errors) // MOST)][:MOST]:
                found.append(Graded(target.name, change, *grade(target.name, error), str(error)))
            ms.set_context(mode=mode)
    return found


@contextlib.contextmanager
def _empty_folder() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def _error(target: Target, call: Call) -> Exception | None:
    try:
        with (warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()),
              np.errstate(all="ignore")):
            warnings.simplefilter("ignore")
            function: Callable[..., Any] = target.thing
            if target.is_class and call.made is not None:
                function = function(*call.made[0], **call.made[1])
                if not call.args and not call.kwargs:
                    return None
            function(*call.args, **call.kwargs)
    except Exception as error:  # noqa: BLE001
        return error
    return None


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=inspect.getdoc(sys.modules[__name__]))
    parser.add_argument("--only", default="")
    parser.add_argument("--show", choices=(GOOD, MEH, BAD))
    given = parser.parse_args()
    found = run(given.only)
    for one in found:
        if one.grade == given.show:
            print(f"{one.name} ({one.change}; {one.why}): {one.message}\n")
    counts = Counter(one.grade for one in found)
    names = len({one.name for one in found})
    print(f"{len(found)} errors of {names} names: " + ", ".join(
        f"{counts[kind]} {kind} ({counts[kind] / max(1, len(found)):.1%})"
        for kind in (GOOD, MEH, BAD)))


if __name__ == "__main__":
    main()
