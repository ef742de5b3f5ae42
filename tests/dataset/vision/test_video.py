"""Videos written here and read back; MindSpore 2.10 reads the same of the same files.

Of twelve frames at ten a second, with 9,600 samples of sound, it gives these shapes and timestamps.
"""

import av
import numpy as np
import pytest

from lamella.dataset import vision

FRAMES, SAMPLES = 12, 9600
SOUND = (np.sin(np.arange(SAMPLES) / 10) * 8000).astype(np.int16)


def written(path, sound="pcm_s16le", layout="mono"):
    """Twelve gray frames, brighter and brighter."""
    with av.open(str(path), "w") as file:
        video = file.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        audio = file.add_stream(sound, rate=8000, layout=layout) if sound else None
        for number in range(FRAMES):
            image = np.full((48, 64, 3), 20 * number, np.uint8)
            file.mux(video.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        file.mux(video.encode())
        if audio is not None:
            data = SOUND[None] if layout == "mono" else np.stack([SOUND, -SOUND], 1).reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(data, format="s16", layout=layout)
            frame.sample_rate = 8000
            file.mux(audio.encode(frame))
            file.mux(audio.encode())
    return str(path)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return written(tmp_path_factory.mktemp("videos") / "a.avi")


def test_the_whole_video(path):
    frames, sound, rates = vision.read_video(path)
    assert frames.shape == (FRAMES, 48, 64, 3) and frames.dtype == np.uint8
    shades = frames.reshape(FRAMES, -1).astype(float)
    np.testing.assert_allclose(shades.mean(1), 20 * np.arange(FRAMES), atol=4)
    assert shades.std(1).max() < 2  # colours are rounded
    np.testing.assert_array_equal(sound, SOUND[None])
    assert rates == {"video_fps": 10.0, "audio_fps": 8000}


@pytest.mark.parametrize("options, first, last", [
    ({"start_pts": 3, "end_pts": 6}, 3, 7),
    ({"start_pts": 0.25, "end_pts": 0.6, "pts_unit": "sec"}, 3, 7),
    ({"start_pts": 1.0, "pts_unit": "sec"}, 10, 12),
    ({"start_pts": 50}, 0, 0), ({"start_pts": 4, "end_pts": 4}, 4, 5),
    ({"start_pts": 0, "end_pts": 0}, 0, 1), ({"start_pts": 11}, 11, 12),
])
def test_a_part_comes_with_its_sound(path, options, first, last):
    frames, sound, _ = vision.read_video(path, **options)
    np.testing.assert_array_equal(frames, vision.read_video(path)[0][first:last])
    np.testing.assert_array_equal(sound, SOUND[None, first * 800:last * 800])


def test_sound_of_several_channels_and_of_floats(tmp_path):
    _, sound, _ = vision.read_video(written(tmp_path / "a.avi", layout="stereo"))
    np.testing.assert_array_equal(sound, [SOUND, -SOUND])
    _, sound, _ = vision.read_video(written(tmp_path / "a.mp4", "aac"))
    assert sound.dtype == np.float32 and sound.shape[0] == 1 and sound.shape[1] >= SAMPLES


def test_without_sound(tmp_path):
    path = written(tmp_path / "a.avi", None)
    frames, sound, rates = vision.read_video(path)
    assert len(frames) == FRAMES and sound.shape == (1, 0) and rates == {"video_fps": 10.0}


def test_timestamps(path, tmp_path):
    assert vision.read_video_timestamps(path) == (list(range(FRAMES)), 10.0)
    times, rate = vision.read_video_timestamps(written(tmp_path / "a.mp4", None), "sec")
    np.testing.assert_allclose(times, np.arange(FRAMES) / 10)
    assert rate == 10.0


@pytest.mark.parametrize("options, error, message", [
    ({"filename": 3}, TypeError, "'filename' must be a str"),
    ({"filename": "none.avi"}, ValueError, "Invalid file path, none.avi does not exist"),
    ({"start_pts": "a"}, TypeError, "'start_pts' must be a number"),
    ({"start_pts": -1}, ValueError, "'start_pts' must be 0 or more"),
    ({"start_pts": 5, "end_pts": 2}, ValueError, "'end_pts' must not be less"),
    ({"pts_unit": "ms"}, ValueError, "Not supported pts_unit for ms"),
])
def test_wrong_arguments(path, options, error, message):
    with pytest.raises(error, match=message):
        vision.read_video(**{"filename": path, **options})


def test_a_file_that_is_no_video(tmp_path):
    (tmp_path / "a.avi").write_bytes(b"no video" * 100)
    for read in vision.read_video, vision.read_video_timestamps:
        with pytest.raises(RuntimeError, match=r"a.avi. .* can't be read as a video"):
            read(str(tmp_path / "a.avi"))
