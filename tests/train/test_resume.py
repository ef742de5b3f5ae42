"""Runs that resume: killed at any moment, on a full disk, interrupted, with damaged files."""

import json
import os
import random
import signal
import textwrap

import numpy as np
import pytest

import lamella as ms
from lamella import dataset, nn
from lamella.train import LambdaCallback, LearningRateScheduler, Model, RunCheckpoint, resume
from lamella.train.resume import load_run, save_run

from ..zygote import Started
from ..zygote import run as python

PROGRAM = textwrap.dedent("""
    import signal, sys, time
    import numpy as np
    import lamella as ms
    from lamella import dataset, nn
    from lamella.train import EarlyStopping, LambdaCallback, Model, RunCheckpoint

    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be inherited as ignored
    folder, mode, workers = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if mode == "eager":
        ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_seed(3)
    dataset.config.set_seed(3)

    def noisy(row):
        return (row + np.random.normal(size=row.shape) * 0.1).astype(np.float32)

    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 6)).astype(np.float32)
    y = (x[:, :2] ** 2).astype(np.float32)
    data = dataset.NumpySlicesDataset((x, y), ["x", "y"], shuffle=True)
    data = data.map(noisy, "x", num_parallel_workers=workers,
                    python_multiprocessing=workers > 1).batch(8)
    net = nn.SequentialCell(nn.Dense(6, 32), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(32, 2))
    rates = nn.cosine_decay_lr(0.001, 0.01, 30, 5, 6)
    model = Model(net, nn.MSELoss(), nn.AdamWeightDecay(net.trainable_params(), rates),
                  metrics={"mae"})

    def say(run):
        params = run.original_args()
        print(params.cur_step_num, float(params.net_outputs).hex(), flush=True)
        time.sleep(0.02)

    model.fit(6, data, data.take(2), callbacks=[
        RunCheckpoint(folder, 3), EarlyStopping("mae", patience=9),
        LambdaCallback(on_train_step_end=say)])
    print("done")
""")


def started(folder, mode, workers):
    return Started("-c", PROGRAM, folder, mode, workers)


def finished(folder, mode, workers):
    process = started(folder, mode, workers)
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    *steps, end = out.splitlines()
    assert end == "done"
    return dict(line.split() for line in steps)


def is_running(group):
    """Whether a process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("mode", "workers", "signals"), [
    ("eager", 1, [signal.SIGKILL]),
    ("compiled", 2, [signal.SIGINT, signal.SIGKILL]),  # as Ctrl-C does, to all processes
], ids=["eager", "compiled, processes"])
def test_a_run_that_is_stopped_goes_on_bit_for_bit(mode, workers, signals, tmp_path):
    whole = finished(tmp_path / "whole", mode, workers)
    assert len(whole) == 30
    chance = random.Random(7)
    seen = {}
    for number in signals:
        process = started(tmp_path / "killed", mode, workers)
        for _ in range(chance.randint(4, 12)):
            line = process.stdout.readline()
            if line:
                step, loss = line.split()
                seen.setdefault(step, loss)
        os.killpg(process.pid, number)
        told = process.communicate(timeout=300)[1]
        assert process.returncode != 0
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in told and not is_running(process.pid)
    rest = finished(tmp_path / "killed", mode, workers)
    assert len(rest) < 30 and "30" in rest
    assert {**seen, **rest} == whole
    assert all(rest[step] == loss for step, loss in seen.items() if step in rest)


def data(size=2):
    x = np.arange(24, dtype=np.float32).reshape(12, 2) / 10
    return dataset.NumpySlicesDataset((x, x[:, :1]), shuffle=True).batch(size)


def model(manager=None):
    ms.set_seed(5)
    net = nn.SequentialCell(nn.Dense(2, 4), nn.Dropout(p=0.5), nn.Dense(4, 1))
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    return Model(net, nn.MSELoss(), optimizer, loss_scale_manager=manager)


def losses(folder, epochs, stop=None, sink=None, manager=None):
    kept = []

    def keep(run):
        params = run.original_args()
        out = params.net_outputs
        kept.append((params.cur_epoch_num, params.cur_step_num,
                     float(out[0] if isinstance(out, tuple) else out)))
        if params.cur_step_num == stop:
            raise KeyboardInterrupt

    dataset.config.set_seed(1)
    callbacks = [RunCheckpoint(str(folder), 2), LambdaCallback(on_train_step_end=keep),
                 LearningRateScheduler(lambda rate, step: rate * 0.9)]
    options = {} if sink is None else {"dataset_sink_mode": True, "sink_size": sink}
    try:
        model(manager).train(epochs, data(), callbacks, **options)
    except KeyboardInterrupt:
        pass
    return kept


@pytest.mark.parametrize("stop", [1, 5, 6, 7, 12])
@pytest.mark.parametrize("sink", [None, 4])
def test_an_interrupted_run_goes_on_from_its_last_file(stop, sink, tmp_path):
    epochs = 3 if sink is None else 4
    whole = losses(tmp_path / "a", epochs, sink=sink)
    first = losses(tmp_path / "b", epochs, stop, sink)
    assert len(first) == stop
    rest = losses(tmp_path / "b", epochs, sink=sink)
    assert rest == whole[(stop - 1) // 2 * 2:]


def test_loss_scales_and_more_epochs(tmp_path):
    def manager():
        return ms.train.DynamicLossScaleManager(64, 2, 3)

    whole = losses(tmp_path / "a", 3, manager=manager())
    losses(tmp_path / "b", 2, manager=manager())
    later = manager()
    rest = losses(tmp_path / "b", 3, manager=later)
    assert rest == whole[12:] and later.get_loss_scale() == 64 * 2 ** 6


def test_a_damaged_file_is_passed_over(tmp_path, capfd):
    whole = losses(tmp_path, 1)
    names = sorted(os.listdir(tmp_path))
    assert names == ["run-4.ckpt", "run-6.ckpt"]
    content = bytearray((tmp_path / "run-6.ckpt").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "run-6.ckpt").write_bytes(content)
    assert losses(tmp_path, 1) == whole[4:]
    assert "run-6.ckpt' is passed over" in capfd.readouterr().err
    (tmp_path / "run-6.ckpt").write_bytes(content[:100])
    (tmp_path / "run-4.ckpt").write_bytes(b"")
    assert losses(tmp_path, 1) == whole


def test_a_full_disk_leaves_the_last_good_file(tmp_path):
    program = textwrap.dedent("""
        import resource, signal, sys
        import lamella as ms
        from lamella.train.resume import save_run

        net = ms.nn.Dense(300, 300, weight_init="ones")
        save_run("run-1.ckpt", net, step=1)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))  # bytes a file may have
        try:
            save_run("run-1.ckpt", ms.nn.Dense(300, 300, weight_init="zeros"), step=2)
        except OSError as error:
            print("refused:", error.strerror)
    """)
    done = python("-c", program, cwd=tmp_path)
    assert done.stdout == (f"refused: The file '{os.path.realpath(tmp_path)}/run-1.ckpt' can't be "
                           "written, and is as it was: File too large.\n"), done.stderr
    assert os.listdir(tmp_path) == ["run-1.ckpt"]
    net = nn.Dense(300, 300, weight_init="zeros")
    assert load_run(str(tmp_path / "run-1.ckpt"), net) == {"step": 1}
    assert float(net.weight.sum()) == 300 * 300


def test_state_of_any_shape_comes_back(tmp_path):
    path, net = str(tmp_path / "run.ckpt"), nn.Dense(1, 1)
    more = {"a": [1, 2.5, None, "text", True], "b": (np.arange(6).reshape(2, 3), b"bytes"),
            "c": {3: {"deep": float("inf")}, "x": np.float32(2)}, "array": np.zeros(0)}
    save_run(path, net, **more)
    found = load_run(path, net)
    assert found["a"] == more["a"] and found["c"][3] == {"deep": float("inf")}
    np.testing.assert_array_equal(found["b"][0], more["b"][0])
    assert found["b"][1] == b"bytes" and found["c"]["x"] == 2 and found["array"].shape == (0,)
    save_run(path, net, kept=[ms.Tensor([1.5, 2.0], ms.bfloat16), {"a": ms.Tensor(3)}], step=1)
    first, second = (found := load_run(path, net))["kept"]
    assert (first.dtype, first.tolist()) == (ms.bfloat16, [1.5, 2.0]) and found["step"] == 1
    assert (second["a"].dtype, int(second["a"])) == (ms.int64, 3)
    with pytest.raises(TypeError, match="must be made of numbers, texts, arrays"):
        save_run(path, net, model=object())
    with pytest.raises(RuntimeError, match="of another network"):
        load_run(path, nn.Dense(1, 1, has_bias=False))
    ms.save_checkpoint(net, path)
    with pytest.raises(ValueError, match="is a checkpoint, but 'save_run' did not"):
        load_run(path, net)
    with pytest.raises(ValueError, match="there is no file"):
        load_run(str(tmp_path / "none.ckpt"), net)


def test_streams_of_operators_with_seeds_go_on(tmp_path):
    net, path = nn.Dense(1, 1), str(tmp_path / "run.ckpt")
    ms.set_seed(1)
    draw = ms.ops.StandardNormal(seed=4)
    ms.ops.uniform((2,), ms.Tensor(0.0), ms.Tensor(1.0), seed=9)
    draw((2,))
    save_run(path, net)
    want = [ms.ops.uniform((2,), ms.Tensor(0.0), ms.Tensor(1.0), seed=9).asnumpy(),
            draw((2,)).asnumpy(), np.random.rand(2), [random.random()], ms.ops.rand(2).asnumpy()]
    load_run(path, net)
    got = [ms.ops.uniform((2,), ms.Tensor(0.0), ms.Tensor(1.0), seed=9).asnumpy(),
           draw((2,)).asnumpy(), np.random.rand(2), [random.random()], ms.ops.rand(2).asnumpy()]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_rows_that_are_made_again_draw_the_numbers_they_had(tmp_path):
    """A generator and a function draw in turns; the random state is put back before the rows."""
    def drawn():
        for number in range(12):
            yield (np.float32(number + random.random() + np.random.rand()),)

    def begun():
        made = dataset.GeneratorDataset(drawn, ["x"], shuffle=False).shuffle(5)
        made = made.map(lambda x: x + np.float32(random.random())).batch(2)
        return made.create_tuple_iterator(output_numpy=True)

    path = str(tmp_path / "run.ckpt")
    dataset.config.set_seed(3)
    net, rows = nn.Dense(1, 1), begun()
    next(rows)
    save_run(path, net, rows)
    wanted = [next(rows)[0] for _ in range(4)]
    random.seed(9)
    np.random.seed(9)
    again = begun()
    load_run(path, net, again)
    np.testing.assert_array_equal([next(again)[0] for _ in range(4)], wanted)


@pytest.mark.parametrize("value", [
    None, True, 3, 2.5, "text", b"\x00\xff", bytearray(b"ab"), [], [1, [2, (3,)]], (), (1, ("a",)),
    {}, {"a": {1: (2.5, None)}, (1, 2): [b"x"]}, np.float32(1.5), np.int64(-7), np.bool_(True),
    np.arange(6, dtype=np.int16).reshape(2, 3), np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.zeros((0, 2), np.uint8), np.array(3 + 4j), np.array(["a", "bc"]), float("inf"),
    np.arange(10)[::3]])
def test_states_are_what_they_were(value):
    def same(one, other):
        if isinstance(other, (list, tuple)):
            return type(one) is type(other) and len(one) == len(other) and all(
                map(same, one, other))
        if isinstance(other, dict):
            return list(one) == list(other) and all(same(one[key], other[key]) for key in other)
        if isinstance(other, (np.ndarray, np.generic)):
            return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()
        return one == other

    text = json.dumps(resume._packed(value))
    found = resume._unpacked(json.loads(text))
    assert same(found, value)
    if isinstance(found, np.ndarray):
        assert found.flags.writeable and found.flags.c_contiguous


@pytest.mark.parametrize("value", [object(), {1, 2}, [len], np.array([None]), 1j])
def test_states_that_have_no_place(value):
    with pytest.raises(TypeError, match="the state must be made of numbers, texts, arrays"):
        resume._packed(value)


def test_files_of_runs_by_their_steps(tmp_path):
    for name in ("run-2.ckpt", "run-10.ckpt", "run-9.ckpt", "run-x.ckpt", "run-1.ckpt.tmp",
                 "a-run-1.ckpt", "run-1.txt"):
        (tmp_path / name).touch()
    assert resume.run_files(str(tmp_path)) == [
        (number, str(tmp_path / f"run-{number}.ckpt")) for number in (2, 9, 10)]


@pytest.mark.parametrize("names, found, words", [
    ({"a"}, {"a", "b"}, r"\['b'\]"), ({"a", "b"}, {"a"}, r"\['b'\]"),
    ({"a"}, {"b"}, r"\['a', 'b'\]"),
    ({str(n) for n in range(9)}, set(), r"\['0', '1', '2', '3', '4', '5'\]")])
def test_networks_that_differ(names, found, words):
    with pytest.raises(RuntimeError, match=f"'p' is of another network: {words}"):
        resume.check_names("load_run", "p", names, found)
    resume.check_names("load_run", "p", names, set(names))
