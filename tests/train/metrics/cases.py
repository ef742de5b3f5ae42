"""What `recorded.json` was recorded for: names, keywords and inputs of metrics."""

import numpy as np


def cases():
    """Name, keywords, and the inputs of each batch."""
    r = np.random.RandomState(0)
    s = r.rand(12, 4).astype(np.float32)
    y = r.randint(0, 4, 12).astype(np.int32)
    s2 = r.rand(12, 4).astype(np.float32)
    y2 = r.randint(0, 4, 12).astype(np.int32)
    m = (r.rand(6, 3, 5) > .5).astype(np.int32)
    n = (r.rand(6, 3, 5) > .5).astype(np.int32)
    seg1 = np.zeros((9, 9), np.int32)
    seg1[2:6, 3:8] = 1
    seg2 = np.zeros((9, 9), np.int32)
    seg2[3:8, 2:6] = 1
    p = r.rand(20).astype(np.float32)
    q = r.randint(0, 2, 20).astype(np.int32)
    prob = np.exp(s) / np.exp(s).sum(1, keepdims=True)
    hot = np.eye(4, dtype=np.float32)[y]
    out = []
    for name in ("Accuracy", "Precision", "Recall", "F1"):
        out.append((name, {}, [(s, y), (s2, y2)]))
        out.append((name, {}, [(s, hot)]))
    for name in ("Accuracy", "Precision", "Recall"):
        out.append((name, {"eval_type": "multilabel"}, [(m, n), (n, n)]))
    out.append(("Fbeta", {"beta": 2}, [(s, y), (s2, y2)]))
    for k in (1, 2, 3):
        out.append(("TopKCategoricalAccuracy", {"k": k}, [(s, y), (s2, y2)]))
    out += [("MAE", {}, [(s, s2), (s2, s)]), ("MSE", {}, [(s, s2), (s2, s)]),
            ("Loss", {}, [(p,), (q.astype(np.float32),)]), ("Dice", {}, [(s, s2), (s2, s)]),
            ("Perplexity", {}, [(prob, y)]), ("Perplexity", {"ignore_label": 1}, [(prob, y)]),
            ("ROC", {"pos_label": 1}, [(p, q)]),
            ("ROC", {"class_num": 4}, [(np.abs(np.eye(4, dtype=np.float32) - s[:4] * .3),
                                        np.arange(4, dtype=np.int32))])]
    for red in ("none", "sum", "mean"):
        out.append(("CosineSimilarity", {"reduction": red}, [(s[:4],)]))
    out.append(("CosineSimilarity", {"similarity": "dot", "zero_diagonal": False}, [(s[:4],)]))
    for norm in ("no_norm", "target", "prediction", "all"):
        out.append(("ConfusionMatrix", {"num_classes": 4, "normalize": norm}, [(s, y), (y2, y)]))
    out.append(("ConfusionMatrix", {"num_classes": 2}, [(p, q)]))
    names = "sensitivity specificity ppv npv fnr fpr fdr for pt ts acc ba f1 mcc fm bm mk".split()
    for name in names:
        out.append(("ConfusionMatrixMetric", {"metric_name": name}, [(m, n), (n, m)]))
    for name in ("tpr", "f1", "mcc"):
        out.append(("ConfusionMatrixMetric", {"metric_name": name, "calculation_method": True,
                                              "skip_channel": False}, [(m, n), (n, m)]))
    for kind in ("euclidean", "chessboard", "taxicab"):
        out.append(("HausdorffDistance", {"distance_metric": kind}, [(seg1, seg2, 1)]))
        out.append(("HausdorffDistance", {"distance_metric": kind, "percentile": 80.0,
                                          "directed": True}, [(seg1, seg2, 0)]))
        for sym in (False, True):
            for name in ("MeanSurfaceDistance", "RootMeanSquareDistance"):
                out.append((name, {"distance_metric": kind, "symmetric": sym},
                            [(seg1, seg2, 1)]))
    c = [["i", "have", "a", "pen", "on", "my", "desk"], "the cat sat on the mat".split()]
    f = [[["i", "have", "a", "pen", "in", "my", "desk"],
          ["there", "is", "a", "pen", "on", "the", "desk"]], ["a cat sat on the mat".split()]]
    for k in (1, 3, 4):
        for sm in (False, True):
            out.append(("BleuScore", {"n_gram": k, "smooth": sm}, [(c, f)]))
    return out
