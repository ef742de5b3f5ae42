"""MindSpore's `mindrecord`: what `lamella.dataset.mindrecord` has."""

from .dataset.mindrecord import *  # noqa: F403
