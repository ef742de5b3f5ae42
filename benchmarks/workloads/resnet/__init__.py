"""ResNet-18 (He et al., 2015)."""

STAGES = ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))  # inputs, outputs, stride
BLOCKS = [block for i, o, s in STAGES for block in ((i, o, s), (o, o, 1))]
