"""Wrong arguments of sources and operations: MindSpore 2.10's sentences, recorded."""

import copy
import pickle

import numpy as np
import pytest

import lamella.dataset as ds
from lamella.dataset import audio, text, transforms, vision

NUMBER = r"\[<class 'int'>, <class 'float'>\]"


@pytest.mark.parametrize("call, error, words", [
    (lambda: vision.Resize(), TypeError, "missing a required argument: 'size'"),
    (lambda: vision.Resize(3, sizes=3), TypeError, "unexpected keyword argument 'sizes'"),
    (lambda: ds.ImageFolderDataset(), TypeError, "missing a required argument: 'dataset_dir'"),
    (lambda: vision.AutoContrast("x"), TypeError,
     f"Argument cutoff with value x is not of type {NUMBER}, but got <class 'str'>."),
    (lambda: vision.AutoContrast(True), TypeError,
     r"value True is not of type \(<class 'int'>, <class 'float'>\), but got <class 'bool'>."),
    (lambda: vision.AutoContrast(50.0), ValueError,
     r"Input cutoff is not within the required interval of \[0, 50\)."),
    (lambda: vision.AdjustGamma(-1), ValueError,
     r"Input is not within the required interval of \[0, 16777216\]."),
    (lambda: vision.RandomInvert(1.5), ValueError, r"interval of \[0.0, 1.0\]."),
    (lambda: vision.Affine(0, (0, 0), 1, 0, 3), TypeError, "is not of type .<enum 'Inter'>."),
    (lambda: text.BasicTokenizer(1), TypeError, "Wrong input type for lower_case, should be bool"),
    (lambda: audio.FrequencyMasking(freq_mask_param=[]), TypeError, r"Argument mask_param with"),
    (lambda: audio.Biquad(1.0, 1.0, 1.0, 0.0, 1.0, 1.0), ValueError,
     r"Input a0 is not within the required interval of \[-16777216, 0\) and \(0, 16777216\]."),
    (lambda: transforms.OneHot(2, []), TypeError,
     rf"Argument smoothing_rate with value \[\] is not of type {NUMBER}"),
    (lambda: vision.Resize([1, 2, 3]), TypeError,
     r"Size should be a single integer or a list/tuple \(h, w\) of length 2"),
    (lambda: vision.CenterCrop(["a", 1]), TypeError, r"Argument size\[0\] with value a is not of"),
    (lambda: vision.RandomColor((2, 1)), ValueError, r"should be in \(min,max\) format. Got"),
    (lambda: vision.RandomAffine(5, shear=(1, 2, 4, 3)), ValueError,
     r"Input shear\[1\] must be equal to or greater than shear\[0\]"),
    (lambda: vision.HWC2CHW()(np.ones((1, 1, 3)), np.ones((1, 1, 3))), RuntimeError,
     "The op is OneToOne, can only accept one tensor as input."),
    (lambda: text.CaseFold()(b"bytes"), RuntimeError, "input is not string datatype"),
    (lambda: text.Vocab().tokens_to_ids("a"), RuntimeError, "has not been initialized"),
    (lambda: text.Vocab.from_list("a"), TypeError, r"Argument word_list with value a is not of"),
    (lambda: ds.config.set_seed("a"), TypeError, "seed isn't of type int."),
    (lambda: ds.NumpySlicesDataset([1]).map(len, offload=1), TypeError, "Argument offload with"),
    (lambda: ds.NumpySlicesDataset([1]).skip(-1), ValueError, r"Input count is not within"),
    (lambda: ds.ImageFolderDataset(".", decode=1), TypeError, "Argument decode with value 1 is"),
    (lambda: ds.ImageFolderDataset(".", num_shards="a"), TypeError, "Argument num_shards with val"),
    (lambda: ds.ImageFolderDataset(".", decrypt=1), TypeError, "decrypt is not a callable object"),
    (lambda: ds.ImageFolderDataset(".", shuffle=ds.Shuffle.FILES), TypeError, "Argument shuffle"),
    (lambda: ds.TextFileDataset(__file__, shuffle="x"), TypeError, "shuffle must be of boolean or"),
    (lambda: ds.TextFileDataset(__file__, num_parallel_workers=0), ValueError, "exceeds the bound"),
])
def test_words_of_wrong_calls(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_none_where_it_may_be_given():
    assert audio.InverseSpectrogram(length=None) is not None


def test_a_class_of_the_users_checks_itself():
    class Resize(vision.Resize):
        def __init__(self, size, more):
            super().__init__(size)
            self.more = more

    assert Resize(3, "x").more == "x"


def test_copies_are_not_made_anew():
    data = ds.ImageFolderDataset(".", shuffle=False)
    for made in (vision.Resize(3), data):
        assert type(copy.copy(made)) is type(copy.deepcopy(made)) is type(made)
    assert pickle.loads(pickle.dumps(vision.CenterCrop(2)))(np.ones((4, 4))).shape == (2, 2)


def test_errors_name_the_file_of_a_row(tmp_path):
    def fails(*values):
        raise ValueError("no good")

    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"line of {name}\n")
    lines = ds.TextFileDataset([str(tmp_path / n) for n in ("a.txt", "b.txt")], shuffle=False)
    paths = {"first": "a.txt", "second": "b.txt"}
    pipelines = {"first": lines.map(fails), "second": lines.skip(1).map(lambda x: x).map(fails)}
    for which, pipeline in pipelines.items():
        with pytest.raises(RuntimeError, match="failed. The corresponding data file is: .*"
                                               + paths[which]):
            next(iter(pipeline))

    (tmp_path / "in" / "class").mkdir(parents=True)
    (tmp_path / "in" / "class" / "picture.png").write_bytes(b"no picture")
    images = ds.ImageFolderDataset(str(tmp_path / "in"), shuffle=False)
    for pipeline in (images.map(fails, "label"), images.map(vision.Decode(), "image"),
                     images.map(lambda x: x, "label").batch(1).map(lambda x: x[0], "image").map(
                         lambda x: x, "label")):
        if pipeline.children[0] is not images:
            assert len(list(pipeline)) == 1  # a batch is of no one file
            continue
        with pytest.raises(RuntimeError, match="data file is: .*picture.png"):
            next(iter(pipeline))


def test_one_image_or_several():
    image = np.zeros((4, 4, 3), np.uint8)
    assert len(vision.RandomHorizontalFlip(1.0)(image, image)) == 2


def test_a_row_of_the_table_is_checked_as_it_says():
    from lamella.dataset.arguments import _allowed, _rows

    assert len(_rows()) > 150
    for owner in _rows():
        room, name = owner.split(".")
        if room not in ("Dataset", "Vocab", "SentencePieceVocab", "Vectors", "GloVe", "FastText",
                        "CharNGram", "Schema"):
            assert _allowed(room, name) or all(r.groupdict().get("rule") for r in _rows()[owner])


@pytest.mark.parametrize("call, error, words", [
    (lambda: vision.NormalizePad([1.0], [1.0, 2.0]), ValueError, "Length of mean and std must be"),
    (lambda: vision.NormalizePad([1.0], ["2"]), TypeError, r"Argument std\[0\] with value 2 is"),
    (lambda: vision.RandomRotation(9, center=3), ValueError, "Value center needs to be a 2-tuple"),
    (lambda: vision.Resize((1, 0)), ValueError, r"Input size at dim 1 is not .* \[1, 2147483647\]"),
    (lambda: vision.Resize(3, None), KeyError, "Interpolation should not be None"),
    (lambda: vision.PadToSize(9, fill_value=(1.5, 1, 1)), TypeError, r"Argument fill_value\[0\]"),
    (lambda: vision.PadToSize(9, fill_value=[1, 1, 1]), TypeError, "a single integer or a 3-tuple"),
    (lambda: vision.RandomCrop(9, padding=-1), ValueError, r"Input padding is not .* \[0, 2147"),
    (lambda: vision.RandAugment(magnitude=4, num_magnitude_bins=3), ValueError, r"of \[0, 3\)"),
    (lambda: vision.RandomColorAdjust((2, 1)), ValueError, r"brightness value should .* \(2, 1\)"),
    (lambda: vision.ToTensor("x"), TypeError, "Argument output_type with value x is not of type"),
    (lambda: audio.LFilter([1.0], ["1"]), TypeError, r"Argument b_coeffs\[0\] with value 1 is not"),
    (lambda: audio.GriffinLim(300, win_length=400), ValueError,
     "win_length should be no more than n_fft, but got win_length: 400 and n_fft: 300."),
    (lambda: audio.GriffinLim(win_length=500), ValueError, "win_length: 500 and n_fft: 400."),
    (lambda: audio.MelScale(f_min=9.0, f_max=9.0), ValueError, "f_max should be greater than"),
    (lambda: ds.Schema().add_column("a", "x"), TypeError, "Unknown column type"),
    (lambda: ds.Schema().add_column("", "int8"), TypeError, "Expected non-empty string for column"),
    (lambda: ds.Schema().add_column("a", "int8", [1.5]), TypeError, r"Argument shape\[0\] with"),
    (lambda: ds.Schema("none.json"), ValueError, "The file none.json does not exist or permission"),
    (lambda: ds.zip((ds.NumpySlicesDataset([1]),)), ValueError, "Can't zip empty or just one"),
    (lambda: ds.zip((ds.NumpySlicesDataset([1]), 1)), TypeError, "Invalid dataset, expected Data"),
    (lambda: ds.zip(1), TypeError, "Argument datasets with value 1 is not of type"),
    (lambda: ds.NumpySlicesDataset([1]).map(1), ValueError, "element of method map should be a py"),
    (lambda: ds.NumpySlicesDataset("abc"), TypeError, "Argument data with value abc is not"),
    (lambda: text.Ngram(1.5), ValueError, "n needs to be a non-empty list of positive integers"),
    (lambda: text.BertTokenizer(text.Vocab.from_list(["a"]), max_bytes_per_token=1.5), TypeError,
     "Wrong input type for max_bytes_per_token, should be int."),
    (lambda: vision.RandomSelectSubpolicy([]), ValueError, "policy can not be empty"),
    (lambda: vision.RandomSelectSubpolicy([[]]), ValueError, r"policy\[0\] can not be empty"),
    (lambda: vision.RandomCropDecodeResize(3)(np.ones((4, 4, 3), np.uint8)), TypeError,
     "Input should be an encoded image with uint8 type in 1-D NumPy format"),
    (lambda: vision.Decode()(np.ones((4, 4, 3), np.uint8)), TypeError,
     "The number of array dimensions of the encoded image should be 1, but got 3"),
    (lambda: text.Ngram([1, [1]]), TypeError, r"Argument gram\[1\] with value \[1\] is not of"),
    (lambda: text.Lookup(text.Vocab.from_list(["a"]), "b"), ValueError, "doesn't exist in vocab."),
    (lambda: vision.Invert()(np.ones((3, 3, 2), np.uint8)), RuntimeError,
     "Invert: the number of channels of input tensor is not 3, but got: 2"),
    (lambda: vision.AdjustHue(.1)(np.ones(3, np.uint8)), RuntimeError,
     r"Expecting tensor in dimension of \(3\), .* But got dimension 1. You may need to perform De"),
    (lambda: vision.AdjustHue(.1)(np.ones((3, 3, 3), np.int64)), RuntimeError,
     r"in type of \(uint8, float32\). But got type int64."),
    (lambda: text.Ngram(2, ("a", -1)), ValueError, "padding width need to be positive numbers"),
    (lambda: transforms.PadEnd(["2"]), TypeError, "a value in the list is not an integer."),
    (lambda: vision.PadToSize(3)(np.ones((4, 4, 3), np.uint8)), RuntimeError,
     "target size to pad should be no less than the original image size"),
    (lambda: vision.LinearTransformation(np.ones((2, 3)), np.ones(2)), ValueError,
     "transformation_matrix should be a square matrix. Got shape"),
    (lambda: vision.CutMixBatch(vision.ImageBatchFormat.NHWC)(
        np.ones((2, 4, 4, 3), np.uint8), np.ones((3, 2))), RuntimeError,
     "batch sizes of image and label must be the same, but got 2 and 3"),
    (lambda: vision.Equalize()(np.ones((0, 3, 3), np.uint8)), RuntimeError, "Tensor has no data."),
    (lambda: audio.Gain()(np.array("a")), RuntimeError, "<..., time>. But got tensor with"),
    (lambda: audio.Biquad(1.0, 1, 1, 1, 1, 1)(np.ones(3, np.int32)), RuntimeError,
     r"Expecting tensor in type of \[float, double\]. But got type int32."),
])
def test_words_of_parts_and_of_inputs(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("call, error, words", [
    (lambda: audio.InverseMelScale(20, 8, f_min=8000.0), ValueError,
     "greater than f_min when f_max"),
    (lambda: audio.Spectrogram(1), ValueError, "'hop_length' must be an int of 1 or more"),
    (lambda: audio.MFCC(16000, 129), ValueError, "at most 'n_mels', 128, but got 129"),
    (lambda: audio.MFCC(dct_type=3), ValueError, "dct_type"),
    (lambda: audio.LFCC(dct_type=3), ValueError, "dct_type"),
    (lambda: audio.LFilter([1.0], [1.0, 2.0]), ValueError, "size of a_coeffs should be the same"),
    (lambda: audio.PhaseVocoder(1.0, np.ones((3, 2))), ValueError, r"the shape \(freq, 1\)"),
    (lambda: audio.PitchShift(0, 1), ValueError, "'sample_rate' must be an int of 1 or more"),
    (lambda: audio.PitchShift(8000, 1, 0), ValueError, r"Input bins_per_octave.*0\) and \(0, "),
    (lambda: audio.InverseMelScale(20, 8, sgdargs=1), TypeError, "Argument sgdargs|must be a dict"),
    (lambda: audio.GriffinLim(momentum=1.0), RuntimeError, "momentum equal to or greater than 1"),
    (lambda: audio.SlidingWindowCmn(0), ValueError, "'cmn_window' must be an int of 1 or more"),
    (lambda: audio.Vol(-1.0), ValueError, "'gain' must be 0 or more"),
    (lambda: audio.Vol(0.0, audio.GainType.POWER), ValueError, "'gain' must be above 0"),
    (lambda: audio.Phaser(8000, delay_ms=0.0)(np.ones(9)), RuntimeError, "shorter than a sample"),
    (lambda: audio.Gain()(np.array(["a"])), RuntimeError, "numbers|type"),
    (lambda: vision.RandomSelectSubpolicy([]), ValueError, "policy can not be empty"),
    (lambda: vision.RandomSelectSubpolicy([[]]), ValueError, r"policy\[0\] can not be empty"),
    (lambda: vision.RandomSelectSubpolicy([1]), TypeError, "must be a list of"),
    (lambda: vision.RandomSelectSubpolicy([[(len,)]]), ValueError, "needs to be a 2-tuple"),
    (lambda: vision.RandomSelectSubpolicy([[(len, 1.5)]]), ValueError, "'chance' must be in"),
    (lambda: vision.RandomErasing(value="x"), ValueError, "either a single value, or a str"),
    (lambda: vision.BoundingBoxAugment(len), TypeError, "transform with value <built-in"),
    (lambda: vision.UniformAugment([len], 2), ValueError, "num_ops is greater than transforms"),
    (lambda: vision.UniformAugment([1], 1), TypeError, "must be an operation|callable"),
    (lambda: vision.LinearTransformation(np.ones((2, 3)), np.ones(3)), ValueError, "square"),
    (lambda: vision.LinearTransformation(np.eye(3), np.ones(2)), ValueError, "vector length 2"),
    (lambda: vision.TenCrop(3, None), TypeError, "'use_vertical_flip' must be a bool"),
    (lambda: vision.SlicePatches(slice_mode=None), TypeError, "'slice_mode' must be a SliceMode"),
    (lambda: vision.RandomResizedCrop(3, scale=None), TypeError, "'scale' must be two numbers"),
    (lambda: vision.RandomResizedCrop(3, max_attempts=None), TypeError, "'max_attempts' must be"),
    (lambda: vision.RandomColor(None), TypeError, "'degrees' must be two numbers"),
    (lambda: vision.RandomPosterize(None), TypeError, "'bits' must be two numbers"),
    (lambda: vision.AdjustGamma(1.0, None), TypeError, "'gain' must be a number"),
    (lambda: transforms.PadEnd([0]), ValueError, "sizes must be positive, but got 0"),
    (lambda: transforms.PadEnd([True]), TypeError, "not an integer"),
    (lambda: transforms.PadEnd([3], "x")(np.ones(2)), RuntimeError, "numeric and string"),
    (lambda: transforms.PadEnd([3])(np.ones((2, 2))), RuntimeError, "1 dimensions, but the input"),
    (lambda: transforms.Concatenate(append=np.ones((1, 1))), ValueError, "'append' must have one"),
    (lambda: transforms.Concatenate(append=np.ones(1))(np.ones(1, int)), RuntimeError, "differ"),
    (lambda: transforms.Concatenate()(np.ones((1, 1))), RuntimeError, "only 1D input"),
    (lambda: transforms.Mask(transforms.Relational.EQ, 1, 3), TypeError, "'dtype' must be a data"),
    (lambda: transforms.Mask(transforms.Relational.EQ, "a")(np.ones(1)), RuntimeError, "not match"),
    (lambda: transforms.Fill("a")(np.ones(1)), RuntimeError, "types do not match"),
    (lambda: transforms.TypeCast("int32")(np.array(["a"])), RuntimeError, "can't be cast to int32"),
    (lambda: transforms.Slice("a"), TypeError, "each of 'slices' must be an int"),
    (lambda: transforms.Slice(0, 0)(np.ones(2)), RuntimeError, "2 slices, but the input has 1"),
    (lambda: transforms.Slice(slice(1))(np.array(1)), RuntimeError, "the input has rank 0"),
    (lambda: transforms.Slice([0, 2])(np.ones(2)), RuntimeError, r"in \[-2, 2\) in dimension 0.*2"),
    (lambda: transforms.Unique()(np.array(["a"])), RuntimeError, "must be numbers"),
])
def test_what_operations_check_themselves(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("kind, given, error, words", [
    (vision.CutOut, -1, ValueError, r"interval of \[1, 16777216\]"),
    (vision.Posterize, "a", TypeError, "Argument bits with value a is not of type"),
    (audio.LowpassBiquad, 0, ValueError, "Input sample_rate is not within"),
    (transforms.OneHot, 0, ValueError, "must be greater than 0"),
    (text.Truncate, 1.5, TypeError, "Argument max_seq_len with value 1.5"),
])
def test_a_program_s_subclass_is_checked_too(kind, given, error, words):
    class Mine(kind):
        def __init__(self, first):
            super().__init__(first, *([900.0] if kind is audio.LowpassBiquad else []))

    assert isinstance(Mine(3), kind)
    with pytest.raises(error, match=words):
        Mine(given)


SMALL = ds.NumpySlicesDataset({"a": [1, 2, 3]}, shuffle=False)
PADDED = ds.PaddedDataset([{"a": np.array(1)}])
SHARD = ds.DistributedSampler(2, 0, shuffle=False)


@pytest.mark.parametrize("call, error, words", [
    (lambda: SMALL.map(None), RuntimeError, "No 'operations' are specified"),
    (lambda: SMALL.map(len, callbacks=[1]), TypeError, r"Argument callbacks\[0\] with value 1 is"),
    (lambda: SMALL.map(len, cache=1), TypeError, "Argument cache with value 1 is not of type"),
    (lambda: SMALL.map(len, max_rowsize=[1]), TypeError, "of length 2"),
    (lambda: SMALL.batch(2, per_batch_map=1), ValueError, "callable Python function, but got: 1"),
    (lambda: SMALL.bucket_batch_by_length(["a"], [2], [1, 1], 1), TypeError, "is not callable"),
    (lambda: SMALL.concat(1), TypeError, "Argument datasets with value 1 is not of type"),
    (lambda: SMALL.concat([1]), TypeError, r"Argument dataset\[0\] with value 1 is not of type"),
    (lambda: SMALL.zip(1), TypeError, "Argument datasets with value 1 is not of type"),
    (lambda: SMALL.save(1), TypeError, "Argument file_name with value 1 is not of type"),
    (lambda: SMALL.sync_wait("a", 0), ValueError, "num_batch need to be greater than 0"),
    (lambda: ds.PaddedDataset(None), ValueError, "padded_samples cannot be empty"),
    (lambda: ds.NumpySlicesDataset(None), TypeError, "Argument data with value None is not of"),
    (lambda: ds.NumpySlicesDataset((1, 2)), TypeError, r"Argument data\[0\] with value 1 is not"),
    (lambda: ds.GeneratorDataset([1], "a", column_types=1), TypeError, "column_types with value 1"),
    (lambda: ds.GeneratorDataset([1], "a", schema=1), ValueError, "path to schema file or a sch"),
    (lambda: ds.CSVDataset(__file__, 1), TypeError, "Argument field delim with value 1 is not"),
    (lambda: (SMALL.batch(2) + PADDED).use_sampler(SHARD), TypeError, "must not be BatchDataset"),
    (lambda: (ds.NumpySlicesDataset({"a": [1]}, num_samples=1) + PADDED).use_sampler(SHARD),
     ValueError, "The parameter NumSamples of"),
    (lambda: vision.Resize(2)(np.ones((5, 5, 3), np.int32)), RuntimeError, "Resize: OpenCV"),
    (lambda: vision.Erase(0, 0, 9, 1)(np.ones((5, 5, 3), np.uint8)), RuntimeError, "too large"),
    (lambda: vision.RandomPerspective()(np.ones((5, 5, 3))), ValueError, "be a Pillow image"),
    (lambda: vision.CutMixBatch(vision.ImageBatchFormat.NHWC)(np.ones((1, 2, 2, 3))), RuntimeError,
     r"should have 2 columns \(image and label\), but got: 1"),
    (lambda: vision.RandomColorAdjust(hue=0.7), ValueError, r"interval of \[-0.5, 0.5\]"),
    (lambda: audio.create_dct(2, 2, 1), TypeError, "norm with value 1 is not of type"),
])
def test_words_of_wrong_pipelines(call, error, words):
    with pytest.raises(error, match=words):
        call()
