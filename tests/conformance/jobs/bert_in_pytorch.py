"""The job of `mindnlp_bert.py` by Hugging Face's BERT under PyTorch, to see what each takes.

    python bert_in_pytorch.py                   # with transformers on PYTHONPATH

The same sentences, sizes, batches, epochs, rate and rule (AdamW, a rate that falls linearly), with
evaluation after each epoch.
"""

import time

import torch
from mindnlp_bert import Sentences
from transformers import BertConfig, BertForSequenceClassification


def batches(count, seed):
    rows = Sentences(count, seed)
    for first in range(0, count, 8):
        tokens, mask, labels = zip(*(rows[first + i] for i in range(8)), strict=True)
        yield {"input_ids": torch.tensor(tokens), "attention_mask": torch.tensor(mask),
               "labels": torch.tensor(labels)}


def main():
    torch.manual_seed(1)
    network = BertForSequenceClassification(BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=32, num_labels=2))
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 36)
    for epoch in range(3):
        start = time.process_time()
        network.train()
        for batch in batches(96, 0):
            loss = network(**batch).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        took = time.process_time() - start
        network.eval()
        with torch.no_grad():
            right = sum(int((network(**b).logits.argmax(-1) == b["labels"]).sum())
                        for b in batches(32, 1))
        print(f"epoch {epoch}: loss {loss.item():.4f}, accuracy {right / 32:.3f}, "
              f"{1e3 * took / 12:.1f} ms a step")


if __name__ == "__main__":
    main()
