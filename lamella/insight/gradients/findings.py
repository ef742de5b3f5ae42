"""`Findings`: all gradients of one run, and the reason for each zero or odd one."""

from __future__ import annotations

import difflib
import math
import statistics
from typing import Any

from ...core.errors import describe
from ...tensors.parameter import Parameter
from .causes import LEAST, Causes
from .naming import Names
from .record import Recorder, Step, Value
from .statistics import Numbers

# A gradient vanishes if its elements are smaller than this share of the largest gradients' (the
# upper tenth of all Parameters), and than a thousandth of the Parameter's own; it explodes if they
# are this many times larger than the Parameter's own, or than the median gradient's and a hundred
# times the Parameters'.
VANISHING = 1e-5
EXPLODING = 1e4
HARMLESS = ("frozen", "not floating")  # marks of what has no gradient by design


class Findings:
    """What became of every gradient of one run, and the sentences that say why.

    Attributes:
        name: of the function or Cell.
        values: the tensors of the run, with their numbers and those of their gradients.
        steps: the operations between them.
    """

    def __init__(self, names: Names, known: dict[str, Value], recorder: Recorder,
                 parameters: list[Parameter]):
        self.name = names.name
        self.names = names
        self.values = recorder.values
        self.steps = recorder.steps
        self.cell_of = {s.number: names.of_cell(s.place.cell) for s in self.steps}
        self._known = known
        self._causes = Causes(recorder, self.cell_of)
        self._called = {path[:i] for path in self.cell_of.values()
                        for i in range(len(path) + 1) if i == len(path) or path[i] == "."}
        self._parameters = {names.of_parameter(p): p for p in parameters}
        self._owners = {name: names.owner(p) for name, p in self._parameters.items()}
        sizes = sorted(v.gradient.mean_size for v in self.parameters.values()
                       if v.gradient is not None and v.gradient.is_finite
                       and not v.gradient.is_zero) or [0.0]
        self._median = statistics.median(sizes)
        self._large = sizes[math.ceil(0.9 * (len(sizes) - 1))]
        self._typical = statistics.median(_own(v) for v in self.parameters.values()) \
            if self.parameters else 0.0

    # -- numbers ---------------------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Value]:
        """The Parameters by name."""
        return {name: v for name, v in self._known.items() if v.kind == "parameter"}

    @property
    def inputs(self) -> dict[str, Value]:
        """The inputs by name."""
        return {name: v for name, v in self._known.items() if v.kind == "input"}

    def find(self, name: str | Parameter) -> tuple[str, Value]:
        """The name and the value of a Parameter or an input.

        Args:
            name: the whole name, or an end of it that only one name has, or the Parameter.

        Raises:
            TypeError: if `name` is something else.
            ValueError: if there is none, or more than one; the nearest names are named.
        """
        if isinstance(name, Parameter):
            name = self.names.of_parameter(name)
        if not isinstance(name, str):
            raise TypeError(f"For a report of gradients, 'name' must be a str or a Parameter, "
                            f"but got {describe(name)}.")
        if name in self._known:
            return name, self._known[name]
        ends = [known for known in self._known if known.endswith(f".{name}")]
        if len(ends) == 1:
            return ends[0], self._known[ends[0]]
        near = ends or difflib.get_close_matches(name, self._known, 3, 0.4) or list(self._known)[:5]
        raise ValueError(f"There is no Parameter or input {name!r} in this report; there are for "
                         f"instance {', '.join(map(repr, near))}.")

    def gradient(self, name: str | Parameter) -> Numbers | None:
        """The numbers of the gradient of a Parameter or an input; None if none was computed."""
        return self.find(name)[1].gradient

    def mark(self, name: str) -> str:
        """In a word, what is odd about a gradient.

        One of ``"frozen"``, ``"not floating"``, ``"unused"``, ``"cut"``, ``"zero"``,
        ``"not finite"``, ``"vanishing"``, ``"exploding"``, or "" for nothing.
        """
        name, value = self.find(name)
        gradient = value.gradient
        if not value.tracked:
            return "frozen" if _is_floating(value) else "not floating"
        if not value.uses and not value.is_output:
            return "unused"
        if gradient is None:
            return "cut"
        if not gradient.is_finite:
            return "not finite"
        if gradient.is_zero:
            return "zero"
        if value.kind != "parameter":
            return ""
        size, own = gradient.mean_size, _own(value)
        if size < VANISHING * self._large and (not own or size < 1e-3 * own):
            return "vanishing"
        if self._is_rounding(value):
            return "vanishing"
        if own and size > EXPLODING * own or (
                size > EXPLODING * self._median and size > 100 * max(own, self._typical)):
            return "exploding"
        return ""

    def owner(self, name: str) -> str:
        """The path of the Cell that a Parameter belongs to; "" if there is none."""
        return self._owners.get(name) or ""

    # -- sentences -------------------------------------------------------------------------------

    def why(self, name: str | Parameter) -> str:
        """Why the gradient of a Parameter or an input is zero, or what else is odd about it.

        Args:
            name: of the Parameter or the input, or an end of it; or the Parameter.

        Returns:
            A sentence, with the file and the line where the gradient ends.

        Raises:
            ValueError: if there is none of this name.
        """
        name, value = self.find(name)
        mark, gradient = self.mark(name), value.gradient
        zero = f"The gradient of '{name}' is zero because "
        if mark == "frozen" and value.kind == "input":
            return (f"{zero}it is given by keyword or is a frozen Parameter: the function is not "
                    f"differentiated by it.")
        if mark == "frozen":
            return (f"{zero}requires_grad=False: the Parameter is frozen, and no gradient is "
                    f"computed for it.")
        if mark == "not floating":
            kind = value.numbers.dtype if value.numbers is not None else "another type"
            return f"{zero}it holds integers or booleans ({kind}), which have no gradient."
        if mark == "unused":
            return zero + self._unused_text(name)
        if mark in ("cut", "zero"):
            causes = self._causes.zero(value)
            return zero + ("; and ".join(causes[:3]) or "all that flows back to it is zero") + "."
        assert gradient is not None
        if mark == "not finite":
            return self._nonfinite_text(name, gradient)
        size = f"norm {gradient.norm:.4g}, {gradient.zeros:.0%} zeros"
        if mark == "vanishing" and self._is_rounding(value):
            step = self._causes.summed(value)
            assert step is not None
            return (f"The gradient of '{name}' is no more than rounding ({size}): "
                    f"{self._causes.sum_text(step)}.")
        if mark == "vanishing":
            step = self._causes.normalized(value)
            about = (f"; '{step.operator}'{self._causes.where(step)} takes away again what is added"
                     f" to all elements alike" if step is not None and
                     gradient.mean_size < LEAST * self._large else "")
            return (f"The gradient of '{name}' vanishes: {size}, where the largest Parameters' are "
                    f"{self._large / max(gradient.mean_size, 1e-300):.3g} times as large{about}.")
        if mark == "exploding":
            return (f"The gradient of '{name}' explodes: {size}, elements of about "
                    f"{gradient.mean_size:.3g} where the median Parameter's are "
                    f"{self._median:.3g}.")
        return f"The gradient of '{name}' is not zero: {size}."

    def _is_rounding(self, value: Value) -> bool:
        """Whether a small gradient is what rounding leaves of zero."""
        gradient = value.gradient
        return (gradient is not None and gradient.mean_size < LEAST * (_own(value) or 1.0)
                and self._causes.summed(value) is not None)

    def _unused_text(self, name: str) -> str:
        owner = self._owners.get(name)
        if owner and owner not in self._called:
            kind = self.names.kind_of(owner)
            return (f"it is not used by the output: its Cell '{owner}' ({kind}) is never called "
                    f"by '{self.name}'.")
        return f"it is not used by the output: '{self.name}' never reads it."

    def _nonfinite_text(self, name: str, gradient: Numbers) -> str:
        counts = f"{gradient.nans} NaN and {gradient.infs} infinite elements"
        for step in self.steps:
            bad = any(v.numbers is not None and not v.numbers.is_finite for v in step.outputs)
            fine = all(v.numbers is None or v.numbers.is_finite for v in step.inputs)
            if bad and fine and any(v.tracked for v in step.outputs):
                return (f"The gradient of '{name}' has {counts}: already in the forward pass, the "
                        f"result of '{step.operator}'{self._causes.where(step)} is not finite.")
        first = self._causes.nonfinite()
        step = next((s for s in first.uses if s.outputs), None) if first is not None else None
        at = (f": they arise in the backward pass through '{step.operator}'"
              f"{self._causes.where(step)}" if step is not None else "")
        return f"The gradient of '{name}' has {counts}{at}."

    # -- cuts and rules --------------------------------------------------------------------------

    @property
    def cuts(self) -> list[Step]:
        """The steps where a gradient is cut."""
        return [step for step in self.steps if step.cut]

    def cut_text(self, step: Step) -> str:
        """A sentence about a cut."""
        return self._causes.cut_text(step)

    def rules(self) -> list[tuple[str, Any]]:
        """The rules of the user's on gradients, each with the id of where it stands."""
        found = [(step.id, rule) for step in self.steps for rule in step.rules]
        return found + [(v.id, r) for v in self._known.values() for r in v.rules]


def _own(value: Value) -> float:
    return value.numbers.mean_size if value.numbers is not None else 0.0


def _is_floating(value: Value) -> bool:
    return value.numbers is not None and value.numbers.dtype.startswith(
        ("float", "bfloat", "complex"))
