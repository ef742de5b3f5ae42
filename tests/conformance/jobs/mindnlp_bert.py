"""MindNLP's fine-tuning of BERT on sentiment, with its own `Trainer`, on made-up sentences.

In an empty folder, with MindNLP 0.4.0 on PYTHONPATH, and T the path of this file:

    python -m lamella run $T
    python -m lamella run $T resume
"""

import sys

import numpy as np

GOOD, BAD, NEITHER = range(10, 40), range(40, 70), range(70, 99)


class Sentences:
    """Ten words each, six of which are good or bad ones."""

    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.rows = []
        for number in range(count):
            kind = number % 2
            words = np.concatenate([rng.choice(GOOD if kind else BAD, 6), rng.choice(NEITHER, 4)])
            tokens = np.concatenate([[2], rng.permutation(words), [3]]).astype(np.int64)
            self.rows.append((tokens, np.ones(12, np.int64), np.int64(kind)))

    def __getitem__(self, number):
        return self.rows[number]

    def __len__(self):
        return len(self.rows)


def accuracy(found):
    logits, labels = found
    logits = logits[0] if isinstance(logits, tuple) else logits
    return {"accuracy": float((logits.argmax(-1) == labels).mean())}


def main():
    import mindspore as ms
    from mindnlp.engine import Trainer, TrainingArguments
    from mindnlp.transformers import BertConfig, BertForSequenceClassification
    from mindspore.dataset import GeneratorDataset

    def rows(count, seed):
        columns = ["input_ids", "attention_mask", "labels"]
        return GeneratorDataset(Sentences(count, seed), columns, shuffle=False).batch(8)

    resume = sys.argv[1:] == ["resume"]
    ms.set_seed(1)
    network = BertForSequenceClassification(BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, num_labels=2))
    trainer = Trainer(
        model=network, train_dataset=rows(96, 0), eval_dataset=rows(32, 1),
        compute_metrics=accuracy, args=TrainingArguments(
            output_dir="out", num_train_epochs=4.0 if resume else 3.0, learning_rate=2e-3,
            logging_steps=4, evaluation_strategy="epoch", save_strategy="epoch",
            per_device_train_batch_size=8))
    print(trainer.train(resume_from_checkpoint=resume or None))
    print(trainer.evaluate())


if __name__ == "__main__":
    main()
