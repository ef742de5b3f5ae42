import pytest

import lamella as ms
from lamella.communication import settings


@pytest.fixture(autouse=True)
def fresh():
    yield
    ms.reset_auto_parallel_context()


@pytest.mark.parametrize("key, value", [
    ("device_num", 1), ("global_rank", 0), ("gradients_mean", False), ("parallel_mode",
    "stand_alone"), ("search_mode", "recursive_programming"), ("auto_parallel_search_mode",
    "recursive_programming"), ("dataset_strategy", "data_parallel"), ("pipeline_stages", 1),
    ("pipeline_scheduler", "1f1b"), ("all_reduce_fusion_config", []), ("full_batch_is_set", False),
    ("strategy_ckpt_config", {"load_file": "", "save_file": "", "only_trainable_params": True})])
def test_defaults(key, value):
    assert ms.get_auto_parallel_context(key) == value


def test_settings_are_returned_and_reset():
    ms.set_auto_parallel_context(
        parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, device_num=8,
        global_rank=3, full_batch=True, strategy_ckpt_save_file="x.ckpt",
        auto_parallel_search_mode="sharding_propagation",
        comm_fusion={"allreduce": {"mode": "auto", "config": None}})
    get = ms.get_auto_parallel_context
    assert (get("device_num"), get("global_rank"), get("parallel_mode")) == (8, 3, "data_parallel")
    assert get("dataset_strategy") == "full_batch" and get("full_batch_is_set")
    assert get("strategy_ckpt_config")["save_file"] == "x.ckpt"
    assert get("search_mode") == "sharding_propagation" and get("comm_fusion")["openstate"]
    assert (settings._get_device_num(), settings._get_global_rank()) == (8, 3)
    assert settings._is_sharding_propagation() and settings._get_gradients_mean()
    assert settings.auto_parallel_context().get_device_num_is_set()
    ms.reset_auto_parallel_context()
    assert get("device_num") == 1 and not get("full_batch_is_set")
    assert not settings.auto_parallel_context().get_device_num_is_set()


@pytest.mark.parametrize(("given", "full", "strategy"), [  # as MindSpore 2.10 says
    ({"dataset_strategy": "full_batch"}, True, "full_batch"),
    ({"full_batch": False, "dataset_strategy": "full_batch"}, True, "full_batch"),
    ({"dataset_strategy": "full_batch", "full_batch": False}, False, "data_parallel"),
    ({"full_batch": False, "dataset_strategy": ((2, 1),)}, False, [[2, 1]]),
    ({"dataset_strategy": ((2, 1),), "full_batch": False}, False, [[2, 1]]),
])
def test_the_later_of_two_ways_to_cut_batches_counts(given, full, strategy):
    ms.set_auto_parallel_context(**given)
    assert ms.get_auto_parallel_context("full_batch") is full
    assert ms.get_auto_parallel_context("dataset_strategy") == strategy


def test_the_processes_count_only_in_a_parallel_mode():
    ms.set_auto_parallel_context(device_num=8)
    assert (settings._get_device_num(), settings._get_parallel_mode()) == (1, "stand_alone")
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel")
    assert settings._get_device_num() == 8 and settings._is_in_auto_parallel_mode()
    with pytest.raises(ValueError, match="device_number must be 1"):
        settings._device_number_check("stand_alone", 2)


@pytest.mark.parametrize("given, kind, text", [
    ({"device_num": 0}, ValueError, "positive integer"),
    ({"device_num": "1"}, TypeError, "'device_num' must be <class 'int'>"),
    ({"gradients_mean": 1}, TypeError, "'gradients_mean' must be <class 'bool'>"),
    ({"device_num": True}, TypeError, "'device_num' must be"),
    ({"global_rank": 5000}, ValueError, r"in \[0, 4095\]"),
    ({"parallel_mode": "x"}, ValueError, "only support 'stand_alone'"),
    ({"search_mode": "x"}, ValueError, "only support 'recursive_programming'"),
    ({"dataset_strategy": "x"}, ValueError, "'full_batch' or 'data_parallel'"),
    ({"comm_fusion": {"x": 1}}, KeyError, "must be among"),
    ({"parallel_optimizer_config": {"x": 1}}, ValueError, "must be among"),
    ({"all_reduce_fusion_config": [2, 1]}, ValueError, "must ascend"),
    ({"nope": 1}, ValueError, "keyword nope is not recognized"),
], ids=range(12))
def test_wrong_settings_change_nothing(given, kind, text):
    with pytest.raises(kind, match=text):
        ms.set_auto_parallel_context(gradients_mean=True, **given) if (
            "gradients_mean" not in given) else ms.set_auto_parallel_context(**given)
    assert not ms.get_auto_parallel_context("gradients_mean")


def test_returned_settings_are_copies():
    ms.get_auto_parallel_context("all_reduce_fusion_config").append(1)
    assert ms.get_auto_parallel_context("all_reduce_fusion_config") == []


@pytest.mark.parametrize("key", ["parallel_mode", "search_mode", "communi_parallel_mode",
                                 "pipeline_scheduler", "dataset_strategy"])
def test_each_choice(key):
    known = {"dataset_strategy": ["full_batch", "data_parallel"]}.get(key) or settings._CHOICES[key]
    for value in known:
        ms.set_auto_parallel_context(**{key: value})
        assert ms.get_auto_parallel_context(key) == value
    with pytest.raises(ValueError, match=f"but got the value : {known[0]}_"):
        ms.set_auto_parallel_context(**{key: f"{known[0]}_"})


@pytest.mark.parametrize("key, good, bad", [
    ("global_rank", (0, 4095), (-1, 4096)), ("device_num", (1, 9), (0, -1)),
    ("pipeline_stages", (1, 4), (0,)), ("pipeline_segments", (1, 2), (0,)),
    ("grad_accumulation_step", (1, 2), (0,)),
    ("all_reduce_fusion_config", ([], [3], [1, 2, 5]), ([2, 1], [1, 1]))])
def test_ends_of_ranges(key, good, bad):
    for value in good:
        ms.set_auto_parallel_context(**{key: value})
        assert ms.get_auto_parallel_context(key) == value
    for value in bad:
        with pytest.raises(ValueError, match=f"'{key}'"):
            ms.set_auto_parallel_context(**{key: value})
        assert ms.get_auto_parallel_context(key) == good[-1]


def test_dicts_of_settings_add_to_what_was_set():
    put, get = ms.set_auto_parallel_context, ms.get_auto_parallel_context
    put(parallel_optimizer_config={"parallel_optimizer_threshold": 3})
    put(parallel_optimizer_config={"optimizer_weight_shard_size": 2, "optimizer_level": "level3"})
    assert get("parallel_optimizer_config") == {
        "gradient_accumulation_shard": False, "parallel_optimizer_threshold": 3,
        "optimizer_weight_shard_size": 2, "optimizer_level": "level3"}
    for level in ("level1", "level2"):
        put(parallel_optimizer_config={"optimizer_level": level})
    for wrong, kind in (({"optimizer_level": "level4"}, ValueError), ("level1", TypeError),
                        ({"optimizer_weight_shard_size": 1.5}, TypeError),
                        ({"gradient_accumulation_shard": 1}, TypeError),
                        ({"parallel_optimizer_threshold": True}, TypeError),
                        ({"parallel_optimizer_threshold": -1}, ValueError)):
        with pytest.raises(kind, match="optimizer"):
            put(parallel_optimizer_config=wrong)
    assert get("parallel_optimizer_config")["optimizer_level"] == "level2"
    put(strategy_ckpt_load_file="a", strategy_ckpt_config={"only_trainable_params": False})
    put(strategy_ckpt_save_file="b")
    assert get("strategy_ckpt_config") == {"load_file": "a", "save_file": "b",
                                           "only_trainable_params": False}
    put(pipeline_config={"pipeline_scheduler": "gpipe", "pipeline_interleave": True})
    assert get("pipeline_scheduler") == "gpipe" and get("pipeline_interleave") is True
    with pytest.raises(ValueError, match="keys of 'pipeline_config'"):
        put(pipeline_config={"stages": 2})
    for wrong, kind in (({"pipeline_scheduler": "g-pipe"}, ValueError),
                        ({"pipeline_scheduler": 1}, TypeError),
                        ({"pipeline_interleave": 1}, TypeError)):
        with pytest.raises(kind, match=next(iter(wrong))):
            put(pipeline_config=wrong)
    assert get("pipeline_scheduler") == "gpipe"
    put(parallel_optimizer_config={"parallel_optimizer_threshold": 0})
    put(comm_fusion={"openstate": False})
    assert get("comm_fusion")["allgather"] == {"mode": "auto", "config": None}
    for wrong in (3, {"full_batch"}, None):
        with pytest.raises(TypeError, match="str or tuple type"):
            put(dataset_strategy=wrong)


@pytest.mark.parametrize("mode, data, hybrid, splits", [
    ("stand_alone", False, False, False), ("data_parallel", True, False, False),
    ("hybrid_parallel", False, True, False), ("semi_auto_parallel", False, False, True),
    ("auto_parallel", False, False, True)])
def test_what_a_mode_is(mode, data, hybrid, splits):
    ms.set_auto_parallel_context(parallel_mode=mode, device_num=6, global_rank=5, pipeline_stages=3)
    assert (settings._is_in_data_parallel_mode(), settings._is_in_hybrid_parallel_mode(),
            settings._is_in_auto_parallel_mode()) == (data, hybrid, splits)
    alone = mode == "stand_alone"
    assert settings._is_parallel_mode() is not alone
    assert (settings._get_device_num(), settings._get_global_rank()) == (
        (1, 0) if alone else (6, 5))
    assert settings._get_stage_device_num() == (0 if alone else 2)
    if alone:
        settings._device_number_check(mode, 1)
    else:
        settings._device_number_check(mode, 6)
    assert not settings.shards_optimizer()  # with one process


@pytest.mark.parametrize("stages, size, fits", [
    (1, 1, True), (4, 1, True), (2, 4, True), (4, 4, True), (3, 4, False), (4, 2, False),
    (2, 3, False)])
def test_stages_share_out_the_processes(stages, size, fits):
    ms.set_auto_parallel_context(pipeline_stages=stages)
    if fits:
        settings.check_feasible(size)
    else:
        with pytest.raises(RuntimeError, match=f"multiple of the {stages} 'pip.*got {size} proc"):
            settings.check_feasible(size)


def test_the_settings_as_an_object():
    context = settings.auto_parallel_context()
    context.set_gradients_mean(True)
    context.set_all_reduce_fusion_split_indices([1, 4])
    assert context.get_gradients_mean() is True and context.get_gradients_mean_is_set()
    assert context.get_all_reduce_fusion_split_indices() == [1, 4]
    assert not context.get_device_num_is_set() and settings._is_role_sched() is False
    for name in ("get_nothing", "put_device_num", "device_num"):
        with pytest.raises(AttributeError, match=f"has no '{name}'"):
            getattr(context, name)
    context.reset()
    assert context.get_gradients_mean() is False
    assert not settings._is_sharding_propagation()
    context.set_sharding_propagation(True)
    assert settings._is_sharding_propagation()
