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
     r"Size should be a single integer or a list/tuple \(h, w\) of length 2. .* have 2 values"),
    (lambda: vision.CenterCrop(["a", 1]), TypeError, r"Argument size\[0\] with value a is not of"),
    (lambda: vision.RandomColor((2, 1)), ValueError, r"should be in \(min,max\) format. Got"),
    (lambda: vision.HWC2CHW()(np.ones((1, 1, 3)), np.ones((1, 1, 3))), RuntimeError,
     "The op is OneToOne, can only accept one tensor as input."),
    (lambda: text.CaseFold()(b"bytes"), RuntimeError, "type of input should be string"),
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
