"""Image operations beyond the recorded results: policies, bounding boxes, files."""

import io
import threading
from fractions import Fraction

import cv2
import numpy as np
import pytest
from PIL import Image

import lamella as ms
import lamella.dataset as ds
import lamella.dataset.vision as vision
from lamella.common.mersenne_twister import Mt19937
from lamella.dataset import transforms
from lamella.dataset.vision import kernels
from lamella.dataset.vision.geometry import perspective_coefficients

IMAGE = np.random.default_rng(0).integers(0, 256, (20, 24, 3), dtype=np.uint8)


def jpeg(image=IMAGE):
    data = io.BytesIO()
    Image.fromarray(image).save(data, "JPEG")
    return np.frombuffer(data.getvalue(), np.uint8)


def test_images_are_mixed_alike_while_another_thread_turns_hues():
    """That is done without OpenCV's optimization, which all threads switch together."""
    image = np.random.default_rng(0).integers(0, 256, (400, 400, 3), dtype=np.uint8)
    wanted, over = kernels.saturated(image, 0.3), threading.Event()

    def turn():
        while not over.is_set():
            kernels.hued(image, 0.1)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        for _ in range(100):
            np.testing.assert_array_equal(kernels.saturated(image, 0.3), wanted)
    finally:
        over.set()
        thread.join()


def test_decode_gives_what_pillow_gives_and_refuses_damaged_files():
    data = jpeg()
    expected = np.asarray(Image.open(io.BytesIO(data.tobytes())))
    np.testing.assert_array_equal(vision.Decode()(data), expected)
    np.testing.assert_array_equal(np.asarray(vision.Decode(to_pil=True)(data)), expected)
    for bad in (data[:len(data) // 2], data[:20], np.zeros(50, np.uint8)):
        with pytest.raises(RuntimeError, match="damaged"):
            vision.Decode()(bad)
    with pytest.raises(TypeError, match="dimensions of the encoded image should be 1"):
        vision.Decode()(IMAGE)
    part = vision.RandomCropDecodeResize((8, 8))(data)
    assert part.shape == (8, 8, 3)


def test_a_damaged_image_in_a_pipeline_is_a_clear_error():
    rows = [(jpeg(),), (jpeg()[:100],)]
    data = ds.GeneratorDataset(rows, ["image"], shuffle=False).map(vision.Decode(), "image")
    with pytest.raises(RuntimeError, match=r"map operation: \[Decode\] failed(.|\n)*damaged"):
        list(data)


@pytest.mark.parametrize("make", [
    vision.AutoAugment, lambda: vision.AutoAugment(vision.AutoAugmentPolicy.CIFAR10),
    lambda: vision.AutoAugment(vision.AutoAugmentPolicy.SVHN), vision.RandAugment,
    vision.TrivialAugmentWide, lambda: vision.RandAugment(4, 30)],
    ids=["imagenet", "cifar10", "svhn", "rand", "trivial", "strong"])
def test_policies_change_images_and_keep_their_form(make):
    ds.config.set_seed(3)
    data = ds.NumpySlicesDataset(np.stack([IMAGE] * 60), ["x"], shuffle=False).map(make(), "x")
    rows = [row[0] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert {row.shape for row in rows} == {IMAGE.shape} and rows[0].dtype == np.uint8
    assert 10 < sum(not np.array_equal(row, IMAGE) for row in rows) <= 60


def test_blocks_give_what_rows_give():
    images = np.random.default_rng(1).integers(0, 256, (7, 6, 5, 3), dtype=np.uint8)
    operations = [vision.Rescale(1 / 255, 0.5), vision.Normalize([0.1, 0.2, 0.3], [1, 2, 3.0]),
                  vision.HWC2CHW(), transforms.TypeCast(ms.float16)]
    data = ds.NumpySlicesDataset({"x": images, "y": np.arange(7)}, shuffle=False)
    fast = data.map(operations, "x").map(transforms.OneHot(9), "y")
    assert fast._table() is not None
    rows = []
    for image in images:
        for operation in operations:
            image = operation(image)
        rows.append(image)
    batch = next(fast.batch(7).create_dict_iterator(output_numpy=True))
    np.testing.assert_array_equal(batch["x"], np.stack(rows))
    np.testing.assert_array_equal(batch["y"], np.eye(9, dtype=int)[:7])


def test_mixing_keeps_what_is_mixed():
    images = np.stack([np.full((8, 8, 3), v, np.uint8) for v in (0, 100, 200, 40)])
    labels = np.eye(4, dtype=np.float32)
    for operation in (vision.MixUpBatch(0.9), vision.CutMixBatch(vision.ImageBatchFormat.NHWC)):
        mixed, shares = operation(images, labels)
        assert mixed.shape == images.shape and mixed.dtype == np.uint8
        np.testing.assert_allclose(shares.sum(1), 1, atol=1e-6)
        means = mixed.reshape(4, -1).mean(1)
        np.testing.assert_allclose(means, shares @ [0, 100, 200, 40], atol=0.6)
    np.random.seed(1)
    mixed, shares = vision.MixUp(4, 0.5)(images.astype(np.float32), labels)
    np.testing.assert_allclose(mixed.reshape(4, -1).mean(1), shares @ [0, 100, 200, 40], rtol=1e-5)


# (alpha, prob): for each image the part as rows and columns, from which image, and its own share,
# by MindSpore 2.10 after set_seed(0)
CUTS = {
    (1.0, 1.0): [((3, 21, 9, 23), 2, 0.6719), ((0, 20, 15, 23), 4, 0.7917),
                 ((14, 31, 14, 23), 3, 0.8008), ((10, 31, 12, 23), 0, 0.6992),
                 ((13, 31, 4, 22), 1, 0.5781), ((4, 22, 0, 8), 8, 0.8125),
                 ((12, 18, 16, 20), 7, 0.9688), ((26, 31, 5, 13), 9, 0.9479),
                 ((0, 16, 7, 23), 5, 0.6667), ((5, 17, 1, 9), 6, 0.875)],
    (0.3, 0.8): [((0, 18, 4, 16), 2, 0.7188), ((11, 31, 8, 23), 4, 0.6094),
                 ((16, 31, 9, 23), 3, 0.7266), ((10, 31, 10, 23), 0, 0.6445),
                 ((0, 23, 0, 22), 1, 0.3411), ((17, 31, 0, 19), 9, 0.6536),
                 ((23, 24, 22, 23), 7, 0.9987), ((12, 13, 15, 16), 5, 0.9987),
                 None, ((0, 20, 4, 23), 6, 0.5052)]}


@pytest.mark.parametrize("alpha, prob", CUTS)
@pytest.mark.parametrize("last", [True, False])
def test_cut_mix_draws_as_mindspore(alpha, prob, last):
    images = np.broadcast_to(np.arange(10, dtype=np.uint8)[:, None, None, None], (10, 32, 24, 3))
    if not last:
        images = images.transpose(0, 3, 1, 2)
    layout = vision.ImageBatchFormat.NHWC if last else vision.ImageBatchFormat.NCHW
    before = ds.config.get_seed()
    ds.config.set_seed(0)
    try:
        data = ds.NumpySlicesDataset((images, np.eye(10, dtype=np.float32)), ["image", "label"],
                                     shuffle=False).batch(5)
        data = data.map(vision.CutMixBatch(layout, alpha, prob), ["image", "label"],
                        num_parallel_workers=1)
        rows = list(data.create_tuple_iterator(output_numpy=True, num_epochs=1))
    finally:
        ds.config.set_seed(before)
    mixed, shares = (np.concatenate(column) for column in zip(*rows, strict=True))
    plane = mixed[..., 0] if last else mixed[:, 0]
    for place, cut in enumerate(CUTS[alpha, prob]):
        wanted, label = np.full((32, 24), place), np.eye(10)[place]
        if cut is not None:
            (top, bottom, left, right), other, share = cut
            wanted[top:bottom, left:right] = other
            label = share * label + (1 - share) * np.eye(10)[other]
        np.testing.assert_array_equal(plane[place], wanted)
        np.testing.assert_allclose(shares[place], label, atol=1e-4)


@pytest.mark.parametrize("offset", [[5, 1], [1, 5]])
def test_an_image_that_would_lie_outside_of_its_padding(offset):
    with pytest.raises(RuntimeError, match="the sum of offset and original image size"):
        vision.PadToSize(10, offset)(np.zeros((6, 6, 3), np.uint8))
    assert vision.PadToSize(11, offset)(np.ones((6, 6, 3), np.uint8)).sum() == 6 * 6 * 3


def test_random_erasing_by_noise():
    erased = vision.RandomErasing(1.0, scale=(0.9, 0.9), ratio=(1, 1), value="random")(
        np.full((3, 200, 200), 99.0))
    noise = erased[erased != 99.0]
    assert noise.size > 90_000 and abs(noise.mean()) < 0.02 and abs(noise.std() - 1) < 0.02


def test_images_of_booleans():
    """OpenCV doesn't take them; padding gives numbers, resizing and turning booleans."""
    image = np.zeros((6, 8, 3), bool)
    image[2:4, 3:6] = True
    for operation in (vision.Pad(1), vision.PadToSize(10), vision.CenterCrop([4, 9]),
                      vision.RandomCrop(5), vision.GaussianBlur(3), vision.SlicePatches(2, 2),
                      vision.Rotate(90, expand=True)):
        out = operation(image)
        for found in out if isinstance(out, tuple) else [out]:
            assert found.dtype == np.uint8 and found.max() <= 1
    for operation in (vision.Resize([12, 16], vision.Inter.NEAREST), vision.Affine(
            0, [0, 0], 2.0, [0, 0]), vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)):
        out = operation(image)
        assert out.dtype == bool and out.any() and not out.all()


def test_images_of_other_numbers_of_channels():
    four = np.concatenate([IMAGE, IMAGE[..., :1]], 2)
    for operation in (vision.AdjustSharpness(1.5), vision.RandomSharpness((1.5, 1.5)),
                      vision.RandomAdjustSharpness(1.5, 1.0), vision.Posterize(3),
                      vision.RandomPosterize((3, 3))):
        np.testing.assert_array_equal(operation(four)[..., :3], operation(IMAGE))
    many = np.zeros((3, 7, 8), np.uint8)  # rows, columns, channels, as for any image
    assert vision.ToTensor()(many).shape == (8, 3, 7)
    assert isinstance(vision.Rescale(0.5, 1.0)(np.array(3.0)), np.ndarray)


def test_the_part_that_is_cut_has_the_share_that_is_drawn():
    """With a large alpha all shares are near one half: a part's sides are 0.71 of the picture's."""
    values = range(0, 250, 10)
    images = np.stack([np.full((100, 100, 3), v, np.uint8) for v in values])
    labels = np.eye(len(images), dtype=np.float32)
    mixed, _ = vision.CutMixBatch(vision.ImageBatchFormat.NHWC, alpha=1e6)(images, labels)
    changed = (mixed != images).any(3)
    across, down = (changed.any(axis).sum(1) for axis in (1, 2))  # less, at a picture's edge
    for sides in (across, down):
        assert 66 <= sides.max() <= 72


@pytest.mark.parametrize("is_pillow", [False, True])
@pytest.mark.parametrize("shape, part", [
    ((20, 60), np.s_[:, 10:50]), ((60, 20), np.s_[10:50, :]), ((30, 40), np.s_[:]),
    ((21, 50), np.s_[:, 4:46]), ((20, 40), np.s_[:])])
def test_the_centre_is_taken_after_too_many_draws(shape, part, is_pillow):
    """The largest part in the middle whose width by height is in the range."""
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, (*shape, 3)).astype(np.uint8)
    part = image[part]
    operation = vision.RandomResizedCrop(part.shape[:2], (9.0, 9.0), (0.5, 2.0),
                                         vision.Inter.NEAREST)
    found = operation(Image.fromarray(image) if is_pillow else image)
    np.testing.assert_array_equal(np.asarray(found), part)


def test_mixup_mixes_with_the_next_image_or_with_the_batch_before():
    first, second = (np.random.default_rng(n).random((3, 2, 2, 3)) for n in (0, 1))
    labels = np.eye(3)
    np.random.seed(4)
    share = np.random.beta(0.7, 0.7, 3)
    np.random.seed(4)
    found, shares = vision.MixUp(3, 0.7)(first, labels)
    part, order = share[:, None, None, None], [1, 2, 0]
    np.testing.assert_allclose(found, part * first + (1 - part) * first[order])
    np.testing.assert_allclose(shares, share[:, None] * labels + (1 - share[:, None])
                               * labels[order])
    operation = vision.MixUp(3, 0.7, is_single=False)
    np.testing.assert_allclose(operation(first, labels)[0], first)
    np.random.seed(4)
    found, shares = operation(second, labels)
    np.testing.assert_allclose(found, part * second + (1 - part) * first)
    np.testing.assert_allclose(shares, labels)


def test_mixup_of_one_image_is_a_batch_of_it():
    image, label = np.full((5, 6, 3), 9, np.uint8), np.array([[0, 1]])
    operation = vision.MixUp(batch_size=2, alpha=0.2, is_single=False)
    for _ in range(2):  # the second time with what came before
        mixed, shares = operation(image, label)
        np.testing.assert_allclose(mixed, np.full((2, 5, 6, 3), 9.0))
        np.testing.assert_allclose(shares, [[0, 1], [0, 1]])


def test_boxes_go_with_their_image():
    image = np.zeros((20, 30, 3), np.uint8)
    image[5:10, 8:20] = 255
    boxes = np.array([[8, 5, 12, 5]], np.float32)

    def found(changed):
        rows, columns = np.where(changed[..., 0] > 127)
        return [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]

    for operation in (vision.RandomHorizontalFlipWithBBox(1), vision.RandomVerticalFlipWithBBox(1),
                      vision.RandomCropWithBBox((18, 28)), vision.ResizeWithBBox((40, 60)),
                      vision.RandomResizeWithBBox((40, 60)),
                      vision.RandomCropWithBBox((25, 35), 5)):
        changed, moved = operation(image, boxes)
        np.testing.assert_allclose(moved[0], found(changed), atol=1.01)
    changed, same = vision.BoundingBoxAugment(vision.Invert(), 1.0)(image, boxes)
    assert changed.max() == 0 and np.array_equal(same, boxes)
    corner = np.array([[28, 18, 2, 2]], np.float32)
    for _ in range(5):  # a part without a box has one of zeros
        left, = vision.RandomCropWithBBox((2, 2))(image, corner)[1].tolist()
        assert left[:2] == [0, 0] and left[2] == left[3]
    with pytest.raises(RuntimeError, match="is not inside of the image"):
        vision.ResizeWithBBox(10)(image, np.array([[8, 5, 100, 5]], np.float32))


@pytest.mark.parametrize("form", [Image.fromarray, np.asarray])
def test_a_perspective_that_moves_whole_pixels_is_exact(form):
    image = np.random.default_rng(0).integers(0, 256, (9, 14, 3), dtype=np.uint8)
    corners, moved = [[0, 0], [13, 0], [13, 8], [0, 8]], [[3, 1], [16, 1], [16, 9], [3, 9]]
    shifted = np.pad(image, [(1, 0), (3, 0), (0, 0)])[:9, :14]
    for end, wanted in ((corners, image), (moved, shifted)):
        found = np.asarray(vision.Perspective(corners, end)(form(image)))
        assert np.array_equal(found, wanted)


def test_perspective_coefficients_take_each_point_exactly():
    draw = np.random.default_rng(1)
    for _ in range(200):
        start, end = draw.integers(-300, 300, (2, 4, 2)).tolist()
        found = [Fraction(value) for value in perspective_coefficients(start, end)]
        exact = np.linalg.matrix_rank([[x, y, 1] for x, y in end]) == 3
        for (x, y), (u, v) in zip(end, start, strict=True):
            below = found[6] * x + found[7] * y + 1
            if exact and abs(below) > 1e-3:
                assert abs((found[0] * x + found[1] * y + found[2]) / below - u) < 1e-7
                assert abs((found[3] * x + found[4] * y + found[5]) / below - v) < 1e-7


def test_a_perspective_from_points_on_a_line_is_the_nearest():
    line = perspective_coefficients([[0, 0], [2, 0], [2, 2], [0, 2]],
                                    [[0, 0], [1, 1], [2, 2], [3, 3]])
    assert np.isfinite(line).all()


def test_parts():
    pieces = vision.SlicePatches(2, 3)(IMAGE)
    assert [p.shape for p in pieces] == [(10, 8, 3)] * 6
    np.testing.assert_array_equal(pieces[4], IMAGE[10:, 8:16])
    ten = vision.TenCrop(6)(Image.fromarray(IMAGE))
    assert len(ten) == 10 and {p.size for p in ten} == {(6, 6)}
    np.testing.assert_array_equal(np.asarray(ten[1]), IMAGE[:6, -6:])
    whole = vision.LinearTransformation(np.eye(12) * 2, np.ones(12))
    np.testing.assert_allclose(whole(np.full((2, 2, 3), 3.0)), 4)
    hsv = vision.RgbToHsv(True)(IMAGE / 255)
    np.testing.assert_allclose(vision.HsvToRgb(True)(hsv), IMAGE / 255, atol=1e-12)


def test_files(tmp_path):
    path = str(tmp_path / "image.png")
    vision.write_png(path, IMAGE)
    np.testing.assert_array_equal(vision.read_image(path), IMAGE)
    assert vision.read_image(path, vision.ImageReadMode.GRAYSCALE).shape == (20, 24, 1)
    np.testing.assert_array_equal(vision.Decode()(vision.read_file(path)), IMAGE)
    smooth = np.stack([np.arange(64, dtype=np.uint8).reshape(8, 8) * 3] * 3, -1)
    near = vision.Decode()(vision.encode_jpeg(ms.Tensor(smooth), 100)).astype(int)
    assert abs(near - smooth).max() < 8
    assert vision.get_image_size(IMAGE) == [20, 24] and vision.get_image_num_channels(IMAGE) == 3
    with pytest.raises(RuntimeError, match="does not exist"):
        vision.read_image(str(tmp_path / "none.png"))
    with pytest.raises(TypeError, match="Input filename is not of type"):
        vision.read_file(3)


@pytest.mark.parametrize("call, error, message", [
    (lambda: vision.Resize(0), ValueError, "'size' must be in"),
    (lambda: vision.Resize("3"), TypeError, "'size' must be an int or a list of two ints"),
    (lambda: vision.Resize(3, 2), TypeError, "'interpolation' must be an Inter"),
    (lambda: vision.Normalize([1.0], [0.0]), ValueError, "Input std\\[0\\] is not within"),
    (lambda: vision.Normalize([1.0, 2.0], [1.0, 1.0])(IMAGE), RuntimeError,
     "got channels: 3, size of mean: 2"),
    (lambda: vision.Crop((0, 0), 50)(IMAGE), RuntimeError,
     "Crop height dimension: 50 exceeds image height"),
    (lambda: vision.RandomCrop(50)(IMAGE), RuntimeError, "must not be larger than the image"),
    (lambda: vision.RandomHorizontalFlip(2), ValueError,
     r"'prob' must be in \[0.0, 1.0\], but got 2"),
    (lambda: vision.GaussianBlur(4), ValueError, "kernel_size is not an odd value"),
    (lambda: vision.Invert()("x"), TypeError, "Input should be NumPy or PIL image"),
    (lambda: vision.Grayscale()(IMAGE), TypeError, "img should be PIL image"),
    (lambda: vision.Pad([1, 2, 3]), ValueError, "should be 2 or 4"),
    (lambda: vision.AdjustHue(0.6), ValueError, r"must be in \[-0.5, 0.5\]"),
    (lambda: vision.Perspective([[0, 0]] * 4, [[0, 0.5]] * 4), TypeError,
     "'end_points' must be an"),
    (lambda: vision.Perspective([[0, 0]] * 4, [[0, 0]] * 3 + [(0, 0, 0)]), TypeError,
     r"'end_points' must be four points \(x, y\)"),
    (lambda: vision.DecodeVideo(), RuntimeError, "videos can't be decoded"),
    (lambda: vision.Resize(3).device("GPU"), ValueError, "'CPU' or 'Ascend', but got 'GPU'"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("call, error, words", [
    (lambda image: vision.RandomRotation((90, 90), vision.Inter.PILCUBIC)(image), RuntimeError,
     "RandomRotation: Invalid InterpolationMode"),
    (lambda image: vision.RandomRotation((9, 9), vision.Inter.PILCUBIC)(vision.ToPIL()(image)),
     TypeError, "Current Interpolation is not supported with PIL input."),
    (lambda image: vision.RandomRotation((9, 9), vision.Inter.ANTIALIAS)(vision.ToPIL()(image)),
     ValueError, "center needs to be None and angle needs to be an integer multiple of 90."),
    (lambda image: vision.Rotate(9, vision.Inter.BICUBIC)(np.ones((4, 4, 5), np.float32)),
     RuntimeError, "can not be CUBIC when image channel is greater than 4"),
    (lambda image: vision.write_file("/", np.ones(3, np.uint8)), RuntimeError, "is not a regular"),
    (lambda image: vision.encode_jpeg(image, 0), RuntimeError, "Invalid quality 0"),
    (lambda image: vision.encode_png(image, 10), RuntimeError, "Invalid compression_level 10"),
    (lambda image: vision.encode_png(image[..., :2]), RuntimeError, "has invalid channels"),
    (lambda image: vision.ToPIL()(image[None]), ValueError, "should be 2 or 3. Got 4"),
    (lambda image: vision.ToPIL()(image.astype(np.int16)), TypeError, "type int16 is not support"),
    (lambda image: vision.CenterCrop(99)(image), RuntimeError, "more than 3 times of the original"),
])
def test_words_of_errors_at_run_time(call, error, words):
    with pytest.raises(error, match=words):
        call(np.ones((8, 8, 3), np.uint8))


def test_an_image_with_transparency_is_read_in_rgb(tmp_path):
    rgba = np.arange(64, dtype=np.uint8).reshape(4, 4, 4)
    Image.fromarray(rgba, "RGBA").save(tmp_path / "a.png")
    assert np.array_equal(vision.read_image(str(tmp_path / "a.png")), rgba[..., :3])


@pytest.mark.parametrize("height, width", [(7, 8), (8, 7), (5, 3)])
@pytest.mark.parametrize("as_pillow", [False, True])
def test_small_images_are_padded_before_a_part_is_cropped(height, width, as_pillow):
    image = np.full((height, width, 3), 7, np.uint8)
    crop = vision.RandomCrop((8, 8), pad_if_needed=True)
    found = np.asarray(crop(vision.ToPIL()(image) if as_pillow else image))
    assert found.shape == (8, 8, 3)
    assert set(np.unique(found)) == {0, 7}


@pytest.mark.parametrize("bits", range(9))
def test_posterize_keeps_the_highest_bits(bits):
    np.testing.assert_array_equal(vision.Posterize(bits)(IMAGE), IMAGE >> (8 - bits) << (8 - bits))


def test_conversions_have_the_numbers_of_opencv():
    kinds = list(vision.ConvertMode)
    assert len(kinds) == 12 and all(getattr(cv2, kind.name) == kind.value for kind in kinds)


@pytest.mark.parametrize("operation", [
    vision.RandomHorizontalFlip(), vision.RandomCrop(5), vision.RandomResize(5),
    vision.RandomResizedCrop(5), vision.RandomVerticalFlip()],
    ids=lambda operation: type(operation).__name__)
def test_images_of_one_call_are_changed_alike(operation):
    image = np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8)
    for _ in range(4):
        one, two, three = operation(image, image, image[:, :, ::-1])
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, three[:, :, ::-1])


def test_random_policies_turn_and_move_both_ways():
    operation, generator = vision.RandAugment(2, 9), Mt19937(1)
    drawn = [pair for _ in range(300) for pair in operation.draw(IMAGE, generator)]
    for name in ("Rotate", "ShearX", "TranslateY", "Brightness"):
        assert {strength > 0 for kind, strength in drawn if kind == name} == {True, False}, name


@pytest.mark.parametrize("size, fits", [
    ((2000, 3000), True), ((2001, 3), False), ((2, 3001), False), ((2001, 3001), False)])
def test_at_most_a_thousand_times_the_size(size, fits):
    image = np.zeros((2, 3, 1), np.uint8)
    if fits:
        assert vision.Resize(size)(image).shape[:2] == size
    else:
        with pytest.raises(RuntimeError, match="at most 1000 times"):
            vision.Resize(size)(image)


def test_gamma_of_integers_beyond_a_byte_is_that_of_0_and_255():
    picture = np.array([[-5, 0, 128, 255, 300, 30000]], np.int16)
    found = vision.AdjustGamma(2.0)(picture)
    assert found.dtype == np.int16 and found.tolist() == [[0, 0, 64, 255, 255, 255]]
    with pytest.raises(RuntimeError, match="AdjustGamma: the image must be of type .* int64"):
        vision.AdjustGamma(2.0)(picture.astype(np.int64))
