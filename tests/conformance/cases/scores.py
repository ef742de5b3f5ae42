"""Metrics: what they give for one batch and for two, and what they refuse."""

from ..spec import many

NAMES = ("sensitivity specificity precision npv miss_rate fall_out fdr for pt ts accuracy ba f1 "
         "mcc fm bm mk").split()
TOGETHER = "none mean sum mean_batch sum_batch mean_channel sum_channel".split()


def _given(metric: str, *batches: str) -> str:
    updates = ", ".join(f"its.update({batch})" for batch in batches)
    value = "[Tensor(np.array(v, float)) for v in its.eval()]" if metric.startswith(
        "ROC") else "Tensor(np.array(its.eval(), float))"
    return f"(lambda its: ({updates}, {value})[-1])(ms.train.{metric})"


CONFUSION = [
    *(f"ConfusionMatrixMetric({skip}, '{name}', {each}, 'mean')" for name in NAMES
      for skip in (True, False) for each in (True, False)),
    *(f"ConfusionMatrixMetric(True, '{name}', True, '{how}')" for name in ("f1", "pt", "recall")
      for how in TOGETHER),
]
CLASSES = [
    "Accuracy()", "Precision()", "Recall()", "F1()", "Fbeta(0.5)", "Fbeta(2.0)",
    "Top1CategoricalAccuracy()", "TopKCategoricalAccuracy(2)", "TopKCategoricalAccuracy(9)",
    "ConfusionMatrix(4)", "ConfusionMatrix(4, 'target')", "ConfusionMatrix(4, 'prediction')",
    "ConfusionMatrix(4, 'all')", "ConfusionMatrix(3)", "Top5CategoricalAccuracy()",
]
PAIRS = ["MAE()", "MSE()", "Dice()", "Dice(1.0)", "Accuracy('multilabel')"]
SURFACES = [
    *(f"{name}({symmetric}, '{distance}')" for name in (
        "MeanSurfaceDistance", "RootMeanSquareDistance") for symmetric in (True, False)
      for distance in ("euclidean", "chessboard", "taxicab")),
    *(f"HausdorffDistance('{distance}', {percent}, {directed})" for distance in (
        "euclidean", "chessboard", "taxicab") for percent in (None, 0.0, 50.0, 100.0)
      for directed in (True, False)),
]
MASKS = ("Tensor(np.pad(np.ones((4, 3), np.int32), ((1, 3), (2, 3))))",
         "Tensor(np.pad(np.ones((3, 5), np.int32), ((3, 2), (1, 2))))")
SENTENCES = ("[['a', 'b', 'c', 'd', 'e'], ['x', 'y', 'z']], "
             "[[['a', 'b', 'c', 'e', 'd'], ['b', 'c', 'd']], [['x', 'y', 'z', 'w']]]")
AREAS = [
    *(f"np.array({list(x)}), np.array({list(y)})" for x, y in (
        ((0.0, 0.3, 1.0), (0.0, 0.5, 1.0)), ((1.0, 0.3, 0.0), (0.0, 0.5, 1.0)),
        ((0.3, 0.0, 1.0), (0.5, 0.0, 1.0)), ((0.3,), (0.5,)), ((0.3, 0.5), (0.5,)))),
    "np.array([0.3, 0.0, 1.0, 0.3]), np.array([0.5, 0.0, 1.0, 0.2]), True",
    "[0.3, 0.5], np.array([0.5, 1.0])",
]

CASES = [
    *many("\n".join(_given(one, "(m > 0).astype(ms.int32), (n > 0).astype(ms.int32)")
                    for one in CONFUSION), m="[4,3,5]", n="[4,3,5]"),
    *many("\n".join(_given(one, "(m > 0).astype(ms.int32), (n > 0).astype(ms.int32)",
                           "(n > 1).astype(ms.int32), (m > 0).astype(ms.int32)")
                    for one in CONFUSION[::3]), m="[4,3]", n="[4,3]"),
    *many("\n".join(_given(one, *batches) for one in CLASSES for batches in (
        ("x, y",), ("x, y", "x * 2, 3 - y"), ("x, ops.one_hot(y, 4)",), ("x, y + 2",),
        ("x, y[:2]",), ("x[:, :3], y", "x, y"), ("x",))), x="[5,4]+", y="int32[5]=1,0,3,1,2"),
    *many("\n".join(_given(one, *batches) for one in CLASSES[:6] for batches in (("x, y",),)),
          x="[2,4,3]+", y="int32[2,3]=1,0,3,1,2,2"),
    *many("\n".join(_given(one, *batches) for one in PAIRS for batches in (
        ("x, y",), ("x, y", "y, x + 1"), ("x, y[:2]",), ("x > 0, y > 1",),
        ("(x > 0).astype(ms.int32), (y > 1).astype(ms.int32)",))), x="[5,4]", y="[5,4]"),
    *many("\n".join(_given(one, f"{MASKS[i]}, {MASKS[j]}, {label}") for one in SURFACES
                    for i, j, label in ((0, 1, 1), (1, 0, 1), (0, 1, 7)))),
    *many("\n".join(_given(f"BleuScore({n}, {smooth})", SENTENCES) for n in (1, 2, 3, 4, 5)
                    for smooth in (True, False))),
    *many("\n".join(_given(f"CosineSimilarity('{kind}', '{how}', {zero})", "x")
                    for kind in ("cosine", "dot", "x") for how in ("none", "sum", "mean")
                    for zero in (True, False)), x="[4,3]"),
    *many("\n".join(_given(f"Perplexity({label})", *batches) for label in ("", 1, 9)
                    for batches in (("x, y",), ("x, y", "x * 2, 3 - y"), ("x, y[:2]",))),
          x="[5,4]+", y="int32[5]=1,0,3,1,2"),
    *many("\n".join(_given(one, "x, y") for one in ("ROC(None, 1)", "ROC(1)", "ROC(None, 0)")),
          x="[6]^", y="int32[6]=1,0,1,1,0,0"),
    *many("\n".join(_given(one, "x, y") for one in ("ROC(3)", "ROC(2)", "ROC(3, 1)", "ROC()")),
          x="[3,3]^", y="int32[3]=1,0,2"),
    *many("\n".join(f"Tensor(np.array(ms.train.auc({given}), float))" for given in AREAS)),
]
