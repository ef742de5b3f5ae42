"""Why a gradient is zero, as a sentence."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import torch

from .record import LEAVING, Recorder, Step, Value
from .statistics import Numbers

RECTIFIERS = frozenset({"relu", "relu_", "relu6", "threshold", "clamp_min", "relu_v2", "ReLU"})
BOUNDED = frozenset({"clamp", "clip", "clip_by_value", "hardtanh", "hardsigmoid", "hard_sigmoid",
                     "hardswish", "relu6", "hardshrink", "softshrink", "clamp_max", "clamp_min",
                     "hard_shrink", "soft_shrink", "HShrink"})
SATURATING = frozenset({"sigmoid", "tanh", "softmax", "log_softmax", "erf", "logsigmoid", "exp",
                        "Sigmoid", "Tanh", "Softmax"})
STEPPED = frozenset({"sign", "floor", "ceil", "round", "trunc", "heaviside", "sgn", "fix",
                     "floor_divide", "floordiv", "isnan", "rint"})
PRODUCTS = frozenset({"mul", "truediv", "div", "matmul", "mm", "bmm", "addmm", "linear", "dense",
                      "conv1d", "conv2d", "conv3d", "convolution", "einsum", "dot", "mv", "outer",
                      "baddbmm", "addcmul", "multiply", "prelu", "rmul", "imul", "tensordot",
                      "conv_transpose2d", "inner", "dropout", "mul_"})
ADDED_FIRST = frozenset({"addmm", "baddbmm", "addcmul", "addmv", "addbmm", "addr"})
DIVISIONS = frozenset({"div", "truediv", "true_divide", "divide"})
POWERS = frozenset({"pow", "power", "float_power", "pow_"})
CASTS = frozenset({"to", "astype", "cast", "half", "float", "double", "bfloat16", "type_as"})
DROPPING = frozenset({"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
                      "feature_alpha_dropout", "Dropout", "dropout_ext"})
OVERWRITING = frozenset({"set_item", "setitem", "__setitem__", "copy_", "copy", "fill", "fill_",
                         "zero", "zero_", "index_fill_", "masked_fill_", "index_put_"})
MULTIPLIED = frozenset({"mul", "rmul", "imul", "mul_", "multiply"})
CHOOSING = frozenset({"max", "min", "amax", "amin", "maximum", "minimum", "where", "select",
                      "gather", "index_select", "getitem", "topk", "sort", "max_pool2d", "argmax",
                      "index", "slice", "masked_select", "embedding", "take", "masked_fill",
                      "max_pool1d", "max_pool3d", "narrow", "tril", "triu", "__getitem__", "split",
                      "median", "fmax", "fmin"})
NORMALIZING = frozenset({"batch_norm", "native_batch_norm", "layer_norm", "group_norm",
                         "instance_norm", "native_layer_norm", "softmax", "log_softmax"})
# operators whose results have a constant sum
SUMMED = frozenset({"softmax", "batch_norm", "native_batch_norm", "layer_norm", "native_layer_norm",
                    "instance_norm", "group_norm", "Softmax"})
LEAST = 1e-6  # the least gradient, relative to its terms, that is more than rounding


class Causes:
    """Finds the causes of zero gradients in a recorded run."""

    def __init__(self, recorder: Recorder, cell_of: dict[int, str]):
        self.recorder = recorder
        self.cell_of = cell_of  # the Cell that each step, by its number, ran in

    def zero(self, start: Value) -> list[str]:
        """The reasons why the gradient of a value is zero, the most likely first."""
        cuts: dict[str, Step] = {}
        blocks: dict[str, Step] = {}
        unused: dict[str, Any] = {}
        for value, step in self._lost(start):
            if step is None:
                text = self._dead_end(value)
                unused.setdefault(text, None)
            elif step.cut or self._discrete(step):
                text = self.cut_text(step)
                (cuts if self._matters(step) else unused).setdefault(text, step)
            else:
                blocks.setdefault(self._block_text(step, value), step)
        calls = {(s.operator, s.place.file, s.place.line) for s in blocks.values()}
        telling = [text for text, s in cuts.items()  # not inside an operator in `calls`
                   if (s.operator, s.place.file, s.place.line) not in calls]
        return [*blocks, *telling] or list(unused)

    def _lost(self, start: Value) -> Iterable[tuple[Value, Step | None]]:
        """Where the gradient of `start` ends: a value, and the step that ends it."""
        queue, seen = deque([start]), {start.number}
        while queue:
            value = queue.popleft()
            if not value.uses and not value.is_output:
                yield value, None
            for step in value.uses:
                if step.cut or value.tracked and self._discrete(step):
                    yield value, step
                    continue
                if value.tracked and any(_flows(out) for out in step.outputs):
                    yield value, step
                    continue
                for out in step.outputs:
                    if out.number not in seen:
                        seen.add(out.number)
                        queue.append(out)

    def _discrete(self, step: Step) -> bool:
        """Whether a step has results with a gradient, but only those without one are used."""
        tracked = [out for out in step.outputs if out.tracked]
        return 0 < len(tracked) < len(step.outputs) and not any(map(self._is_used, tracked)) and (
            any(map(self._is_used, step.outputs)))

    def _matters(self, step: Step) -> bool:
        """Whether a result of a cutting step reaches an output, or leaves the run."""
        return step.cut == "numpy" or any(self._is_used(out) for out in step.outputs)

    def _is_used(self, value: Value) -> bool:
        """Whether a value reaches an output, or leaves the run."""
        queue, seen = [value], {value.number}
        while queue:
            value = queue.pop()
            if value.is_output or any(step.cut == "numpy" or step.kernel in LEAVING
                                      for step in value.uses):
                return True
            for out in (out for step in value.uses for out in step.outputs):
                if out.number not in seen:
                    seen.add(out.number)
                    queue.append(out)
        return False

    # -- sentences -------------------------------------------------------------------------------

    def where(self, step: Step) -> str:
        """`` in file:line (Cell 'path')``, as far as known."""
        text = f" in {step.place.text}" if step.place.text else ""
        cell = self.cell_of.get(step.number)
        return f"{text} (Cell '{cell}')" if cell else text

    def cut_text(self, step: Step) -> str:
        """What a cut is."""
        kinds = sorted({v.numbers.dtype for v in step.outputs
                        if v.numbers is not None and not v.tracked})
        to = f" to {kinds[0]}" if kinds else ""
        name = step.operator
        if step.cut == "stop_gradient" and name in ("detach", "data"):
            return f"it is cut{self.where(step)}: its data is taken there, without its history"
        if step.cut == "other" and name == "grad":
            return self._inner_text(step)
        return {
            "stop_gradient": f"it is cut by {'stop_gradient' if 'top' in name else name}"
                             f"{self.where(step)}",
            "numpy": f"it leaves through NumPy or a Python number ('{name}'){self.where(step)}; "
                     f"nothing is recorded there",
            "no_grad": f"'{name}'{self.where(step)} runs inside _no_grad, where nothing is "
                       f"recorded",
            "cast": f"it is cut by an integer cast, '{name}'{to}{self.where(step)}: integers "
                    f"have no gradient",
            "discrete": f"'{name}'{self.where(step)} gives integers or booleans "
                        f"({', '.join(kinds)}), which have no gradient",
            "other": f"'{name}'{self.where(step)} has no gradient"}[step.cut or "discrete"]

    def _inner_text(self, step: Step) -> str:
        return (f"the inner gradient computed by '{step.operator}'{self.where(step)} does not "
                f"depend on it")

    def _dead_end(self, value: Value) -> str:
        maker = value.maker
        if value.name.startswith("output"):
            return (f"it goes into {value.name} alone, and with has_aux=True the first output is "
                    f"differentiated")
        if maker is None:
            return "it is not used"
        return (f"it is not used by the output: nothing uses the result of '{maker.operator}'"
                f"{self.where(maker)}")

    def _block_text(self, step: Step, value: Value) -> str:
        """Why a step that gets a gradient gives a value none."""
        if value.rules and value.maker is None:
            return f"the {value.rules[-1].name} made it zeros"
        rule = next((r for r in step.rules if r.effect in ("zeroed", "replaced")), step.rule)
        if rule is not None:
            gave = "None" if value.gradient is None and not value.rules else "zeros"
            cell = self.cell_of.get(step.number)
            of = f" (Cell '{cell}')" if cell else ""
            if gave == "None":
                return f"the {rule.name}{of} returned None (no gradient) for it"
            return f"the {rule.name}{of} made it zeros"
        if value.number in step.gives:
            return self._cancelling_text(step, value)
        return self._flat_text(step, value)

    def _flat_text(self, step: Step, value: Value) -> str:
        """Why the derivative of a step by a value is zero."""
        where, name, numbers = self.where(step), step.operator, value.numbers
        names = {name, step.kernel, name.lower()}
        if names & RECTIFIERS and numbers is not None and numbers.high <= 0:
            return (f"of a dead ReLU: all {numbers.count} inputs of '{name}'{where} are 0 or less, "
                    f"so its output is 100 % zeros and no gradient passes")
        if names & STEPPED:
            return f"the derivative of '{step.kernel if name == 'div' else name}'{where} is zero " \
                   f"everywhere"
        if names & BOUNDED and numbers is not None:
            return (f"all values are outside of the bounds of '{name}'{where}: they lie in "
                    f"[{numbers.low:.4g}, {numbers.high:.4g}]")
        if names & OVERWRITING:
            return f"all of it is overwritten by '{name}'{where}"
        if 0 in step.plain and names & MULTIPLIED:
            return f"it is multiplied by the number 0 in '{name}'{where}"
        if 0 in step.plain and names & POWERS:
            return f"the derivative of '{name}'{where} with the exponent 0 is zero everywhere"
        if names & DROPPING and all(v.numbers is None or v.numbers.is_zero for v in step.outputs):
            return f"all of it is dropped in '{name}'{where}"
        for other in self._factors(step, value, names):
            if other.numbers is not None and other.numbers.is_zero and other.numbers.count:
                return f"in '{name}'{where} it is multiplied by zeros: {self._zeros_text(other)}"
        if names & CHOOSING:
            return f"'{name}'{where} does not choose it: its output depends on other elements only"
        if any(v.numbers is not None and not v.numbers.count for v in step.outputs):
            return f"the result of '{name}'{where} has no elements"
        if self._sums(step):
            return self.sum_text(step)
        if name == "grad":
            return self._inner_text(step)
        if self._underflows(step, value, names):
            return self._underflow_text(step, value)
        if names & SATURATING and numbers is not None:
            return (f"'{name}'{where} is saturated: its inputs lie in [{numbers.low:.4g}, "
                    f"{numbers.high:.4g}], where its slope is zero")
        if value.number in step.measured and numbers is not None and numbers.count:
            return (f"the derivative of '{name}'{where} is zero at the values there, which lie in "
                    f"[{numbers.low:.4g}, {numbers.high:.4g}]")
        return f"'{name}'{where} passes no gradient on to it"

    def _cancelling_text(self, step: Step, value: Value) -> str:
        paths = [s for s in value.uses if value.number in s.gives] or [step]
        of = " and ".join(dict.fromkeys(f"'{s.operator}'{self.where(s)}" for s in paths[:3]))
        return f"the contributions to it in {of} cancel each other out"

    @staticmethod
    def _factors(step: Step, value: Value, names: set[str]) -> list[Value]:
        """The other factors of a product with a value; none for its added term."""
        if not names & PRODUCTS:
            return []
        most = None if "einsum" in names else 2
        factors = step.inputs[1:] if names & ADDED_FIRST else step.inputs[:most]
        return [v for v in factors if v is not value] if value in factors else []

    def _underflows(self, step: Step, value: Value, names: set[str]) -> bool:
        """Whether a product with the gradient is too small for its type."""
        if value.numbers is None or not value.tracked or not names & (PRODUCTS | CASTS):
            return False
        arrived, factor = max(_size(out.gradient) for out in step.outputs), 1.0
        for other in self._factors(step, value, names):
            factor *= _size(other.numbers)
        for number in step.plain if names & (MULTIPLIED | DIVISIONS) else ():
            factor *= abs(number) if names & MULTIPLIED else 1 / abs(number or 1)
        count = max((out.numbers.count for out in step.outputs if out.numbers), default=1)
        terms = 1 if count == value.numbers.count else count
        return 0 < arrived * factor * terms <= _least(value.numbers.dtype)

    def _underflow_text(self, step: Step, value: Value) -> str:
        arrived = max(_size(out.gradient) for out in step.outputs)
        kind = value.numbers.dtype if value.numbers is not None else ""
        return (f"it underflows in '{step.operator}'{self.where(step)}: the gradient that arrives "
                f"there is {arrived:.3g} or less, and what becomes of it is less than the smallest "
                f"number of {kind}, {_least(kind):.2g}")

    def _zeros_text(self, value: Value, depth: int = 0) -> str:
        """Where zeros come from."""
        maker = value.maker
        if value.kind == "parameter":
            return f"all of Parameter '{value.name}' is zero"
        if value.kind == "input":
            return f"all of the input '{value.name}' is zero"
        if maker is None:
            return "a constant that is all zeros"
        where = self.where(maker)
        names = {maker.operator, maker.kernel, maker.operator.lower()}
        if names & RECTIFIERS:
            return f"the output of a dead ReLU, '{maker.operator}'{where}, 100 % zeros"
        zero = next((v for v in maker.inputs if v.numbers is not None and v.numbers.is_zero), None)
        if zero is not None and depth < 50:
            return self._zeros_text(zero, depth + 1)
        return f"the result of '{maker.operator}'{where}, all zeros"

    def nonfinite(self) -> Value | None:
        """The value whose gradient is the first in the backward pass that isn't finite."""
        bad = [v for v in self.recorder.values
               if v.gradient is not None and not v.gradient.is_finite]
        return next((value for value in reversed(bad) if not any(
            out in bad for step in value.uses for out in step.outputs)), None)

    def normalized(self, value: Value) -> Step | None:
        """A normalization shortly after a value, which cancels what is added to all elements."""
        return self._first(value, lambda step: bool({step.operator, step.kernel} & NORMALIZING), 8)

    def summed(self, value: Value) -> Step | None:
        """A later step whose outputs have a constant sum, if nothing but that sum is used."""
        return self._first(value, self._sums)

    def sum_text(self, step: Step) -> str:
        """Why nothing flows back through such a step."""
        return (f"the gradient that arrives at '{step.operator}'{self.where(step)} is the same for "
                f"all elements, and the sum of its results is always the same (outputs that are no "
                f"scalar are summed)")

    @staticmethod
    def _sums(step: Step) -> bool:
        gradient = step.outputs[0].gradient if step.outputs else None
        return (gradient is not None and gradient.low == gradient.high != 0
                and bool({step.operator, step.kernel} & SUMMED))

    @staticmethod
    def _first(value: Value, wanted: Callable[[Step], bool], most: int = 10**6) -> Step | None:
        """The nearest step after a value for which `wanted` holds, among the next `most` values."""
        queue, seen = deque([value]), {value.number}
        while queue and len(seen) < most:
            for step in queue.popleft().uses:
                if wanted(step):
                    return step
                for out in step.outputs:
                    if out.number not in seen:
                        seen.add(out.number)
                        queue.append(out)
        return None


def _size(numbers: Numbers | None) -> float:
    return 0.0 if numbers is None else max(abs(numbers.low), abs(numbers.high))


def _least(kind: str) -> float:
    """The smallest positive number of a type."""
    info = torch.finfo(getattr(torch, kind))
    return info.smallest_normal * info.eps


def _flows(value: Value) -> bool:
    """Whether a gradient other than zero arrived at a value."""
    return value.gradient is not None and not value.gradient.is_zero
