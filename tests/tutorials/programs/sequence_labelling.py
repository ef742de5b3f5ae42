"""An LSTM with a conditional random field on top finds the names of places in sentences."""

from itertools import pairwise, product

import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
import numpy as np
from mindspore.common.initializer import Uniform, initializer

ms.set_seed(6)


def sequence_mask(seq_length, max_length, batch_first=False):
    """True where a sequence still has elements."""
    range_vector = ops.arange(0, max_length, 1, dtype=seq_length.dtype)
    result = range_vector < seq_length.view(seq_length.shape + (1,))
    return result if batch_first else result.swapaxes(0, 1)


def compute_score(emissions, tags, seq_ends, mask, trans, start_trans, end_trans):
    seq_length, batch_size = tags.shape
    mask = mask.astype(emissions.dtype)
    score = start_trans[tags[0]]
    score += emissions[0, ops.arange(batch_size), tags[0]]
    for i in range(1, seq_length):
        score += trans[tags[i - 1], tags[i]] * mask[i]
        score += emissions[i, ops.arange(batch_size), tags[i]] * mask[i]
    last_tags = tags[seq_ends, ops.arange(batch_size)]
    score += end_trans[last_tags]
    return score


def compute_normalizer(emissions, mask, trans, start_trans, end_trans):
    seq_length = emissions.shape[0]
    score = start_trans + emissions[0]
    for i in range(1, seq_length):
        next_score = score.expand_dims(2) + trans + emissions[i].expand_dims(1)
        next_score = ops.logsumexp(next_score, 1)
        score = ops.where(mask[i].expand_dims(1), next_score, score)
    return ops.logsumexp(score + end_trans, 1)


def viterbi_decode(emissions, mask, trans, start_trans, end_trans):
    seq_length = mask.shape[0]
    score = start_trans + emissions[0]
    history = ()
    for i in range(1, seq_length):
        next_score = score.expand_dims(2) + trans + emissions[i].expand_dims(1)
        indices = next_score.argmax(axis=1)
        history += (indices,)
        next_score = next_score.max(axis=1)
        score = ops.where(mask[i].expand_dims(1), next_score, score)
    return score + end_trans, history


def post_decode(score, history, seq_length):
    best = []
    seq_ends = seq_length - 1
    for idx in range(seq_length.shape[0]):
        tags = [int(score[idx].argmax())]
        for hist in reversed(history[:int(seq_ends[idx])]):
            tags.append(int(hist[idx][tags[-1]]))
        best.append(tags[::-1])
    return best


class CRF(nn.Cell):
    def __init__(self, num_tags, batch_first=False, reduction="sum"):
        super().__init__()
        self.num_tags, self.batch_first, self.reduction = num_tags, batch_first, reduction
        self.start_transitions = ms.Parameter(
            initializer(Uniform(0.1), (num_tags,)), name="start_transitions")
        self.end_transitions = ms.Parameter(
            initializer(Uniform(0.1), (num_tags,)), name="end_transitions")
        self.transitions = ms.Parameter(
            initializer(Uniform(0.1), (num_tags, num_tags)), name="transitions")

    def construct(self, emissions, tags=None, seq_length=None):
        if tags is None:
            return self._decode(emissions, seq_length)
        return self._forward(emissions, tags, seq_length)

    def _forward(self, emissions, tags=None, seq_length=None):
        if self.batch_first:
            batch_size, max_length = tags.shape
            emissions = emissions.swapaxes(0, 1)
            tags = tags.swapaxes(0, 1)
        else:
            max_length, batch_size = tags.shape
        if seq_length is None:
            seq_length = ops.fill(ms.int64, (batch_size,), max_length)
        mask = sequence_mask(seq_length, max_length)
        numerator = compute_score(emissions, tags, seq_length - 1, mask, self.transitions,
                                  self.start_transitions, self.end_transitions)
        denominator = compute_normalizer(emissions, mask, self.transitions,
                                         self.start_transitions, self.end_transitions)
        llh = denominator - numerator
        if self.reduction == "none":
            return llh
        if self.reduction == "sum":
            return llh.sum()
        if self.reduction == "mean":
            return llh.mean()
        return llh.sum() / mask.astype(emissions.dtype).sum()

    def _decode(self, emissions, seq_length=None):
        if self.batch_first:
            batch_size, max_length = emissions.shape[:2]
            emissions = emissions.swapaxes(0, 1)
        else:
            max_length, batch_size = emissions.shape[:2]
        if seq_length is None:
            seq_length = ops.fill(ms.int64, (batch_size,), max_length)
        mask = sequence_mask(seq_length, max_length)
        return viterbi_decode(emissions, mask, self.transitions, self.start_transitions,
                              self.end_transitions)


class BiLSTM_CRF(nn.Cell):
    def __init__(self, vocab_size, embedding_dim, hidden_dim, num_tags, padding_idx=0):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_dim, padding_idx=padding_idx)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Dense(hidden_dim, num_tags, "he_uniform")
        self.crf = CRF(num_tags, batch_first=True)

    def construct(self, inputs, seq_length, tags=None):
        embeds = self.embedding(inputs)
        outputs, _ = self.lstm(embeds, seq_length=seq_length)
        feats = self.hidden2tag(outputs)
        return self.crf(feats, tags, seq_length)


# every path is counted: the field's value and best path, found by trying all of them
rng = np.random.default_rng(0)
crf = CRF(3, reduction="none")
emissions = rng.normal(size=(4, 2, 3)).astype(np.float32)
tags, lengths = np.array([[0, 2], [1, 1], [2, 0], [0, 0]]), np.array([4, 2])
start, end, trans = (p.asnumpy() for p in (
    crf.start_transitions, crf.end_transitions, crf.transitions))


def path_score(path, row):
    steps = sum(trans[a, b] for a, b in pairwise(path))
    seen = sum(emissions[i, row, tag] for i, tag in enumerate(path))
    return start[path[0]] + steps + seen + end[path[-1]]


wanted, best = [], []
for row, length in enumerate(lengths):
    scores = {path: path_score(path, row) for path in product(range(3), repeat=int(length))}
    wanted.append(np.log(np.exp(list(scores.values())).sum())
                  - scores[tuple(tags[:length, row].tolist())])
    best.append(list(max(scores, key=scores.__getitem__)))
arguments = ms.Tensor(emissions), ms.Tensor(tags), ms.Tensor(lengths)
np.testing.assert_allclose(crf(*arguments).asnumpy(), wanted, rtol=1e-4)
np.testing.assert_allclose(ms.jit(crf)(*arguments).asnumpy(), wanted, rtol=1e-4)


@ms.jit
def decode(emissions, lengths):
    return crf(emissions, None, lengths)


for found in crf(arguments[0], None, arguments[2]), decode(arguments[0], arguments[2]):
    assert post_decode(*found, arguments[2]) == best, best

# sentences in which the words after "in" and "near" name a place
tag_to_idx = {"B": 0, "I": 1, "O": 2}
texts = [("we met in Green Harbour", "O O O B I"), ("Tom lives near Oslo today", "O O O B O"),
         ("rain fell in Oslo", "O O O B"), ("ships near Green Harbour wait", "O O B I O"),
         ("Tom met rain today", "O O O O"), ("we wait in Lima", "O O O B")]
training_data = [(s.split(), t.split()) for s, t in texts]
word_to_idx = {"<pad>": 0}
for sentence, _ in training_data:
    for word in sentence:
        word_to_idx.setdefault(word, len(word_to_idx))


def prepare_sequence(seqs):
    seq_length, max_len = [len(seq[0]) for seq in seqs], max(len(seq[0]) for seq in seqs)
    data = [[word_to_idx[w] for w in s] + [0] * (max_len - len(s)) for s, _ in seqs]
    label = [[tag_to_idx[t] for t in ts] + [2] * (max_len - len(ts)) for _, ts in seqs]
    return ms.Tensor(data, ms.int64), ms.Tensor(label, ms.int64), ms.Tensor(seq_length, ms.int64)


data, label, seq_length = prepare_sequence(training_data)
model = BiLSTM_CRF(len(word_to_idx), 8, 8, len(tag_to_idx))
optimizer = nn.SGD(model.trainable_params(), learning_rate=0.1, weight_decay=1e-4)
grad_fn = ms.value_and_grad(model, None, optimizer.parameters)


def train_step(data, seq_length, label):
    loss, grads = grad_fn(data, seq_length, label)
    optimizer(grads)
    return loss


eager, grads = grad_fn(data, seq_length, label)
compiled, compiled_grads = ms.jit(grad_fn)(data, seq_length, label)
np.testing.assert_allclose(eager.asnumpy(), compiled.asnumpy(), rtol=1e-5)
for a, b in zip(grads, compiled_grads, strict=True):
    np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-5)

compiled_step = ms.jit(train_step)
for _ in range(100):
    loss = compiled_step(data, seq_length, label)
assert float(loss) < 0.1 * float(eager), (eager, loss)
score, history = model(data, seq_length)
idx_to_tag = {idx: tag for tag, idx in tag_to_idx.items()}
found = [" ".join(idx_to_tag[i] for i in path) for path in post_decode(score, history, seq_length)]
assert found == [tags for _, tags in texts], found
