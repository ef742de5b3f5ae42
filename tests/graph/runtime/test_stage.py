"""Which backend a stage takes next, by its heat, what is compiled, and what is known of it."""

import pytest
import torch

from lamella.graph.ir.stages import Part
from lamella.graph.runtime import stage as stages
from lamella.graph.runtime.autotuner import Autotuner
from lamella.graph.runtime.stage import MORE_MEMORY, Heat, Stage, is_forced
from tests.graph.passes.checks import recorded

X = torch.rand(4, 3, generator=torch.Generator().manual_seed(0)) + 1
COLD, WARM, HOT = Heat


class Code:
    """Stands for what a compiler makes: it is requested, ends when a test says so, and is kept."""

    def __init__(self, name, run, finished=False):
        self.name, self.run, self.finished = name, run, finished
        self.requested = finished
        self.is_possible, self.memory, self.key = True, 0, name
        self.backends = (name, f"{name}, captured", "replay") if name == "inductor" else (name,)
        self.asked, self.kept, self.known = [], [], None

    def request(self, *given):
        self.requested = True
        self.asked.append(given)

    def load(self):
        return self.run if self.finished else None

    def make_now(self, *given):
        self.finished = self.run is not None

    def remembered(self):
        return self.known

    def remember(self, name):
        self.kept.append(name)

    def forget(self):
        self.kept.append(None)


def function(x):
    return [torch.tanh(x * 2 + 1) * x, (x * 3).sum(1)]


def right(values):
    return function(values[0])


@pytest.fixture(autouse=True)
def any_engine(monkeypatch):
    monkeypatch.setattr(stages, "ENGINE", "")
    monkeypatch.setattr(stages, "dense_share", lambda part, values: 0.75)  # the most


def made(fn=function, xla=right, inductor=right, finished=(), **settings):
    """A stage of a function, and the code of two compilers, which are given."""
    stage = Stage(Part.whole(recorded(fn, X)), [0], [False], True)
    stage.xla = Code("xla", xla, "xla" in finished)
    stage.native = Code("inductor", inductor, "inductor" in finished)
    for name, value in settings.items():
        setattr(stage.xla if hasattr(stage.xla, name) else stage, name, value)
    return stage


def candidates(stage):
    return list(stage.run.candidates) if stage.is_timed else None


BOTH = ("xla", "inductor")


@pytest.mark.parametrize("settings, heat, wanted", [
    # wanted: what is requested, what runs the stage, and what takes turns
    ({}, COLD, ([], "replay", None)), ({}, WARM, (["xla"], "replay", None)),
    ({}, HOT, (["xla"], "replay", None)),
    ({"requested": True}, WARM, ([], "replay", None)),
    ({"requested": True}, HOT, ([], "replay", None)),  # Inductor waits for XLA
    ({"finished": BOTH}, COLD, ([], "replay", None)),
    ({"finished": BOTH}, WARM, ([], "replay", ["replay", "xla"])),
    ({"finished": BOTH}, HOT, ([], "replay", ["replay", "xla"])),
    ({"finished": BOTH, "_known": "xla"}, COLD, ([], "xla", None)),
    ({"finished": BOTH, "_known": "xla"}, WARM, ([], "xla", None)),
    ({"finished": BOTH, "_known": "xla"}, HOT, ([], "replay", ["replay", "xla"])),
    ({"_known": "xla"}, COLD, ([], "replay", None)),
    ({"is_possible": False}, WARM, ([], "replay", None)),
    ({"is_possible": False}, HOT, (["inductor"], "replay", None)),
    ({"is_possible": False, "finished": BOTH}, WARM, ([], "replay", None)),
    ({"is_possible": False, "finished": BOTH}, HOT, ([], "replay", ["replay", "inductor"])),
    ({"_compared": {"xla"}, "finished": ["xla"]}, HOT, (["inductor"], "replay", None)),
    ({"_compared": {"xla"}, "finished": BOTH}, WARM, ([], "replay", None)),
    ({"_compared": {"xla"}, "finished": BOTH}, HOT, ([], "replay", ["replay", "inductor"])),
    ({"finished": BOTH, "memory": 2**27}, WARM, ([], "replay", ["replay", "xla"])),
    ({"finished": BOTH, "memory": 2**27 + 2**10}, WARM, ([], "replay", None))])
def test_the_next_step(settings, heat, wanted):
    stage = made(**settings)
    stage.settle([X], heat)
    requested = [code.name for code in (stage.xla, stage.native) if code.asked]
    assert (requested, stage.backend, candidates(stage)) == wanted
    assert not stage.settled and not stage.xla.kept
    if stage.backend == "xla":
        assert stage.run is right


def test_inductor_alone(monkeypatch):
    monkeypatch.setattr(stages, "ENGINE", "inductor")
    stage = made(finished=["xla"], _known="xla")
    stage.settle([X], WARM)
    assert not stage.native.asked and stage.backend == "replay" and not stage.is_timed
    stage.settle([X], HOT)
    assert stage.native.asked == [()] and not stage.is_timed
    stage.native.finished = True
    stage.settle([X], HOT)
    assert candidates(stage) == ["replay", "inductor"]


def test_code_that_takes_much_more_memory_is_not_even_timed():
    stage = made(finished=["xla"])
    first = next(n for n in range(9 * X.nbytes) if stage._takes_more_memory(n + MORE_MEMORY))
    assert first == 2 * X.nbytes + 16 + 1  # a replay takes its results, and one value more
    assert not stage._takes_more_memory(MORE_MEMORY)
    stage.xla.memory = first + MORE_MEMORY
    for _ in range(2):
        stage.settle([X], WARM)
    assert not stage.is_timed and not stage.native.asked
    stage.settle([X], HOT)
    assert stage.native.asked


@pytest.mark.parametrize("prompt", [True, False])
def test_what_a_request_is_given(prompt):
    stage = made()
    stage.settle([X], WARM, None, prompt)
    assert stage.xla.asked == [([X], prompt)]
    assert stage.waits and not stage.is_timed
    stage.xla.finished = True
    assert not stage.waits
    stage.native.requested = True
    assert stage.waits
    stage.settle([X], WARM)
    assert stage.is_timed and not stage.waits


@pytest.mark.parametrize("heat, xla", [(WARM, True), (HOT, False)])
def test_a_dense_stage_is_left_to_its_kernels(monkeypatch, heat, xla):
    monkeypatch.setattr(stages, "dense_share", lambda part, values: 0.76)
    stage = made(is_possible=xla)
    stage.settle([X], heat)
    assert stage.settled and stage.backend == "replay" and stage.run is stage.replay
    assert stage.xla.kept == stage.native.kept == ["replay"]
    assert not stage.xla.asked and not stage.native.asked
    stage.xla.finished = True
    stage.settle([X], HOT)
    assert not stage.is_timed


WRONG = {
    "another number": lambda values: [function(values[0])[0] + 1e-2, function(values[0])[1]],
    "other strides": lambda values: [function(values[0])[0].t().contiguous().t(),
                                     function(values[0])[1]],
    "one result": lambda values: function(values[0])[:1],
    "an error": lambda values: torch.ones(2) @ torch.ones(3),
    "another type": lambda values: [r.double() for r in function(values[0])]}


@pytest.mark.parametrize("engine", ["xla", "inductor"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_code_is_never_timed(engine, name):
    stage = made(**{engine: WRONG[name]}, finished=BOTH, is_possible=engine == "xla")
    stage.settle([X], HOT)
    assert not stage.is_timed and stage.backend == "replay" and stage.run is stage.replay
    assert stage.settled is (engine == "inductor") and not stage.is_far_ahead
    assert stage.xla.kept == stage.native.kept == ["replay"]


def test_rounding_is_no_difference():
    stage = made(xla=lambda values: [r * (1 + 1e-6) for r in function(values[0])], finished=["xla"])
    stage.settle([X], WARM, right([X]))
    assert candidates(stage) == ["replay", "xla"]


def test_results_that_are_given_are_compared_only_if_the_replay_made_them():
    other = [torch.full((4, 3), torch.inf), torch.zeros(4)]
    stage = made(finished=["xla"])
    stage.settle([X], WARM, other)
    assert not stage.is_timed
    stage = made(finished=["xla"])
    stage.run = right
    stage.settle([X], WARM, other)
    assert stage.is_timed


def drawing(x):
    return [torch.rand_like(x) * 2 + x, x * 3]


def test_code_draws_the_numbers_that_a_replay_draws():
    for draw, agrees in ((drawing, True), (lambda x: [torch.randn_like(x), x * 3], False)):
        stage = made(drawing, lambda values, draw=draw: draw(values[0]), finished=["xla"])
        before = torch.get_rng_state()
        stage.settle([X], WARM)
        assert stage.is_timed is agrees and torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("fastest, shares, sure, ahead", [
    ("xla", {"replay": 1.0, "xla": 0.49}, True, True), ("xla", {"replay": 1.0, "xla": 0.5}, True,
                                                       False),
    ("xla", {"replay": 0.9, "xla": 0.449}, False, True), ("replay", {}, True, False),
    ("replay", {"replay": 1.0, "xla": 0.3}, True, False), ("xla", {}, True, False),
    ("xla", {"replay": 2.0, "xla": 0.9}, True, True), ("xla", {"xla": 0.49}, True, True),
    ("xla", {"replay": 0.5, "xla": 0.3}, True, False), ("xla", {"replay": 2.5}, True, True),
    ("xla", {"replay": 1.5}, True, False), ("xla", {"xla": 0.5}, True, False),
    ("inductor", {"replay": 1.0, "inductor": 0.1}, True, False)])
@pytest.mark.parametrize("compared", [{"xla"}, {"xla", "inductor"}])
def test_the_fastest_one_is_kept(fastest, shares, sure, ahead, compared):
    stage = made(_compared=compared, _known="xla")
    before = stage.replay
    stage._finish(fastest, right, shares, sure)
    assert stage.run is (before if fastest == "replay" else right) and stage.backend == fastest
    assert stage.is_far_ahead is ahead and stage._known is None
    assert stage.settled is (ahead or "inductor" in compared)
    assert stage.xla.kept == stage.native.kept == [fastest if sure else None]


def test_the_first_that_runs_stays_unless_another_is_clearly_faster():
    stage = made(_compared={"xla"}, finished=BOTH)
    stage.run, stage.backend = right, "xla"
    stage.settle([X], HOT)
    assert candidates(stage) == ["xla", "replay", "inductor"]
    assert stage.run.candidates["xla"] is right
    stage.settle([X], HOT)  # does nothing while they take turns
    assert isinstance(stage.run, Autotuner) and stage._compared == {"xla", "inductor"}


@pytest.mark.parametrize("backend, timed, goes_on", [
    ("replay", False, True), ("xla", False, True), ("inductor", False, False),
    ("xla", True, False)])
def test_a_stage_with_the_same_operations_goes_on_where_the_one_before_was(backend, timed, goes_on):
    before, stage = made(finished=BOTH), made()
    before.run = Autotuner({"a": right, "b": right}, print) if timed else right
    before.backend = backend
    before._compared, before._known, before._is_dense = {"xla"}, "xla", False
    own = stage.replay
    assert stage._takes_over([before, made()])
    assert stage.xla is before.xla and stage.native is before.native
    assert stage.xla.part is stage.native.part is stage.part
    assert (stage._known, stage._is_dense) == ("xla", False)
    assert stage._compared == ({"xla"} if goes_on else set())
    assert stage.backend == (backend if goes_on else "replay")
    assert stage.run is (right if goes_on and backend == "xla" else own)


@pytest.mark.parametrize("key, its", [("other", "xla"), (None, None), ("xla", None)])
def test_a_stage_of_other_operations_begins_anew(key, its):
    before, stage, unused = made(_known="xla"), made(), made()
    before.xla.key, stage.xla.key, unused.xla = key, its, None
    code = stage.xla
    assert not stage._takes_over([unused, before])
    assert stage.xla is code and stage._known is None


@pytest.mark.parametrize("engine, settled", [
    ("", [False, True, True, True]), ("replay", [True] * 4), ("xla", [False, True, True, False]),
    ("inductor-forced", [False, True, True, False]), ("inductor", [False, True, True, True])])
def test_which_stages_are_ever_compiled(monkeypatch, engine, settled):
    monkeypatch.setattr(stages, "ENGINE", engine)
    assert is_forced() == (engine in ("xla", "inductor-forced"))
    found = [Stage(Part.whole(recorded(fn, X)), [0], [False], compile).settled
             for fn, compile in ((function, True), (lambda x: [x.add_(1), *function(x)], True),
                                 (function, False), (lambda x: x * 2, True))]
    assert found == settled


def test_the_executor_in_cpp_takes_the_place_of_pythons(executor):
    stage = made(finished=["xla"])
    before = stage.replay
    stage.run, stage.backend = before, "replay"
    stage.lower()
    assert stage.run is stage.replay and (stage.replay is before) == (executor == "C++")
    stage.run, stage.backend = print, "xla"
    stage.lower()
    assert stage.run is right
    stage.xla.finished = False
    stage.run = print
    stage.lower()
    assert stage.run is print
    stage.run = tuner = Autotuner({"a": right}, print)
    stage.xla.finished = True
    stage.lower()
    assert stage.run is tuner


@pytest.mark.parametrize("of_xla, of_inductor, engine, finished, wanted", [
    # what earlier processes found; what runs the stage then, what is loaded, and what is known
    (None, None, "", BOTH, ("replay", 0, None)), ("xla", None, "", (), ("replay", 1, "xla")),
    ("xla", "inductor", "", BOTH, ("replay", 1, "xla")),
    ("xla", None, "inductor", BOTH, ("replay", 0, "xla")),
    (None, "inductor", "", BOTH, ("inductor", 0, "inductor")),
    (None, "inductor", "", (), ("replay", 0, None)),
    (None, "replay", "", (), ("replay", 0, "replay")),
    (None, "inductor, captured", "", BOTH, ("replay", 0, None))])
def test_what_an_earlier_process_found(monkeypatch, of_xla, of_inductor, engine, finished, wanted):
    xla, native = Code("xla", right, "xla" in finished), Code("inductor", right, finished == BOTH)
    xla.known, native.known = of_xla, of_inductor
    monkeypatch.setattr(stages, "ENGINE", engine)
    monkeypatch.setattr(stages, "Xla", lambda part, name, replay, constants: xla)
    monkeypatch.setattr(stages, "Native", lambda part, values: native)
    stage = Stage(Part.whole(recorded(function, X)), [0], [False], True)
    stage.settle([X], COLD)
    backend, loaded, known = wanted
    if known == "xla" and finished == BOTH and engine == "":
        backend = "xla"  # it is there at once
    assert (stage.backend, len(xla.asked), stage._known) == (backend, loaded, known)
    assert stage.run is (stage.replay if backend == "replay" else right)


@pytest.mark.parametrize("engine, name", [("xla", "xla"), ("inductor-forced", "inductor")])
@pytest.mark.parametrize("run, there", [(right, True), (None, False)])
def test_one_compiler_runs_all_that_it_can_run(monkeypatch, engine, name, run, there):
    stage = made(xla=run, inductor=run)
    monkeypatch.setattr(stages, "ENGINE", engine)
    stage.settle([X], COLD)
    assert stage.settled and stage.backend == (name if there else "replay")
    assert stage.run is (right if there else stage.replay)
    assert (stage.xla.finished, stage.native.finished) == (
        there and name == "xla", there and name == "inductor")
    wrong = made(xla=WRONG["another number"], inductor=WRONG["another number"])
    with pytest.raises(AssertionError, match=f"^{name} computes something else"):
        wrong.settle([X], COLD)


class Capture:
    """Stands for a captured graph, on a device that has them."""

    def __init__(self, run, values, stays, streams):
        self.run, self.old, self.stays = run, run(values), stays

    def __call__(self, values):
        return self.run(values)


class OldResults(Capture):
    def __call__(self, values):
        return self.old


class Impossible(Capture):
    def __init__(self, *given):
        raise RuntimeError("a kernel can't be captured")


@pytest.mark.parametrize("capture, ways", [
    (Capture, ["replay", "replay, captured"]), (OldResults, None), (Impossible, None)])
def test_the_replay_is_captured_first(monkeypatch, capture, ways):
    monkeypatch.setattr(stages, "captures", lambda values: True)
    monkeypatch.setattr(stages, "Captured", capture)
    stage = made(finished=BOTH)
    stage.settle([X], COLD)
    assert not stage.is_timed and not stage._compared
    stage.settle([X], WARM)
    assert candidates(stage) == ways and stage._compared == {"replay"} and not stage.settled
    if ways is not None:
        assert stage.run.candidates["replay, captured"].stays == [False]
    stage.run = stage.replay
    stage.settle([X], WARM)
    assert stage._compared == {"replay", "xla"}
    assert candidates(stage) == ["replay", "xla", *(
        ["replay, captured", "xla, captured"] if capture is Capture else [])]
    known = made(finished=BOTH, _known="xla")
    known.settle([X], WARM)
    assert known.backend == "xla" and not known._compared
