"""Reviews are praise or blame: vectors from a file in GloVe's format, a bidirectional LSTM."""

import math
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore.common.initializer import HeUniform, Uniform, _calculate_fan_in_and_fan_out

ms.set_seed(5)
rng = np.random.default_rng(0)
GOOD, BAD = ["superb", "moving", "witty", "bright"], ["dull", "hollow", "stale", "clumsy"]
PLAIN = ["the", "film", "plot", "was", "and", "its", "scene", "a"]
SIZE, LENGTH = 12, 10


def write_files():
    """`glove.txt` holds a word and its numbers in each line; a review is a file of its own."""
    words = GOOD + BAD + PLAIN
    Path("glove.txt").write_text("".join(
        f"{w} {' '.join(f'{v:.4f}' for v in rng.normal(size=SIZE))}\n" for w in words))
    for label, mood in ("pos", GOOD), ("neg", BAD):
        folder = Path("train", label)
        folder.mkdir(parents=True)
        for i in range(40):
            review = list(rng.choice(PLAIN, rng.integers(4, 12))) + ["unheard-of"]
            review[rng.integers(0, 6) % len(review)] = rng.choice(mood)
            review.insert(0, rng.choice(mood))
            Path(folder, f"{i}.txt").write_text(" ".join(review).title() + ".\n")


class IMDBData:
    label_map = {"pos": 1, "neg": 0}

    def __init__(self, path):
        self.docs, self.labels = [], []
        for label in self.label_map:
            for file in sorted(Path(path, label).glob("*.txt")):
                self.docs.append(file.read_text().rstrip(".\n").lower().split())
                self.labels.append([self.label_map[label]])

    def __getitem__(self, idx):
        return np.array(self.docs[idx]), np.array(self.labels[idx], np.float32)

    def __len__(self):
        return len(self.docs)


def load_glove(path):
    tokens, embeddings = [], []
    with open(path, encoding="utf-8") as glove:
        for line in glove:
            word, embedding = line.split(maxsplit=1)
            tokens.append(word)
            embeddings.append(np.fromstring(embedding, dtype=np.float32, sep=" "))
    embeddings += [np.full(SIZE, 0.01, np.float32), np.zeros(SIZE, np.float32)]
    vocab = ds.text.Vocab.from_list(tokens, special_tokens=["<unk>", "<pad>"], special_first=False)
    return vocab, np.array(embeddings).astype(np.float32)


class RNN(nn.Cell):
    def __init__(self, embeddings, hidden_dim, output_dim, n_layers, bidirectional, pad_idx):
        super().__init__()
        vocab_size, embedding_dim = embeddings.shape
        self.embedding = nn.Embedding(vocab_size, embedding_dim,
                                      embedding_table=ms.Tensor(embeddings), padding_idx=pad_idx)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, num_layers=n_layers,
                           bidirectional=bidirectional, batch_first=True)
        weight_init = HeUniform(math.sqrt(5))
        fan_in, _ = _calculate_fan_in_and_fan_out((output_dim, hidden_dim * 2))
        bias_init = Uniform(1 / math.sqrt(fan_in * 2))
        self.fc = nn.Dense(hidden_dim * 2, output_dim, weight_init=weight_init,
                           bias_init=bias_init)

    def construct(self, inputs):
        embedded = self.embedding(inputs)
        _, (hidden, _) = self.rnn(embedded)
        hidden = ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1)
        return self.fc(hidden)


write_files()
vocab, embeddings = load_glove("glove.txt")
# what stands in the file is what is looked up; the special words come last
line = Path("glove.txt").read_text().splitlines()[vocab.tokens_to_ids("stale")].split()
assert line[0] == "stale" and vocab.ids_to_tokens(0) == GOOD[0]
assert vocab.tokens_to_ids(["<unk>", "<pad>"]) == [16, 17] and len(vocab.vocab()) == 18
np.testing.assert_allclose(embeddings[vocab.vocab()["stale"]], np.float32(line[1:]))

dataset = ds.GeneratorDataset(IMDBData("train"), column_names=["text", "label"], shuffle=True)
lookup_op = ds.text.Lookup(vocab, unknown_token="<unk>")
pad_op = ds.transforms.PadEnd([LENGTH], pad_value=vocab.tokens_to_ids("<pad>"))
cut_op = ds.transforms.Slice(slice(0, LENGTH))
type_cast_op = ds.transforms.TypeCast(ms.float32)
dataset = dataset.map(operations=[lookup_op, cut_op, pad_op], input_columns=["text"])
dataset = dataset.map(operations=[type_cast_op], input_columns=["label"])
train_data, valid_data = dataset.split([0.7, 0.3])
train_data, valid_data = (d.batch(8, drop_remainder=True) for d in (train_data, valid_data))
assert (train_data.get_dataset_size(), valid_data.get_dataset_size()) == (7, 3)

model = RNN(embeddings, 16, 1, 2, True, vocab.tokens_to_ids("<pad>"))
loss_fn = nn.BCEWithLogitsLoss(reduction="mean")
optimizer = nn.Adam(model.trainable_params(), learning_rate=0.02)


def forward_fn(data, label):
    return loss_fn(model(data), label)


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
data, label = next(train_data.create_tuple_iterator())
assert data.shape == (8, LENGTH) and data.dtype == ms.int32 and 16 in data.asnumpy()
compiled_grad = ms.jit(grad_fn)
loss, grads = grad_fn(data, label)
compiled_loss, compiled_grads = compiled_grad(data, label)
np.testing.assert_allclose(loss.asnumpy(), compiled_loss.asnumpy(), rtol=1e-5)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-6)


@ms.jit
def train_step(data, label):
    loss, grads = grad_fn(data, label)
    optimizer(grads)
    return loss


def epoch_loss():
    model.set_train()
    return np.mean([float(train_step(d, t)) for d, t in train_data.create_tuple_iterator()])


first, *_, last = (epoch_loss() for _ in range(8))
assert last < 0.5 * first, (first, last)


def binary_accuracy(preds, y):
    rounded_preds = np.around(ops.sigmoid(preds).asnumpy())
    return (rounded_preds == y).astype(np.float32).mean()


model.set_train(False)
scores = [binary_accuracy(model(d), t.asnumpy()) for d, t in valid_data.create_tuple_iterator()]
assert np.mean(scores) > 0.85, scores

ms.save_checkpoint(model, "sentiment.ckpt")
again = RNN(embeddings, 16, 1, 2, True, vocab.tokens_to_ids("<pad>"))
assert ms.load_param_into_net(again, ms.load_checkpoint("sentiment.ckpt"))[0] == []
again.set_train(False)


def predict_sentiment(sentence):
    ids = ms.Tensor(vocab.tokens_to_ids(sentence.lower().split()), ms.int32).expand_dims(0)
    return {0: "Negative", 1: "Positive"}[int(np.round(ops.sigmoid(again(ids)).asnumpy())[0, 0])]


assert predict_sentiment("witty and moving the plot was superb") == "Positive"
assert predict_sentiment("dull and hollow the plot was stale") == "Negative"
