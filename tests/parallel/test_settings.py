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
