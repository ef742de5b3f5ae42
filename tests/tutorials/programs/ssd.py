"""A single-shot detector finds squares: MindRecord files, anchors, multi-box loss, suppression."""

import io

import mindspore as ms
import mindspore.dataset as de
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore import Tensor
from mindspore.amp import DynamicLossScaler
from mindspore.common.initializer import TruncatedNormal, initializer
from mindspore.common.parameter import ParameterTuple
from mindspore.dataset import vision
from mindspore.mindrecord import FileWriter
from mindspore.nn.learning_rate_schedule import LearningRateSchedule
from PIL import Image

ms.set_seed(7)
rng = np.random.default_rng(0)
SIDE, GRID, SCALES, CLASSES = 48, 6, (0.25, 0.45), 3
PRIOR = 0.1, 0.2  # the scales of centres and of sizes in the coded boxes


def write_records(path, count=16):
    """Pictures of a red small or a green large square, with boxes as top, left, bottom, right."""
    writer = FileWriter(path, shard_num=1, overwrite=True)
    writer.add_schema({"img_id": {"type": "int32", "shape": [1]}, "image": {"type": "bytes"},
                       "annotation": {"type": "int32", "shape": [-1, 5]}}, "squares")
    for i in range(count):
        kind = i % 2 + 1
        size = (14, 24)[kind - 1]
        top, left = rng.integers(0, SIDE - size, 2)
        picture = rng.integers(0, 40, (SIDE, SIDE, 3)).astype(np.uint8)
        picture[top:top + size, left:left + size, kind - 1] = 220
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "PNG")
        boxes = np.array([[top, left, top + size, left + size, kind]], np.int32)
        writer.write_raw_data([{"img_id": np.array([i], np.int32), "image": file.getvalue(),
                                "annotation": boxes}])
    writer.commit()


def default_boxes():
    """Centre and size (y, x, height, width) of every anchor: squares of two sizes in each cell."""
    cells = (np.arange(GRID) + 0.5) / GRID
    boxes = [(y, x, s, s) for y in cells for x in cells for s in SCALES]
    return np.array(boxes, np.float32)


def corners(boxes):
    return np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)


def iou(box, boxes):
    shared = np.clip(np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2]), 0, None)
    size = boxes[:, 2:] - boxes[:, :2]
    return shared.prod(1) / (np.prod(box[2:] - box[:2]) + size.prod(1) - shared.prod(1))


ANCHORS = default_boxes()


def ssd_bboxes_encode(boxes):
    """What each anchor has to say: offsets to its box, the box's class, how many anchors match."""
    t_boxes = np.zeros((len(ANCHORS), 4), np.float32)
    t_label = np.zeros(len(ANCHORS), np.int32)
    for *box, label in boxes:
        box = np.array(box, np.float32) / SIDE
        overlap = iou(box, corners(ANCHORS))
        overlap[overlap.argmax()] = 2
        matched = overlap > 0.5
        centre, size = (box[:2] + box[2:]) / 2, box[2:] - box[:2]
        t_label[matched] = label
        t_boxes[matched, :2] = (centre - ANCHORS[matched, :2]) / ANCHORS[matched, 2:] / PRIOR[0]
        t_boxes[matched, 2:] = np.log(size / ANCHORS[matched, 2:]) / PRIOR[1]
    return t_boxes, t_label, np.array([np.count_nonzero(t_label)], np.int32)


def ssd_bboxes_decode(offsets):
    centre = offsets[:, :2] * PRIOR[0] * ANCHORS[:, 2:] + ANCHORS[:, :2]
    return corners(np.concatenate([centre, np.exp(offsets[:, 2:] * PRIOR[1]) * ANCHORS[:, 2:]], 1))


def create_ssd_dataset(mindrecord_file, batch_size):
    ds = de.MindDataset(mindrecord_file, columns_list=["img_id", "image", "annotation"],
                        shuffle=False)
    ds = ds.map(operations=vision.Decode(), input_columns=["image"])
    def encode(img_id, image, annotation):
        return image, *ssd_bboxes_encode(annotation)

    ds = ds.map(operations=encode,
                input_columns=["img_id", "image", "annotation"],
                output_columns=["image", "box", "label", "num_match"])
    ds = ds.map(operations=[vision.Normalize(mean=[40.0] * 3, std=[60.0] * 3), vision.HWC2CHW()],
                input_columns=["image"])
    return ds.batch(batch_size, drop_remainder=True)


def conv(channels, out_channels, stride):
    return [nn.Conv2d(channels, out_channels, 3, stride, pad_mode="same"),
            nn.BatchNorm2d(out_channels, eps=1e-3, momentum=0.9), nn.ReLU6()]


class FlattenConcat(nn.Cell):
    def __init__(self):
        super().__init__()
        self.num_ssd_boxes = len(ANCHORS)

    def construct(self, inputs):
        output = ()
        for x in inputs:
            x = ops.transpose(x, (0, 2, 3, 1))
            output += (ops.reshape(x, (ops.shape(x)[0], -1)),)
        res = ops.concat(output, axis=1)
        return ops.reshape(res, (ops.shape(res)[0], self.num_ssd_boxes, -1))


class MultiBox(nn.Cell):
    def __init__(self, channels):
        super().__init__()
        self.loc = nn.CellList([nn.Conv2d(channels, 4 * len(SCALES), 3, has_bias=True)])
        self.cls = nn.CellList([nn.Conv2d(channels, CLASSES * len(SCALES), 3, has_bias=True)])
        self.flatten_concat = FlattenConcat()

    def construct(self, inputs):
        loc_outputs, cls_outputs = (), ()
        for i in range(len(self.loc)):
            loc_outputs += (self.loc[i](inputs[i]),)
            cls_outputs += (self.cls[i](inputs[i]),)
        return self.flatten_concat(loc_outputs), self.flatten_concat(cls_outputs)


class SSD(nn.Cell):
    def __init__(self):
        super().__init__()
        self.backbone = nn.SequentialCell(
            conv(3, 16, 2) + conv(16, 24, 2) + conv(24, 32, 2) + conv(32, 32, 1))
        self.multi_box = MultiBox(32)

    def construct(self, x):
        pred_loc, pred_label = self.multi_box((self.backbone(x),))
        if not self.training:
            pred_label = ops.sigmoid(pred_label)
        return pred_loc, pred_label.astype(ms.float32)


def class_loss(logits, label):
    """The focal loss of each anchor."""
    label = ops.one_hot(label, ops.shape(logits)[-1], Tensor(1.0, ms.float32),
                        Tensor(0.0, ms.float32))
    weight, pos_weight = ops.ones_like(logits), ops.ones_like(logits)
    cross_entropy = ops.binary_cross_entropy_with_logits(
        logits, label, weight, pos_weight, reduction="none")
    sigmoid = ops.sigmoid(logits)
    p_t = label * sigmoid + (1 - label) * (1 - sigmoid)
    alpha_factor = label * 0.75 + (1 - label) * 0.25
    return ops.pow(1 - p_t, 2.0) * alpha_factor * cross_entropy


write_records("squares.mindrecord")
dataset = create_ssd_dataset("squares.mindrecord", 8)
assert dataset.get_dataset_size() == 2
img, box, label, num = next(dataset.create_tuple_iterator(num_epochs=1))
assert img.shape == (8, 3, SIDE, SIDE) and box.shape == (8, len(ANCHORS), 4)
assert (num.asnumpy() > 0).all() and num.asnumpy().sum() == np.count_nonzero(label.asnumpy())

network = SSD()
for param in network.trainable_params():
    if "beta" not in param.name and "gamma" not in param.name and "bias" not in param.name:
        param.set_data(initializer(TruncatedNormal(0.05), param.data.shape, param.data.dtype))


def forward_fn(x, gt_loc, gt_label, num_matched_boxes):
    pred_loc, pred_label = network(x)
    mask = ops.greater(gt_label, 0).astype(ms.float32)
    num_matched_boxes = ops.reduce_sum(num_matched_boxes.astype(ms.float32))
    smooth_l1 = ops.smooth_l1_loss(pred_loc, gt_loc, reduction="none")
    mask_loc = ops.tile(ops.expand_dims(mask, -1), (1, 1, 4))
    loss_loc = ops.reduce_sum(ops.reduce_mean(smooth_l1 * mask_loc, -1), -1)
    loss_cls = ops.reduce_sum(class_loss(pred_label, gt_label), (1, 2))
    return ops.reduce_sum((loss_cls + loss_loc) / num_matched_boxes)


class WarmUpCosine(LearningRateSchedule):
    def __init__(self, peak, warm_up, total):
        super().__init__()
        self.warm = nn.WarmUpLR(peak, warm_up)
        self.fall = nn.CosineDecayLR(0.0, peak, total)
        self.warm_up = warm_up

    def construct(self, global_step):
        if global_step < self.warm_up:
            return self.warm(global_step)
        return self.fall(global_step)


opt = nn.Momentum(filter(lambda p: p.requires_grad, network.get_parameters()),
                  WarmUpCosine(0.02, 20, 140), 0.9, 1.5e-4, loss_scale=1024.0)
assert isinstance(opt.parameters, ParameterTuple)
loss_scaler = DynamicLossScaler(scale_value=1024, scale_factor=2, scale_window=1000)


def scaled_forward(*batch):
    return loss_scaler.scale(forward_fn(*batch))


grad_fn = ms.value_and_grad(scaled_forward, None, opt.parameters)


def train_step(x, gt_loc, gt_label, num_matched_boxes):
    loss, grads = grad_fn(x, gt_loc, gt_label, num_matched_boxes)
    opt(grads)
    return loss_scaler.unscale(loss)


network.set_train()
eager, grads = grad_fn(img, box, label, num)
compiled, compiled_grads = ms.jit(grad_fn)(img, box, label, num)
np.testing.assert_allclose(eager.asnumpy(), compiled.asnumpy(), rtol=1e-4)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy() / 1024, b.asnumpy() / 1024, rtol=1e-3, atol=1e-4)

compiled_step = ms.jit(train_step)
losses = [float(compiled_step(*batch)) for _ in range(70)
          for batch in dataset.create_tuple_iterator(num_epochs=1)]
assert losses[-1] < 0.3 * losses[0], losses


def apply_nms(all_boxes, all_scores, thres, max_boxes):
    """Keeps the best box, drops those that overlap it too much, goes on with the rest."""
    order = np.argsort(-all_scores)
    keep = []
    while len(order) and len(keep) < max_boxes:
        keep.append(order[0])
        order = order[1:][iou(all_boxes[order[0]], all_boxes[order[1:]]) <= thres]
    return keep


# the operator of the framework keeps the same boxes; its answer is in the order of the scores
scattered = np.concatenate([rng.uniform(0, 30, (30, 2)), np.zeros((30, 2))], 1)
scattered[:, 2:] = scattered[:, :2] + rng.uniform(8, 20, (30, 2))
marks = rng.permutation(30) / 30
sorted_boxes, _, kept = ops.NMSWithMask(0.4)(
    Tensor(np.concatenate([scattered, marks[:, None]], 1), ms.float32))
wanted = apply_nms(scattered, marks, thres=0.4, max_boxes=30)
assert 1 < len(wanted) < 30
np.testing.assert_allclose(sorted_boxes.asnumpy()[kept.asnumpy(), :4], scattered[wanted], rtol=1e-6)

# coding and decoding are each other's inverse; then boxes found against boxes drawn
coded, kinds, _ = ssd_bboxes_encode(np.array([[4, 6, 18, 20, 1]]))
back = ssd_bboxes_decode(coded)[kinds > 0] * SIDE
np.testing.assert_allclose(back, np.tile([4, 6, 18, 20], (len(back), 1)), atol=1e-3)
network.set_train(False)
found = 0
for x, gt_loc, gt_label, _ in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
    pred_loc, pred_label = network(Tensor(x))
    for loc, scores, true_loc, true in zip(pred_loc.asnumpy(), pred_label.asnumpy(), gt_loc,
                                           gt_label, strict=True):
        boxes, first = ssd_bboxes_decode(loc), np.nonzero(true)[0][0]
        kind = true[first]
        best = apply_nms(boxes, scores[:, kind], thres=0.6, max_boxes=1)[0]
        drawn = ssd_bboxes_decode(true_loc)[first]
        found += scores[best, 1:].argmax() + 1 == kind and iou(drawn, boxes[best:best + 1])[0] > 0.5
assert found >= 13, found
