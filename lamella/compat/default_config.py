"""What MindSpore's package says about itself: its version and how it was built."""

__backend__ = "ms"
__package_name__ = "mindspore"
