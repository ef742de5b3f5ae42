"""Why a gradient is zero: the sentence for a newcomer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from .record import Recorder, Step, Value

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
MULTIPLIED = frozenset({"mul", "rmul", "imul", "mul_", "multiply"})
CHOOSING = frozenset({"max", "min", "amax", "amin", "maximum", "minimum", "where", "select",
                      "gather", "index_select", "getitem", "topk", "sort", "max_pool2d", "argmax",
                      "index", "slice", "masked_select", "embedding", "take", "masked_fill",
                      "max_pool1d", "max_pool3d", "narrow", "tril", "triu", "__getitem__", "split",
                      "median", "fmax", "fmin"})
NORMALIZING = frozenset({"batch_norm", "native_batch_norm", "layer_norm", "group_norm",
                         "instance_norm", "native_layer_norm", "softmax", "log_softmax"})
SUMMED = frozenset({"softmax", "batch_norm", "native_batch_norm", "layer_norm", "native_layer_norm",
                    "instance_norm", "group_norm", "Softmax"})  # of a sum that never changes
LEAST = 1e-6  # of a gradient, relative to what it came from, that is more than rounding


class Causes:
    """Finds out, in a recorded run, what became of gradients."""

    def __init__(self, recorder: Recorder, cell_of: dict[int, str]):
        self.recorder = recorder
        self.cell_of = cell_of  # by number of a step

    def zero(self, start: Value) -> list[str]:
        """What keeps the gradient of a value zero, the most telling first."""
        cuts: dict[str, int] = {}
        blocks: dict[str, int] = {}
        unused: dict[str, int] = {}
        for value, step in self._lost(start):
            if step is None:
                text = self._dead_end(value)
                unused.setdefault(text, len(unused))
            elif step.cut:
                text = self.cut_text(step)
                (cuts if self._matters(step) else unused).setdefault(text, len(cuts))
            else:
                blocks.setdefault(self._block_text(step, value), len(blocks))
        return [*blocks, *cuts] or list(unused)

    def _lost(self, start: Value) -> Iterable[tuple[Value, Step | None]]:
        """Where the gradient of `start` ends on its way: a value, and the step that ends it."""
        queue, seen = deque([start]), {start.number}
        while queue:
            value = queue.popleft()
            if not value.uses and not value.is_output:
                yield value, None
            for step in value.uses:
                if step.cut:
                    yield value, step
                    continue
                if value.tracked and any(_flows(out) for out in step.outputs):
                    yield value, step
                    continue
                for out in step.outputs:
                    if out.number not in seen:
                        seen.add(out.number)
                        queue.append(out)
                if not step.outputs and step.kernel not in ("numpy", "item"):
                    yield value, None

    def _matters(self, step: Step) -> bool:
        """Whether the value goes on to an output behind a cut, or leaves the run."""
        if step.cut == "numpy":
            return True
        queue, seen = list(step.outputs), set()
        while queue:
            value = queue.pop()
            if value.is_output:
                return True
            if value.number not in seen:
                seen.add(value.number)
                queue += [out for following in value.uses for out in following.outputs]
                if any(following.kernel == "numpy" for following in value.uses):
                    return True
        return False

    # -- sentences -------------------------------------------------------------------------------

    def where(self, step: Step) -> str:
        """`` in file:line (Cell 'path')``, as far as known."""
        text = f" in {step.place.text}" if step.place.text else ""
        cell = self.cell_of.get(step.number)
        return f"{text} (Cell '{cell}')" if cell else text

    def cut_text(self, step: Step) -> str:
        """What a cut is."""
        kinds = sorted({v.numbers.dtype for v in step.outputs if v.numbers is not None})
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
            "cast": f"it is cut by an integer cast, '{name}'{to}{self.where(step)}: whole numbers "
                    f"have no gradient",
            "discrete": f"'{name}'{self.where(step)} gives whole numbers or truth values "
                        f"({', '.join(kinds)}), which have no gradient",
            "other": f"'{name}'{self.where(step)} has no gradient"}[step.cut]

    def _inner_text(self, step: Step) -> str:
        return (f"the inner gradient computed by '{step.operator}'{self.where(step)} does not "
                f"depend on it")

    def _dead_end(self, value: Value) -> str:
        maker = value.maker
        if maker is None:
            return "it is not used"
        return (f"it is not used by the output: nothing uses the result of '{maker.operator}'"
                f"{self.where(maker)}")

    def _block_text(self, step: Step, value: Value) -> str:
        """Why a step that gets a gradient gives a value none."""
        where, name = self.where(step), step.operator
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
        numbers = value.numbers
        names = {name, step.kernel, name.lower()}
        if names & RECTIFIERS and numbers is not None and numbers.high <= 0:
            return (f"of a dead ReLU: all {numbers.count} inputs of '{name}'{where} are 0 or less, "
                    f"so its output is 100 % zeros and no gradient passes")
        if names & STEPPED:
            return f"the derivative of '{name}'{where} is zero everywhere"
        if names & BOUNDED and numbers is not None:
            return (f"all values are outside of the bounds of '{name}'{where}: they lie in "
                    f"[{numbers.low:.4g}, {numbers.high:.4g}]")
        if step.times_zero and names & MULTIPLIED:
            return f"it is multiplied by the number 0 in '{name}'{where}"
        others = [v for v in step.inputs if v is not value and v.numbers is not None
                  and v.numbers.is_zero and v.numbers.count]
        if names & PRODUCTS or others and not names & CHOOSING:
            for other in others:
                return f"in '{name}'{where} it is multiplied by zeros: {self._zeros_text(other)}"
        if names & CHOOSING:
            return f"'{name}'{where} does not choose it: its output depends on other elements only"
        if self._sums(step):
            return self.sum_text(step)
        if names & SATURATING and numbers is not None:
            return (f"'{name}'{where} is saturated: its inputs lie in [{numbers.low:.4g}, "
                    f"{numbers.high:.4g}], where its slope is zero")
        if name == "grad":
            return self._inner_text(step)
        if len(value.uses) > 1 or len(step.inputs) == 1:
            return f"the contributions to it in '{name}'{where} cancel each other out"
        return f"'{name}'{where} passes no gradient on to it"

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
        """The value whose gradient is the first on the way back that is not finite."""
        bad = [v for v in self.recorder.values
               if v.gradient is not None and not v.gradient.is_finite]
        for value in reversed(bad):
            if not any(out in bad for step in value.uses for out in step.outputs):
                return value
        return bad[-1] if bad else None

    def normalized(self, value: Value) -> Step | None:
        """A normalization that takes away what is added to all elements alike, right behind."""
        return self._first(value, lambda step: bool({step.operator, step.kernel} & NORMALIZING), 8)

    def summed(self, value: Value) -> Step | None:
        """A step behind whose sum of outputs never changes, where just that sum is asked for."""
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
        """The nearest step behind a value that is `wanted`, among the first values behind it."""
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


def _flows(value: Value) -> bool:
    """Whether a gradient other than zero arrived at a value."""
    return value.gradient is not None and not value.gradient.is_zero
