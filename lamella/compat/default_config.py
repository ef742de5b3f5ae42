"""What MindSpore's package says of itself."""

__backend__ = "ms"
__package_name__ = "mindspore"
