"""Operations that choose other operations at random."""

from ..spec import case

POLICIES = [
    "vision.AutoAugment(vision.AutoAugmentPolicy.IMAGENET, vision.Inter.NEAREST, 9)",
    "vision.RandomSelectSubpolicy([[(vision.HorizontalFlip(), 0.5), (vision.Invert(), 0.7)], "
    "[(vision.VerticalFlip(), 0.4)], [(vision.Posterize(2), 1), (vision.Equalize(), 0)]])",
    "transforms.RandomApply([vision.HorizontalFlip(), vision.Invert()], 0.4)",
    "transforms.RandomChoice([vision.HorizontalFlip(), vision.Invert(), vision.Equalize()])",
]
PILLOW = [
    "transforms.RandomApply([vision.RandomHorizontalFlip(0.5), vision.Invert()], 0.6)",
    "transforms.RandomChoice([vision.HorizontalFlip(), vision.Invert(), vision.Equalize()])",
    "transforms.RandomOrder([vision.CenterCrop((4, 6)), vision.Pad(1), vision.Invert()])",
    "vision.UniformAugment([vision.HorizontalFlip(), vision.Invert(), vision.Equalize(), "
    "vision.RandomVerticalFlip(0.5)], 3)",
    "transforms.Compose([vision.RandomRotation(40), vision.ToTensor(), lambda x: x * 2])",
]
BODY = """import random
from PIL import Image
random.seed({seed})
np.random.seed({seed})
ms.dataset.config.set_seed({seed})
x = np.random.RandomState(5).randint(0, 256, (6, 9, 3)).astype(np.uint8)
y = {call}({given})
return Tensor(np.array(y[0] if isinstance(y, tuple) else y))"""
CASES = [
    *(case(BODY.format(call=call, given="x", seed=seed))
      for call in POLICIES for seed in (range(1, 25) if "AutoAugment" in call else range(1, 6))),
    *(case(BODY.format(call=call, given="Image.fromarray(x)", seed=seed))
      for call in PILLOW for seed in range(1, 6)),
]
