"""Encrypted mindrecord files, which aren't supported."""

from __future__ import annotations

from typing import Any

_MESSAGE = ("Encrypted mindrecord files are not supported; keep the files on an encrypted disk "
            "instead.")


def set_enc_key(enc_key: str | None) -> None:
    """Only None is possible: files are not encrypted."""
    if enc_key is not None:
        raise ValueError(_MESSAGE)


def set_enc_mode(enc_mode: Any = "AES-GCM") -> None:
    """Kept, and of no effect without a key."""
    if not callable(enc_mode) and enc_mode not in ("AES-GCM", "AES-CBC", "SM4-CBC"):
        raise ValueError(f"Invalid enc_mode: {enc_mode!r}. {_MESSAGE}")


def set_dec_mode(dec_mode: Any = "AES-GCM") -> None:
    """Kept, and of no effect without a key."""
    if dec_mode is not None and not callable(dec_mode) and dec_mode not in (
            "AES-GCM", "AES-CBC", "SM4-CBC"):
        raise ValueError(f"Invalid dec_mode: {dec_mode!r}. {_MESSAGE}")
