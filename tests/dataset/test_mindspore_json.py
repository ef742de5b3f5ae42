"""Arguments as MindSpore 2.10 writes them: members by number, lists for numbers, 0 for None."""

import numpy as np
import pytest

import lamella as ms
import lamella.dataset as ds
from lamella.dataset import audio, text, transforms, vision
from lamella.dataset.described import arguments_of as made_with
from lamella.dataset.mindspore_json import arguments_of


def operation(name, parameters, module=""):
    about = {"tensor_op_name": name, "tensor_op_params": parameters}
    if module:
        about["python_module"] = f"mindspore.dataset.{module}.transforms"
    made, = arguments_of({"op_type": "Map", "operations": [about]})["operations"]
    return made


# members in the order of MindSpore's numbers, and what an operation needs besides
INTER = (vision.Inter, "LINEAR NEAREST CUBIC AREA PILCUBIC")
BORDER = "CONSTANT EDGE REFLECT SYMMETRIC"
ENUMERATIONS = [
    ("Resize", "interpolation", *INTER, {"size": [3, 4]}),
    ("RandomRotation", "resample", vision.Inter, "LINEAR NEAREST CUBIC AREA", {"degrees": [1, 2]}),
    ("Pad", "padding_mode", vision.Border, BORDER, {"padding": [1, 2, 3, 4]}),
    ("AutoAugment", "policy", vision.AutoAugmentPolicy, "IMAGENET CIFAR10 SVHN", {}),
    ("CutMixBatch", "image_batch_format", vision.ImageBatchFormat, "NHWC NCHW", {}),
    ("SlicePatches", "slice_mode", vision.SliceMode, "PAD DROP", {}),
    ("Mask", "operator", transforms.Relational, "EQ NE LT LE GT GE", {"constant": 1}),
    ("NormalizeUTF8", "normalize_form", text.NormalizeForm, "NONE NFC NFKC NFD NFKD", {}),
    ("AmplitudeToDB", "stype", audio.ScaleType, "MAGNITUDE POWER", {}),
    ("Dither", "density_function", audio.DensityFunction, "TPDF RPDF GPDF", {}),
    ("Fade", "fade_shape", audio.FadeShape,
     "LINEAR EXPONENTIAL LOGARITHMIC QUARTER_SINE HALF_SINE", {}),
    ("Flanger", "modulation", audio.Modulation, "SINUSOIDAL TRIANGULAR", {"sample_rate": 16000}),
    ("Flanger", "interpolation", audio.Interpolation, "LINEAR QUADRATIC", {"sample_rate": 16000}),
    ("Vol", "gain_type", audio.GainType, "AMPLITUDE POWER DB", {"gain": 0.5}),
    ("Spectrogram", "window", audio.WindowType, "BARTLETT BLACKMAN HAMMING HANN KAISER", {}),
    ("Spectrogram", "pad_mode", audio.BorderType, BORDER, {}),
    ("MelScale", "mel_type", audio.MelType, "HTK SLANEY", {"n_stft": 201}),
    ("MelScale", "norm", audio.NormType, "NONE SLANEY", {"n_stft": 201}),
    ("InverseMelScale", "norm", audio.NormType, "NONE SLANEY", {"n_stft": 9, "n_mels": 4}),
    ("MelSpectrogram", "mel_scale", audio.MelType, "HTK SLANEY", {}),
    ("Resample", "resample_method", audio.ResampleMethod,
     "SINC_INTERPOLATION KAISER_WINDOW", {}),
]


@pytest.mark.parametrize("name, argument, kind, members, others", ENUMERATIONS,
                         ids=[f"{e[0]}-{e[1]}" for e in ENUMERATIONS])
def test_members_by_their_numbers(name, argument, kind, members, others):
    members = members.split()
    for number, member in enumerate(members):
        made = operation(name, {argument: number, **others})
        assert made_with(made)[1][argument] is kind[member]
    for number in (-1, 99):
        with pytest.raises(ValueError, match=f"'{argument}' has no member {number}"):
            operation(name, {argument: number, **others})


def test_the_number_behind_the_last_is_no_member():
    with pytest.raises(ValueError, match="'operator' has no member 6"):
        operation("Mask", {"operator": 6, "constant": 1})
    with pytest.raises(ValueError, match="'normalize_form' has no member 5"):
        operation("NormalizeUTF8", {"normalize_form": 5})


def test_operations_in_python_keep_the_number_of_python():
    made = operation("RandomPerspective", {
        "distortion_scale": 0.25, "prob": 0.75, "interpolation": vision.Inter.BICUBIC.value,
        "implementation": 1, "output_type": "float64", "random": False, "transforms": []}, "vision")
    assert made_with(made) == ([], {"distortion_scale": 0.25, "prob": 0.75,
                                    "interpolation": vision.Inter.BICUBIC})


def test_attributes_that_are_no_arguments():
    """What runs in Python keeps all of them; elsewhere an unknown one is an error."""
    known = {"num_output_channels": 3, "strange": 4}
    assert made_with(operation("Grayscale", known, "vision"))[1] == {"num_output_channels": 3}
    with pytest.raises(ValueError, match="the argument 'strange' of 'Invert' is not known"):
        operation("Invert", {"strange": 1})
    for dropped in ("device_target", "implementation", "random", "cutoff_type"):
        assert made_with(operation("Invert", {dropped: 1})) == ([], {})
        assert made_with(operation("Grayscale", {dropped: 1, "num_output_channels": 1},
                                   "vision"))[1] == {"num_output_channels": 1}


def test_the_room_of_an_operation_in_python():
    with pytest.raises(ValueError, match="'Grayscale' can't be made again"):
        operation("Grayscale", {}, "text")
    with pytest.raises(ValueError, match="can't be made again"):
        operation("Greyscale", {})


@pytest.mark.parametrize("name, parameters, argument, wanted", [
    ("Resize", {"size": [5]}, "size", 5), ("Resize", {"size": [5, 6]}, "size", (5, 6)),
    ("GaussianBlur", {"kernel_size": [3], "sigma": [2.0]}, "kernel_size", 3),
    ("GaussianBlur", {"kernel_size": [3, 5], "sigma": [2.0, 1.0]}, "sigma", [2.0, 1.0]),
    ("Crop", {"coordinates": [1, 2], "size": [3, 4]}, "coordinates", (1, 2)),
    ("Rotate", {"degree": 30.0, "resample": 1}, "degrees", 30.0),
    ("RandomRotation", {"degrees": [-3.0, 3.0], "center": []}, "center", None),
    ("RandomRotation", {"degrees": [-3.0, 3.0], "center": [1, 2]}, "center", (1, 2)),
    ("AutoContrast", {"cutoff": 1.0, "ignore": []}, "ignore", None),
    ("AutoContrast", {"cutoff": 1.0, "ignore": [2, 3]}, "ignore", [2, 3]),
    ("Fill", {"data": {"data": [7], "shape": [], "type": "int32"}, "shape": [], "type": "x"},
     "fill_value", 7),
    ("PadEnd", {"pad_shape": [4], "pad_value": {"data": [2.5]}}, "pad_value", 2.5),
    ("Mask", {"op": 3, "constant": {"data": [9]}}, "operator", transforms.Relational.LE),
    ("Mask", {"op": 3, "constant": {"data": [9]}, "dtype": 6}, "dtype", ms.int32),
    ("Mask", {"op": 3, "constant": {"data": [9]}, "dtype": 1}, "dtype", ms.bool_),
    ("Mask", {"op": 3, "constant": {"data": [9]}, "dtype": 12}, "dtype", ms.float64),
    ("TypeCast", {"data_type": "uint8"}, "data_type", np.uint8),
    ("TypeCast", {"data_type": "bool"}, "data_type", np.bool_),
    ("TypeCast", {"data_type": "bool_"}, "data_type", np.bool_),
    ("TypeCast", {"data_type": "string"}, "data_type", np.str_),
    ("ConvertColor", {"convert_mode": 8}, "convert_mode", vision.ConvertMode.COLOR_GRAY2RGB),
    ("FrequencyMasking", {"frequency_mask_param": 4}, "freq_mask_param", 4),
    ("HwcToChw", {}, None, vision.HWC2CHW), ("Decode", {"rgb": True}, None, vision.Decode),
    ("RandomColorAdjust", {"brightness": [0.5, 1.5]}, "brightness", (0.5, 1.5)),
    ("Posterize", {"bits": 3}, "bits", 3), ("OneHot", {"num_classes": 4}, "num_classes", 4)])
def test_values_in_mindspores_form(name, parameters, argument, wanted):
    made = operation(name, parameters)
    if argument is None:
        assert type(made) is wanted
    else:
        value = made_with(made)[1][argument]
        assert value == wanted and type(value) is type(wanted)


def test_operations_inside_of_operations():
    flip, invert = ({"tensor_op_name": name, "tensor_op_params": {}} for name in (
        "HorizontalFlip", "Invert"))
    made = operation("UniformAugment", {"transforms": [flip, invert], "num_ops": 1})
    assert [type(one) for one in made_with(made)[1]["transforms"]] == [
        vision.HorizontalFlip, vision.Invert]
    made = operation("RandomSelectSubpolicy", {"policy": [[
        {"prob": 0.25, "tensor_op": flip}, {"prob": 1.0, "tensor_op": invert}]]})
    (first, chance), (second, other) = made_with(made)[1]["policy"][0]
    assert (type(first), chance, type(second), other) == (
        vision.HorizontalFlip, 0.25, vision.Invert, 1.0)
    made = operation("BoundingBoxAugment", {"transform": {
        "tensor_op_name": "RandomVerticalFlip", "tensor_op_params": {"prob": 0.5}}, "ratio": 0.75})
    assert type(made_with(made)[1]["transform"]) is vision.RandomVerticalFlip
    assert made_with(made)[1]["ratio"] == 0.75


def test_a_vocabulary():
    made = operation("Lookup", {"vocab": {"a": 0, "b": 1}, "unknown_token": "a"})
    assert made_with(made)[1]["vocab"].vocab() == {"a": 0, "b": 1}
    assert made_with(made)[1]["unknown_token"] == "a"


def test_operations_without_arguments():
    """Where MindSpore keeps none, only those that take none can be made."""
    assert type(operation("VerticalFlip", None)) is vision.VerticalFlip
    with pytest.raises(ValueError, match="kept none of the arguments of 'RandomRotation'"):
        operation("RandomRotation", None)


@pytest.mark.parametrize("value, words", [("object", "'object' is no data type"), ("", "'' is no"),
                                          ("int7", "no data type"), ("float128", "no data type")])
def test_types_that_are_none_of_its(value, words):
    with pytest.raises(ValueError, match=words):
        operation("TypeCast", {"data_type": value})


@pytest.mark.parametrize("given, wanted", [
    ({"shuffle": 0}, {"shuffle": False}), ({"shuffle": 1}, {"shuffle": ds.Shuffle.FILES}),
    ({"shuffle": 2}, {"shuffle": ds.Shuffle.GLOBAL}),
    ({"shuffle": 3}, {"shuffle": ds.Shuffle.INFILE}),
    ({"shuffle": True}, {"shuffle": True}), ({"shuffle": False}, {"shuffle": False}),
    ({"num_samples": 0}, {"num_samples": None}), ({"num_samples": 1}, {"num_samples": 1}),
    ({"num_shards": 1, "shard_id": 0}, {"num_shards": None, "shard_id": None}),
    ({"num_shards": 2, "shard_id": 1}, {"num_shards": 2, "shard_id": 1}),
    ({"columns_list": []}, {"columns_list": None}), ({"schema": ""}, {"schema": None}),
    ({"columns_list": ["a"]}, {"columns_list": ["a"]}),
    ({"schema_file_path": "s.json"}, {"schema": "s.json"}), ({"sampler": None}, {"sampler": None}),
    ({"dataset_dir": ""}, {"dataset_dir": ""}),
    ({"connector_queue_size": 16, "device_id": 1, "children": []}, {})])
def test_arguments_of_sources(given, wanted):
    found = arguments_of({"op_type": "TFRecordDataset", **given})
    assert found == wanted and all(type(found[k]) is type(wanted[k]) for k in wanted)


@pytest.mark.parametrize("number", [4, -1])
def test_orders_that_are_none(number):
    with pytest.raises(ValueError, match=f"'shuffle' has no member {number}"):
        arguments_of({"op_type": "TextFileDataset", "shuffle": number})


def test_a_name_is_another_for_its_source_only():
    assert arguments_of({"op_type": "CLUEDataset", "dataset_dir": "a"}) == {"dataset_files": "a"}
    assert arguments_of({"op_type": "MnistDataset", "dataset_dir": "a"}) == {"dataset_dir": "a"}
    for kind in ("Concat", "Zip"):
        assert arguments_of({"op_type": kind, "children_flag_and_nums": [], "sampler": 3}) == {}
    with pytest.raises(ValueError, match="the function 'callback_of' of 'Map' can't be made again"):
        arguments_of({"op_type": "Map", "callback_of": "pyfunc"})


def sampler(**about):
    return arguments_of({"op_type": "MnistDataset", "sampler": about})["sampler"]


@pytest.mark.parametrize("about, kind, wanted", [
    ({"sampler_name": "SequentialSampler", "start_index": 2, "num_samples": 0},
     ds.SequentialSampler, {"num_samples": None, "start_index": 2}),
    ({"sampler_name": "SequentialSampler", "start_index": 0, "num_samples": 1},
     ds.SequentialSampler, {"num_samples": 1}),
    ({"sampler_name": "DistributedSampler", "num_shards": 3, "shard_id": 2, "offset": 1,
      "shuffle_mode": 0, "seed": 8}, ds.DistributedSampler,
     {"num_shards": 3, "shard_id": 2, "offset": 1, "shuffle": ds.Shuffle.FALSE, "seed": 7}),
    ({"sampler_name": "DistributedSampler", "num_shards": 3, "shard_id": 0, "shuffle_mode": 2,
      "seed": 1}, ds.DistributedSampler, {"shuffle": ds.Shuffle.GLOBAL, "seed": 0}),
    ({"sampler_name": "PKSampler", "num_val": 2, "shuffle": True}, ds.PKSampler,
     {"num_val": 2, "shuffle": True})])
def test_samplers(about, kind, wanted):
    made = sampler(**about)
    assert type(made) is kind
    for name, value in wanted.items():
        assert getattr(made, name) == value, name


def test_samplers_before_samplers():
    made = sampler(sampler_name="SubsetSampler", indices=[1, 0], child_sampler=[
        {"sampler_name": "SequentialSampler", "start_index": 3, "num_samples": 2}])
    assert type(made.get_child()) is ds.SequentialSampler and made.get_child().start_index == 3
    with pytest.raises(ValueError, match="'IterSampler' is no sampler"):
        sampler(sampler_name="IterSampler")
    for wrong in (4, True, "1", 1.0, None):
        with pytest.raises(ValueError, match=f"'shuffle_mode' has no member {wrong}"):
            sampler(sampler_name="RandomSampler", shuffle_mode=wrong)
