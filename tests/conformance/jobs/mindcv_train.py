"""What MindCV's ``train.py``, ``validate.py`` and ``infer.py`` do, on made-up pictures.

In an empty folder, with MindCV 0.3.0 on PYTHONPATH, and T the path of this file:

    python -m lamella run $T train
    python -m lamella run $T resume
    python -m lamella run $T validate
    python -m lamella run $T infer
"""

import sys
from pathlib import Path

import numpy as np

SIZE, CLASSES, EPOCHS = 32, 4, 6


def draw_pictures(folder: Path, count: int, seed: int) -> None:
    """Pictures of noise, each with a bar whose direction and colour say its class."""
    from PIL import Image

    random = np.random.default_rng(seed)
    for kind in range(CLASSES):
        (folder / f"class_{kind}").mkdir(parents=True, exist_ok=True)
        for number in range(count):
            picture = random.integers(0, 100, (SIZE, SIZE, 3), np.uint8)
            where = random.integers(8, 24)
            bar = (slice(where - 4, where + 4), slice(None)) if kind % 2 else (
                slice(None), slice(where - 4, where + 4))
            picture[bar][..., kind // 2] = 250
            Image.fromarray(picture).save(folder / f"class_{kind}" / f"{number}.png")


def loader(folder: str, split: str, training: bool):
    from mindcv.data import create_dataset, create_loader, create_transforms

    dataset = create_dataset(name="imagenet", root=folder, split=split, shuffle=training,
                             num_parallel_workers=1)
    options = ({"hflip": 0.0, "scale": (0.9, 1.0), "color_jitter": 0.1} if training
               else {"crop_pct": 1.0})
    transforms = create_transforms(dataset_name="imagenet", is_training=training,
                                   image_resize=SIZE, **options)
    return create_loader(dataset=dataset, batch_size=16, drop_remainder=training,
                         is_training=training, transform=transforms, num_parallel_workers=1)


def train(epochs: int, checkpoint: str = "") -> None:
    import mindspore as ms
    from mindcv.loss import create_loss
    from mindcv.models import create_model
    from mindcv.optim import create_optimizer
    from mindcv.scheduler import create_scheduler
    from mindcv.utils import StateMonitor, set_seed
    from mindspore import FixedLossScaleManager, Model, nn

    ms.set_context(mode=ms.GRAPH_MODE, device_target="Ascend")  # as its configurations say
    set_seed(42)
    data, test = loader("pictures", "train", True), loader("pictures", "val", False)
    network = create_model("mobilenet_v2_035_224", num_classes=CLASSES, checkpoint_path=checkpoint)
    steps = data.get_dataset_size()
    rates = create_scheduler(steps, scheduler="cosine_decay", lr=0.01, min_lr=1e-5,
                             warmup_epochs=1, decay_epochs=EPOCHS - 1, num_epochs=EPOCHS)
    states = "ckpt/optim_mobilenet_v2_035_224.ckpt" if checkpoint else ""
    optimizer = create_optimizer(network.trainable_params(), opt="momentum", lr=rates,
                                 weight_decay=1e-4, loss_scale=1024, checkpoint_path=states)
    model = Model(network, loss_fn=create_loss("CE", label_smoothing=0.1), optimizer=optimizer,
                  metrics={"Top_1_Accuracy": nn.Top1CategoricalAccuracy()}, amp_level="O2",
                  loss_scale_manager=FixedLossScaleManager(1024, drop_overflow_update=False))
    begin = int(checkpoint.split("-")[-1].split("_")[0]) if checkpoint else 0
    monitor = StateMonitor(
        model, model_name="mobilenet_v2_035_224", last_epoch=begin, dataset_sink_mode=False,
        dataset_val=test, metric_name=("Top_1_Accuracy",), ckpt_save_dir="ckpt",
        ckpt_save_policy="latest_k", summary_dir="summary", log_interval=4)
    model.train(epochs, data, callbacks=[monitor], dataset_sink_mode=False)


def validate(checkpoint: str) -> dict:
    import mindspore as ms
    from mindcv.loss import create_loss
    from mindcv.models import create_model
    from mindspore import Model, nn

    network = create_model("mobilenet_v2_035_224", num_classes=CLASSES, checkpoint_path=checkpoint)
    network.set_train(False)
    ms.amp.auto_mixed_precision(network, amp_level="O2")
    model = Model(network, loss_fn=create_loss("CE"), metrics={
        "accuracy": nn.Top1CategoricalAccuracy(), "loss": nn.metrics.Loss()})
    return model.eval(loader("pictures", "val", False), dataset_sink_mode=False)


def infer(checkpoint: str, picture: str) -> int:
    import mindspore as ms
    from mindcv.data import create_transforms
    from mindcv.models import create_model
    from mindspore import nn
    from PIL import Image

    image = Image.open(picture).convert("RGB")
    for transform in create_transforms(dataset_name="imagenet", is_training=False,
                                       image_resize=SIZE, crop_pct=1.0)[1:]:
        image = transform(image)
    network = create_model("mobilenet_v2_035_224", num_classes=CLASSES, checkpoint_path=checkpoint)
    network.set_train(False)
    odds = nn.Softmax()(network(ms.Tensor(np.expand_dims(image, 0))))[0].asnumpy()
    return int(np.argsort(odds)[::-1][0])


def main() -> None:
    job = sys.argv[1]
    if job == "train":
        for split, count, seed in (("train", 40, 1), ("val", 12, 2)):
            draw_pictures(Path("pictures") / split, count, seed)
        train(EPOCHS - 1)
    elif job == "resume":
        train(1, newest())
    elif job == "validate":
        print(validate(newest()))
    else:
        picture = next((Path("pictures") / "val" / "class_2").glob("*.png"))
        print(f"class {infer(newest(), str(picture))} of class 2")


def newest() -> str:
    """The checkpoint of the last epoch."""
    return str(max(Path("ckpt").glob("*-*_*.ckpt"), key=lambda path: path.stat().st_mtime))


if __name__ == "__main__":
    main()
