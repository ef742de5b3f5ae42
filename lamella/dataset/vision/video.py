"""Videos from files, by FFmpeg's libraries."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import needs

__all__ = ["read_video", "read_video_timestamps"]


def read_video(filename: str, start_pts: float | Fraction = 0,
               end_pts: float | Fraction | None = None,
               pts_unit: str = "pts") -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """The frames and the sound of a video.

    Args:
        filename: the file.
        start_pts: the first timestamp.
        end_pts: the last timestamp; default: to the end.
        pts_unit: ``"pts"``, the unit of the file, or ``"sec"``, seconds.

    Returns:
        The frames, uint8 (T, H, W, 3) in RGB; the part of the sound that belongs to them,
        (channels, samples) in the file's type; and ``video_fps`` and ``audio_fps``.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        RuntimeError: if the file is no video.
        ImportError: if the package 'av' is missing.
    """
    for name, value in (("start_pts", start_pts), ("end_pts", end_pts)):
        if not isinstance(value, (int, float, Fraction)) and (value is not None or
                                                              name == "start_pts"):
            raise TypeError(f"For 'read_video', '{name}' must be a number, but got {value!r}.")
    if start_pts < 0:
        raise ValueError(f"For 'read_video', 'start_pts' must be 0 or more, but got {start_pts}.")
    if end_pts is not None and end_pts < start_pts:
        raise ValueError(f"For 'read_video', 'end_pts' must not be less than 'start_pts', but got "
                         f"{end_pts} and {start_pts}.")
    with _Video("read_video", filename, pts_unit) as video:
        stream, sound = video.stream, next(iter(video.file.streams.audio), None)
        images, places, count, samples = [], [], 0, []
        for frame in video.file.decode(*([stream] if sound is None else [stream, sound])):
            if frame.__class__.__name__ == "AudioFrame":
                samples.append(_by_channel(frame))
                continue
            if start_pts <= video.time_of(frame) <= (float("inf") if end_pts is None else end_pts):
                images.append(frame.to_ndarray(format="rgb24"))
                places.append(count)
            count += 1
        rates: dict[str, Any] = {"video_fps": float(stream.average_rate)}
        if sound is not None:
            rates["audio_fps"] = sound.rate
        height, width = stream.height, stream.width
    frames = np.stack(images) if images else np.empty((0, height, width, 3), np.uint8)
    whole = np.concatenate(samples, 1) if samples else np.empty((1, 0), np.float32)
    first, last = (places[0], places[-1] + 1) if places else (0, 0)
    cuts = [round(whole.shape[1] * place / max(1, count)) for place in (first, last)]
    return frames, whole[:, slice(*cuts)], rates


def read_video_timestamps(filename: str,
                          pts_unit: str = "pts") -> tuple[list[Any], float | None]:
    """The timestamps of a video's frames, and how many it has in a second.

    Args:
        filename: the file.
        pts_unit: ``"pts"``, the unit of the file, or ``"sec"``, seconds.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.
        RuntimeError: if the file is no video.
        ImportError: if the package 'av' is missing.
    """
    with _Video("read_video_timestamps", filename, pts_unit) as video:
        found = [video.time_of(frame) for frame in video.file.decode(video.stream)]
        return found, float(video.stream.average_rate) if found else None


class _Video:
    """An open video; what is wrong with the file is a RuntimeError."""

    def __init__(self, name: str, filename: Any, pts_unit: Any):
        for argument, value in (("filename", filename), ("pts_unit", pts_unit)):
            if not isinstance(value, str):
                raise TypeError(f"Input {argument} is not of type {str}, but got: {type(value)}. "
                                f"For '{name}', '{argument}' must be a str.")
        kind = ValueError if name == "read_video" else RuntimeError  # as MindSpore's do
        if not os.path.exists(filename):
            raise kind(f"Invalid file path, {filename} does not exist. For '{name}', "
                               f"'filename' names a video.")
        if not os.path.isfile(filename):
            raise kind(f"Invalid file path, {filename} is not a regular file. For "
                               f"'{name}', 'filename' names a video.")
        if pts_unit not in ("pts", "sec"):
            raise kind(f"Not supported pts_unit for {pts_unit}. For '{name}', 'pts_unit' "
                               f"must be 'pts' or 'sec'.")
        self.name, self.filename, self.seconds = name, filename, pts_unit == "sec"

    def __enter__(self) -> _Video:
        self.av = needs("video", "av")
        try:
            self.file = self.av.open(self.filename)
        except (self.av.FFmpegError, OSError) as error:
            raise self._no_video(error) from error
        if not self.file.streams.video:
            self.file.close()
            raise self._no_video("it has no frames")
        self.stream = self.file.streams.video[0]
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.file.close()
        if isinstance(error, self.av.FFmpegError):
            raise self._no_video(error) from error

    def time_of(self, frame: Any) -> Any:
        """When a frame is shown."""
        if frame.pts is None:
            raise self._no_video("its frames have no timestamps")
        return float(frame.pts * frame.time_base) if self.seconds else frame.pts

    def _no_video(self, reason: Any) -> RuntimeError:
        return RuntimeError(f"Failed to open the file {self.filename}. For '{self.name}', it can't "
                            f"be read as a video: {reason}")


def _by_channel(frame: Any) -> np.ndarray:
    """A piece of sound as (channels, samples)."""
    data = frame.to_ndarray()
    if frame.format.is_planar:
        return data
    return np.ascontiguousarray(data.reshape(-1, len(frame.layout.channels)).T)
