"""What MindYOLO's ``train.py``, ``test.py`` and ``predict.py`` do, on made-up pictures.

In an empty folder, with MindYOLO 0.5.0 and pycocotools on PYTHONPATH, and T the path of this file:

    python -m lamella run $T train              # mosaic, colours, flips; --plain to compare
    python -m lamella run $T resume
    python -m lamella run $T test
    python -m lamella run $T predict

Its settings are those of YOLOv8n, for pictures of 128 by 128 and with fewer epochs.
"""

import json
import sys
from pathlib import Path

import numpy as np

SIZE, EPOCHS, BATCH = 128, 30, 8
NAMES = ["red", "green", "blue"]
CONV, BLOCK, UP = "ConvNormAct", "C2f", [-1, 1, "Upsample", [None, 2, "nearest"]]
NETWORK = {
    "model_name": "yolov8", "nc": len(NAMES), "reg_max": 16, "stride": [8, 16, 32],
    "depth_multiple": 0.33, "width_multiple": 0.25, "recompute": False, "recompute_layers": 0,
    "backbone": [
        [-1, 1, CONV, [64, 3, 2]], [-1, 1, CONV, [128, 3, 2]], [-1, 3, BLOCK, [128, True]],
        [-1, 1, CONV, [256, 3, 2]], [-1, 6, BLOCK, [256, True]], [-1, 1, CONV, [512, 3, 2]],
        [-1, 6, BLOCK, [512, True]], [-1, 1, CONV, [1024, 3, 2]], [-1, 3, BLOCK, [1024, True]],
        [-1, 1, "SPPF", [1024, 5]]],
    "head": [
        UP, [[-1, 6], 1, "Concat", [1]], [-1, 3, BLOCK, [512]],
        UP, [[-1, 4], 1, "Concat", [1]], [-1, 3, BLOCK, [256]],
        [-1, 1, CONV, [256, 3, 2]], [[-1, 12], 1, "Concat", [1]], [-1, 3, BLOCK, [512]],
        [-1, 1, CONV, [512, 3, 2]], [[-1, 9], 1, "Concat", [1]], [-1, 3, BLOCK, [1024]],
        [[15, 18, 21], 1, "YOLOv8Head", ["nc", "reg_max", "stride"]]],
}
OPTIMIZER = {
    "optimizer": "momentum", "lr_init": 0.01, "momentum": 0.937, "nesterov": True,
    "loss_scale": 1.0, "warmup_epochs": 1, "warmup_momentum": 0.8, "warmup_bias_lr": 0.1,
    "min_warmup_step": 6, "group_param": "yolov8", "gp_weight_decay": 0.0005, "start_factor": 1.0,
    "end_factor": 0.01, "nbs": 64, "accumulate": 1, "total_batch_size": BATCH}
END = [
    {"func_name": "label_norm", "xyxy2xywh_": True}, {"func_name": "albumentations"},
    {"func_name": "hsv_augment", "prob": 1.0, "hgain": 0.015, "sgain": 0.7, "vgain": 0.4},
    {"func_name": "fliplr", "prob": 0.5}, {"func_name": "label_pad", "padding_size": 160,
                                           "padding_value": -1},
    {"func_name": "image_norm", "scale": 255.0},
    {"func_name": "image_transpose", "bgr2rgb": True, "hwc2chw": True}]
PLAIN = [{"func_name": "letterbox", "scaleup": False}, END[0], *END[4:]]
MOSAIC = [
    {"func_name": "mosaic", "prob": 1.0}, {"func_name": "resample_segments"},
    {"func_name": "random_perspective", "prob": 1.0, "degrees": 0.0, "translate": 0.1,
     "scale": 0.5, "shear": 0.0}, *END]


def draw_pictures(split: str, count: int, seed: int) -> None:
    """Coloured rectangles on noise, in COCO's and in YOLO's format."""
    from PIL import Image

    random = np.random.default_rng(seed)
    for folder in (f"coco/images/{split}", f"coco/labels/{split}", "coco/annotations"):
        Path(folder).mkdir(parents=True, exist_ok=True)
    images, boxes, paths = [], [], []
    for number in range(1, count + 1):
        picture = random.integers(60, 120, (SIZE, SIZE, 3), np.uint8)
        lines = []
        for _ in range(int(random.integers(1, 4))):
            kind = int(random.integers(len(NAMES)))
            width, height = (int(n) for n in random.integers(24, 56, 2))
            left, top = (int(n) for n in random.integers(0, SIZE - 56, 2))
            picture[top:top + height, left:left + width] = 20
            picture[top:top + height, left:left + width, kind] = 230
            middle = (left + width / 2) / SIZE, (top + height / 2) / SIZE
            lines.append(" ".join(map(str, (kind, *middle, width / SIZE, height / SIZE))))
            boxes.append({"id": len(boxes) + 1, "image_id": number, "category_id": kind,
                          "bbox": [left, top, width, height], "area": width * height, "iscrowd": 0})
        name = f"{number:012d}"
        Image.fromarray(picture).save(f"coco/images/{split}/{name}.png")
        Path(f"coco/labels/{split}/{name}.txt").write_text("\n".join(lines) + "\n")
        images.append({"id": number, "file_name": f"{name}.png", "width": SIZE, "height": SIZE})
        paths.append(f"./images/{split}/{name}.png")
    Path(f"coco/{split}.txt").write_text("\n".join(paths) + "\n")
    Path(f"coco/annotations/instances_{split}.json").write_text(json.dumps({
        "images": images, "annotations": boxes,
        "categories": [{"id": n, "name": name} for n, name in enumerate(NAMES)]}))


def loader(split: str, transforms: list, training: bool, epochs: int):
    from mindyolo.data import COCODataset, create_loader

    dataset = COCODataset(
        dataset_path=f"coco/{split}.txt", img_size=SIZE, transforms_dict=transforms,
        is_training=training, augment=training, rect=False, single_cls=False, batch_size=BATCH,
        stride=32, num_cls=len(NAMES))
    return dataset, create_loader(
        dataset=dataset,
        batch_collate_fn=dataset.train_collate_fn if training else dataset.test_collate_fn,
        column_names_getitem=dataset.column_names_getitem,
        column_names_collate=dataset.column_names_collate, batch_size=BATCH, epoch_size=epochs,
        rank=0, rank_size=1, shuffle=training, drop_remainder=training, num_parallel_workers=2,
        python_multiprocessing=True)


def train(epochs: int, transforms: list, weight: str = "", jit: bool = True) -> None:
    import mindspore as ms
    from mindyolo.models import create_loss, create_model
    from mindyolo.optim import (
        EMA,
        create_group_param,
        create_lr_scheduler,
        create_optimizer,
        create_warmup_momentum_scheduler,
    )
    from mindyolo.utils.callback import create_callback
    from mindyolo.utils.config import Config
    from mindyolo.utils.train_step_factory import (
        create_train_step_fn,
        get_gradreducer,
        get_loss_scaler,
    )
    from mindyolo.utils.trainer_factory import create_trainer
    from mindyolo.utils.utils import load_pretrain

    network = create_model("yolov8", model_cfg=Config(NETWORK), num_classes=len(NAMES),
                           sync_bn=False)
    ema = EMA(network, create_model("yolov8", model_cfg=Config(NETWORK), num_classes=len(NAMES)))
    load_pretrain(network, weight, ema, f"{Path(weight).parent}/EMA_{Path(weight).name}", True)
    ms.amp.auto_mixed_precision(network, amp_level="O0")
    ms.amp.auto_mixed_precision(ema.ema, amp_level="O0")
    _, batches = loader("train2017", transforms, True, epochs)
    steps = batches.get_dataset_size() // epochs
    loss = create_loss(name="YOLOv8Loss", box=7.5, cls=0.5, dfl=1.5, reg_max=16, anchors=1,
                       stride=NETWORK["stride"], nc=len(NAMES))
    ms.amp.auto_mixed_precision(loss, amp_level="O0")
    settings = dict(OPTIMIZER, epochs=epochs, steps_per_epoch=steps)
    if transforms is PLAIN:  # MindSpore's kernel for a CPU passes over both
        settings.update(nesterov=False, warmup_momentum=settings["momentum"])
    optimizer = create_optimizer(
        params=create_group_param(params=network.trainable_params(), **settings),
        lr=create_lr_scheduler(**settings), **settings)
    scaler = get_loss_scaler("static", scale_value=1024.0)
    reducer = get_gradreducer(False, optimizer.parameters)
    step = create_train_step_fn(
        task="detect", network=network, loss_fn=loss, optimizer=optimizer, loss_ratio=1,
        scaler=scaler, reducer=reducer, ema=ema, overflow_still_update=True, ms_jit=jit)
    network.set_train(True)
    optimizer.set_train(True)
    trainer = create_trainer(
        model_name="yolov8n", train_step_fn=step, scaler=scaler, dataloader=batches,
        steps_per_epoch=steps, network=network, loss_fn=loss, ema=ema, optimizer=optimizer,
        callback=create_callback([{"name": "SummaryCallback"}]), reducer=reducer, data_sink=False,
        profiler=False)
    trainer.train(
        epochs=epochs, main_device=True,
        warmup_step=max(round(settings["warmup_epochs"] * steps), settings["min_warmup_step"]),
        warmup_momentum=create_warmup_momentum_scheduler(**settings), accumulate=1,
        overflow_still_update=True, keep_checkpoint_max=3, log_interval=4,
        loss_item_name=loss.loss_item_name, save_dir="runs", run_eval=False, test_fn=None,
        rank_size=1, ms_jit=jit)


def network_of(checkpoint: str):
    from mindyolo.models import create_model
    from mindyolo.utils.config import Config

    network = create_model("yolov8", model_cfg=Config(NETWORK), num_classes=len(NAMES),
                           checkpoint_path=checkpoint)
    network.set_train(False)
    return network


def boxes_of(network, images, confidence: float) -> list:
    """For each picture, rows of left, top, right, bottom, score, class."""
    import mindspore as ms
    from mindyolo.utils.metrics import non_max_suppression

    out = network(images if isinstance(images, ms.Tensor) else ms.Tensor(images, ms.float32))
    out = out[0] if isinstance(out, (tuple, list)) else out
    return non_max_suppression(out.asnumpy(), conf_thres=confidence, iou_thres=0.65,
                               conf_free=True, multi_label=True, time_limit=60.0)


def test(checkpoint: str) -> float:
    from mindyolo.utils.metrics import scale_coords, xyxy2xywh
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    network, found = network_of(checkpoint), []
    _, batches = loader("val2017", PLAIN, False, 1)
    for batch in batches.create_dict_iterator(output_numpy=True, num_epochs=1):
        for n, rows in enumerate(boxes_of(network, batch["images"], 0.001)):
            path, size = str(batch["img_files"][n]), batch["hw_ori"][n]
            scale_coords(batch["images"].shape[2:], rows[:, :4], size,
                         ratio=batch["hw_scale"][n], pad=batch["pad"][n])
            boxes = xyxy2xywh(rows[:, :4])
            boxes[:, :2] -= boxes[:, 2:] / 2
            for row, box in zip(rows.tolist(), boxes.tolist(), strict=True):
                found.append({"image_id": int(Path(path).stem), "category_id": int(row[5]),
                              "bbox": [round(x, 3) for x in box], "score": round(row[4], 5)})
    truth = COCO("coco/annotations/instances_val2017.json")
    judge = COCOeval(truth, truth.loadRes(found), "bbox")
    judge.evaluate()
    judge.accumulate()
    judge.summarize()
    return float(judge.stats[1])


def predict(checkpoint: str, picture: str) -> None:
    import cv2
    from mindyolo.utils.metrics import xyxy2xywh
    from mindyolo.utils.utils import draw_result

    image = cv2.imread(picture)[:, :, ::-1].transpose(2, 0, 1) / 255.0
    rows, = boxes_of(network_of(checkpoint), image[None], 0.25)
    boxes = xyxy2xywh(rows[:, :4])
    boxes[:, :2] -= boxes[:, 2:] / 2
    found = {"category_id": [int(row[5]) for row in rows], "bbox": boxes.tolist(),
             "score": [round(float(row[4]), 3) for row in rows]}
    print(found)
    draw_result(picture, found, NAMES, is_coco_dataset=False, save_path="detect_results")


def newest() -> str:
    """The checkpoint of the last epoch."""
    files = Path("runs/weights").glob("yolov8n-*_*.ckpt")
    return str(max(files, key=lambda path: path.stat().st_mtime))


def main() -> None:
    import mindspore as ms
    from mindyolo.utils import logger
    from mindyolo.utils.utils import set_seed

    job, options = sys.argv[1], sys.argv[2:]
    transforms = PLAIN if "--plain" in options else MOSAIC
    jit = "--eager" not in options
    ms.set_context(mode=ms.GRAPH_MODE if jit else ms.PYNATIVE_MODE)
    ms.set_recursion_limit(2000)
    if jit:
        ms.set_context(jit_config={"jit_level": "O2"})
    set_seed(2)
    logger.setup_logging(logger_name="MindYOLO", log_level="INFO", rank_id=0, device_per_servers=1)
    if job == "train":
        draw_pictures("train2017", 48, 1)
        draw_pictures("val2017", 16, 2)
        train(EPOCHS, transforms, jit=jit)
    elif job == "resume":
        train(1, transforms, newest(), jit)
    elif job == "test":
        print(f"AP at IoU .5: {test(newest()):.3f}")
    else:
        predict(newest(), "coco/images/val2017/000000000001.png")


if __name__ == "__main__":
    main()
