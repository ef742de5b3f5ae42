"""What MindOCR's ``tools/train.py``, ``tools/eval.py`` and its prediction do, on made-up pictures.

In an empty folder, with MindOCR 0.5.0 on PYTHONPATH, and T the path of this file:

    python -m lamella run $T det train          # DBNet with ResNet-18 finds words; also det resume
    python -m lamella run $T det eval
    python -m lamella run $T det predict
    python -m lamella run $T rec train          # CRNN with VGG-7 reads numbers; also rec resume
    python -m lamella run $T rec eval
    python -m lamella run $T rec predict

The settings are those of db_r18_icdar15.yaml and crnn_vgg7.yaml, with smaller pictures and fewer
epochs. ``--plain`` leaves out what is drawn by chance, ``--eager`` takes PYNATIVE_MODE.
"""

import json
import logging
import sys
from pathlib import Path

import numpy as np

SIZE, CHARACTERS = 160, 37
MEAN, STD = [123.675, 116.28, 103.53], [58.395, 57.12, 57.375]
NORMALIZE = {"bgr_to_rgb": False, "is_hwc": True, "mean": MEAN, "std": STD}
DECODE = {"DecodeImage": {"img_mode": "RGB", "to_float32": False}}
CHANCE = [
    {"RandomHorizontalFlip": {"p": 0.5}},
    {"RandomRotate": {"degrees": [-10, 10], "expand_canvas": False, "p": 1.0}},
    {"RandomScale": {"scale_range": [0.8, 1.5], "p": 1.0}}]
CROP = {"RandomCropWithBBox": {"max_tries": 10, "min_crop_ratio": 0.1,
                               "crop_size": [SIZE, SIZE], "p": 1.0}}
MAPS = [
    {"ValidatePolygons": None}, {"ShrinkBinaryMap": {"min_text_size": 8, "shrink_ratio": 0.4}},
    {"BorderMap": {"shrink_ratio": 0.4, "thresh_min": 0.3, "thresh_max": 0.7}}]
COLOURS = {"RandomColorAdjust": {"brightness": 0.1255, "saturation": 0.5}}
END = [{"NormalizeImage": NORMALIZE}, {"ToCHWImage": None}]
RESIZE = {"DetResize": {"target_size": [SIZE, SIZE], "keep_ratio": False, "limit_type": "none",
                        "divisor": 32}}
READ = {"RecResizeNormForInfer": {"target_height": 32, "target_width": 100, "keep_ratio": False,
                                  "padding": False, "norm_before_pad": False}}
LABEL = {"RecCTCLabelEncode": {"max_text_len": 23, "character_dict_path": None,
                               "use_space_char": False, "lower": True}}


def settings(kind: str, plain: bool) -> dict:
    """The file of settings of a job."""
    both = {"system": {"seed": 42, "drop_overflow_update": False, "amp_level": "O0"},
            "loss_scaler": {"type": "dynamic", "loss_scale": 512, "scale_factor": 2,
                            "scale_window": 1000}}
    if kind == "det":
        return both | {
            "model": {"type": "det", "transform": None,
                      "backbone": {"name": "det_resnet18", "pretrained": False},
                      "neck": {"name": "DBFPN", "out_channels": 64, "bias": False},
                      "head": {"name": "DBHead", "k": 50, "bias": False, "adaptive": True}},
            "postprocess": {"name": "DBPostprocess", "box_type": "quad", "binary_thresh": 0.3,
                            "box_thresh": 0.6, "max_candidates": 1000, "expand_ratio": 1.5},
            "metric": {"name": "DetMetric", "main_indicator": "f-score"},
            "loss": {"name": "DBLoss", "eps": 1e-6, "l1_scale": 10, "bce_scale": 5,
                     "bce_replace": "bceloss"},
            "scheduler": {"scheduler": "polynomial_decay", "lr": 0.007, "num_epochs": 8,
                          "decay_rate": 0.9, "warmup_epochs": 1},
            "optimizer": {"opt": "SGD", "filter_bias_and_bn": False, "momentum": 0.9,
                          "weight_decay": 1e-4},
            "train": dataset("det", "train", [
                DECODE, {"DetLabelEncode": None}, *([] if plain else [*CHANCE, CROP]), *MAPS,
                *([] if plain else [COLOURS]), *END],
                ["image", "binary_map", "mask", "thresh_map", "thresh_mask"], [1, 2, 3, 4], 8),
            "eval": dataset("det", "val", [DECODE, {"DetLabelEncode": None}, RESIZE, *END],
                            ["image", "polys", "ignore_tags", "shape_list"], [1, 2], 1),
            "predict": dataset("det", "val", [DECODE, RESIZE, *END],
                               ["image", "shape_list"], [], 1)}
    return both | {
        "model": {"type": "rec", "transform": None,
                  "backbone": {"name": "rec_vgg7", "pretrained": False},
                  "neck": {"name": "RNNEncoder", "hidden_size": 256},
                  "head": {"name": "CTCHead", "weight_init": "crnn_customised",
                           "bias_init": "crnn_customised", "out_channels": CHARACTERS}},
        "postprocess": {"name": "RecCTCLabelDecode", "character_dict_path": None,
                        "use_space_char": False},
        "metric": {"name": "RecMetric", "main_indicator": "acc", "character_dict_path": None,
                   "ignore_space": True, "print_flag": False},
        "loss": {"name": "CTCLoss", "pred_seq_len": 24, "max_label_len": 23, "batch_size": 8},
        "scheduler": {"scheduler": "warmup_cosine_decay", "min_lr": 1e-6, "lr": 0.001,
                      "num_epochs": 6, "warmup_epochs": 0, "decay_epochs": 6},
        "optimizer": {"opt": "adamw", "filter_bias_and_bn": True, "momentum": 0.95,
                      "weight_decay": 1e-4, "nesterov": False},
        "train": dataset("rec", "train", [
            DECODE, LABEL, {"RecResizeImg": {"image_shape": [32, 100], "infer_mode": False,
                                             "character_dict_path": None, "padding": False}},
            {"NormalizeImage": NORMALIZE | {"mean": [127.0] * 3, "std": [127.0] * 3}},
            {"ToCHWImage": None}], ["image", "text_seq"], [1], 8),
        "eval": dataset("rec", "val", [DECODE, LABEL, READ, {"ToCHWImage": None}],
                        ["image", "text_padded", "text_length"], [1, 2], 16),
        "predict": dataset("rec", "val", [DECODE, READ, {"ToCHWImage": None}],
                           ["image"], [], 16)}


def dataset(kind: str, split: str, pipeline: list, columns: list, labels: list, batch: int) -> dict:
    return {
        "ckpt_save_dir": kind, "dataset_sink_mode": False, "ckpt_load_path": f"{kind}/best.ckpt",
        "dataset": {
            "type": "DetDataset" if kind == "det" else "RecDataset", "dataset_root": "pictures",
            "data_dir": f"{kind}_{split}", "label_file": f"{kind}_{split}.txt",
            "sample_ratio": 1.0, "shuffle": split == "train", "transform_pipeline": pipeline,
            "output_columns": columns, "net_input_column_index": [0],
            "label_column_index": labels},
        "loader": {"shuffle": split == "train", "batch_size": batch,
                   "drop_remainder": split == "train", "num_workers": 1, "max_rowsize": 12}}


def draw_pictures(kind: str, split: str, count: int, seed: int) -> None:
    """Numbers of three to five digits: one on each strip, or two in each square."""
    import cv2

    random = np.random.default_rng(seed)
    folder = Path("pictures") / f"{kind}_{split}"
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        height, words = (SIZE, 2) if kind == "det" else (32, 1)
        picture = random.integers(150, 200, (height, SIZE if kind == "det" else 100, 3), np.uint8)
        found = []
        for word in range(words):
            text = "".join(map(str, random.integers(0, 10, int(random.integers(3, 6)))))
            left = int(random.integers(2, 60 if kind == "det" else 12))
            base = int(random.integers(40, 65)) + 75 * word if kind == "det" else 25
            cv2.putText(picture, text, (left, base), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (20, 20, 20), 2)
            (width, high), low = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, 0.8, 2)
            right, top, bottom = min(left + width, SIZE - 1), base - high - 2, base + low
            found.append({"transcription": text, "points": [
                [left, top], [right, top], [right, bottom], [left, bottom]]})
        cv2.imwrite(str(folder / f"{number}.png"), picture)
        label = json.dumps(found) if kind == "det" else found[0]["transcription"]
        lines.append(f"{number}.png\t{label}")
    Path(f"pictures/{kind}_{split}.txt").write_text("\n".join(lines) + "\n")


def train(cfg, kind: str, resume: bool) -> None:
    import mindspore as ms
    from mindocr.data import build_dataset
    from mindocr.losses import build_loss
    from mindocr.metrics import build_metric
    from mindocr.models import build_model
    from mindocr.optim import create_group_params, create_optimizer
    from mindocr.postprocess import build_postprocess
    from mindocr.scheduler import create_scheduler
    from mindocr.utils.callbacks import EvalSaveCallback
    from mindocr.utils.checkpoint import resume_train_network
    from mindocr.utils.loss_scaler import get_loss_scales
    from mindocr.utils.model_wrapper import NetWithLossWrapper
    from mindocr.utils.train_step_wrapper import TrainOneStepWrapper

    batches = build_dataset(cfg.train.dataset, cfg.train.loader, is_train=True)
    tests = build_dataset(cfg.eval.dataset, cfg.eval.loader, is_train=False,
                          refine_batch_size=True)
    network = build_model(cfg.model, ckpt_load_path=None, amp_level=cfg.system.amp_level)
    loss = build_loss(cfg.loss.pop("name"), **cfg["loss"])
    both = NetWithLossWrapper(
        network, loss, input_indices=cfg.train.dataset.pop("net_input_column_index"),
        label_indices=cfg.train.dataset.pop("label_column_index"), pred_cast_fp32=False)
    scale, optimizer_scale = get_loss_scales(cfg)
    rates = create_scheduler(batches.get_dataset_size(), **cfg["scheduler"])
    cfg.optimizer.update({"lr": rates, "loss_scale": optimizer_scale})
    optimizer = create_optimizer(
        create_group_params(network.trainable_params(), **cfg.optimizer), **cfg.optimizer)
    begin = 0
    if resume:
        begin, scale.loss_scale_value, scale.cur_iter, scale.last_overflow_iter = (
            resume_train_network(network, optimizer, f"{kind}/train_resume.ckpt"))
    step = TrainOneStepWrapper(
        both, optimizer=optimizer, scale_sense=scale,
        drop_overflow_update=cfg.system.drop_overflow_update, gradient_accumulation_steps=1,
        clip_grad=True, clip_norm=10.0)
    callback = EvalSaveCallback(
        network, tests, postprocessor=build_postprocess(cfg.postprocess),
        metrics=[build_metric(cfg.metric, device_num=None, save_dir=cfg.train.ckpt_save_dir)],
        rank_id=None, device_num=None, batch_size=cfg.train.loader.batch_size,
        ckpt_save_dir=cfg.train.ckpt_save_dir, main_indicator=cfg.metric.main_indicator,
        loader_output_columns=cfg.eval.dataset.output_columns,
        input_indices=cfg.eval.dataset.pop("net_input_column_index"),
        label_indices=cfg.eval.dataset.pop("label_column_index"), val_interval=2,
        val_start_epoch=2, log_interval=2, ckpt_save_policy="latest_k", ckpt_max_keep=2,
        start_epoch=begin)
    end = cfg.scheduler.num_epochs - (0 if resume else 2)  # as if it had been stopped
    ms.Model(step).train(end, batches, callbacks=[callback],
                         dataset_sink_mode=cfg.train.dataset_sink_mode, initial_epoch=begin)


def evaluate(cfg) -> dict:
    from mindocr.data import build_dataset
    from mindocr.metrics import build_metric
    from mindocr.models import build_model
    from mindocr.postprocess import build_postprocess
    from mindocr.utils.evaluator import Evaluator

    tests = build_dataset(cfg.eval.dataset, cfg.eval.loader, is_train=False,
                          refine_batch_size=True)
    network = build_model(cfg.model, ckpt_load_path=cfg.eval.ckpt_load_path, amp_level="O0")
    network.set_train(False)
    return Evaluator(
        network, tests, loss_func=None, postprocessor=build_postprocess(cfg.postprocess),
        metrics=[build_metric(cfg.metric)], num_epochs=1,
        loader_output_columns=cfg.eval.dataset.output_columns,
        input_indices=cfg.eval.dataset.pop("net_input_column_index"),
        label_indices=cfg.eval.dataset.pop("label_column_index")).eval()


def predict(cfg) -> None:
    from mindocr.data import build_dataset
    from mindocr.models import build_model
    from mindocr.postprocess import build_postprocess

    cfg.predict.dataset.update(type="PredictDataset", dataset_root="",
                               data_dir=f"pictures/{cfg.predict.dataset.data_dir}")
    del cfg.predict.dataset["label_file"]
    pictures = build_dataset(cfg.predict.dataset, cfg.predict.loader, is_train=False)
    network = build_model(cfg.model, ckpt_load_path=cfg.eval.ckpt_load_path, amp_level="O0")
    network.set_train(False)
    decode = build_postprocess(cfg.postprocess)
    for row in pictures.create_tuple_iterator(num_epochs=1, do_copy=False):
        more = {"shape_list": row[1]} if len(row) > 1 else {}
        print(decode(network(row[0]), **more))
        break


def main() -> None:
    import mindspore as ms
    from addict import Dict
    from mindocr.utils.logger import set_logger
    from mindocr.utils.seed import set_seed

    kind, job, *options = sys.argv[1:]
    cfg = Dict(settings(kind, "--plain" in options))
    ms.set_context(mode=ms.PYNATIVE_MODE if "--eager" in options else ms.GRAPH_MODE)
    Path(kind).mkdir(exist_ok=True)
    set_logger(name="mindocr", output_dir=kind, rank=0, log_level=logging.INFO)
    set_seed(cfg.system.seed)
    if job == "train":
        draw_pictures(kind, "train", 64 if kind == "det" else 32, 1)
        draw_pictures(kind, "val", 16, 2)
        train(cfg, kind, False)
    elif job == "resume":
        train(cfg, kind, True)
    elif job == "eval":
        print(evaluate(cfg))
    else:
        predict(cfg)


if __name__ == "__main__":
    main()
