"""LoRA of MindFormers (with MindPet) and of MindNLP beside Hugging Face's ``peft``, same weights.

Give a Python the packages (``pip install --no-deps --target ...``, on PYTHONPATH), then::

    python -m lamella run tests/conformance/adapters.py NAME

NAME is mindformers, mindformers-graph or mindnlp. A small Llama trains its adapters for five steps
of Adam on both sides. Printed are the losses'
largest difference, how many Parameters have changed, whether all of them are adapters, and how far
what the merged network gives is from what the adapted one gave, and from ``peft``'s.
"""

import sys

import numpy as np

RANK, ALPHA, STEPS, RATE = 4, 8, 5, 1e-2
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj"]
LLAMA = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 2, "intermediate_size": 64, "vocab_size": 128,
         "max_position_embeddings": 64, "pad_token_id": 0}
OURS = {"batch_size": 4, "seq_length": 16, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
        "n_kv_heads": 2, "vocab_size": 128, "intermediate_size": 64, "multiple_of": 1,
        "rms_norm_eps": 1e-6, "use_past": False, "pad_token_id": 0, "use_flash_attention": False,
        **dict.fromkeys(("compute_dtype", "layernorm_compute_type", "softmax_compute_type",
                         "rotary_dtype", "param_init_type"), "float32")}
NAMES = [("model.tok_embeddings.embedding_weight", "model.embed_tokens.weight"),
         ("attention.w", "self_attn."), ("attention_norm", "input_layernorm"),
         ("ffn_norm", "post_attention_layernorm"), ("feed_forward.w1", "mlp.gate_proj"),
         ("feed_forward.w2", "mlp.down_proj"), ("feed_forward.w3", "mlp.up_proj"),
         ("norm_out", "norm"), ("self_attn.q.", "self_attn.q_proj."),
         ("self_attn.k.", "self_attn.k_proj."), ("self_attn.v.", "self_attn.v_proj."),
         ("self_attn.o.", "self_attn.o_proj."), ("mindpet_delta_lora_a", "lora_A.default.weight"),
         ("mindpet_delta_lora_b", "lora_B.default.weight")]


def tokens():
    return np.random.default_rng(0).integers(3, 127, (STEPS, 4, 17)).astype(np.int32)


class Theirs:
    """The network of Hugging Face's, with adapters by ``peft``."""

    def __init__(self):
        import peft
        import torch
        import transformers

        torch.manual_seed(1)
        self.torch = torch
        plain = transformers.LlamaForCausalLM(transformers.LlamaConfig(
            **LLAMA, attn_implementation="eager"))
        self.weights = {k: v.numpy().copy() for k, v in plain.state_dict().items()}
        self.network = peft.get_peft_model(plain, peft.LoraConfig(
            r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=TARGETS,
            task_type="CAUSAL_LM"))
        self.adapters = {name.removeprefix("base_model.model."): p
                         for name, p in self.network.named_parameters() if p.requires_grad}
        rng = np.random.default_rng(2)
        for name, p in self.adapters.items():
            if "lora_A" in name:
                p.data.copy_(torch.from_numpy(rng.normal(size=p.shape) * 0.05))
        self.optimizer = torch.optim.Adam(self.adapters.values(), RATE)

    def step(self, rows):
        found = self.torch.from_numpy(rows).long()
        logits = self.network(found[:, :-1]).logits
        loss = self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), found[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss)

    def logits(self, rows):
        with self.torch.no_grad():
            return self.network(self.torch.from_numpy(rows).long()).logits.numpy()


def _theirs(name):
    for ours, theirs in NAMES:
        name = name.replace(ours, theirs)
    return name.removeprefix("base_model.model.")


def by_mindformers(theirs, graph):
    """Losses, logits, those of the merged network, and the names of what has changed."""
    import mindspore as ms
    from mindformers.models.llama import LlamaConfig, LlamaForCausalLM
    from mindformers.pet import get_pet_model
    from mindformers.pet.pet_config import LoraConfig
    from mindspore import nn

    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)

    def made():
        network = LlamaForCausalLM(LlamaConfig(**OURS))
        for p in network.get_parameters():
            p.set_data(ms.Tensor(theirs.weights[_theirs(p.name)]))
        return network

    adapted = get_pet_model(made(), LoraConfig(
        lora_rank=RANK, lora_alpha=ALPHA, lora_dropout=0.0,
        target_modules=".*wq|.*wk|.*wv|.*wo|.*w1"))
    weights = adapted.trainable_params()
    for p in weights:
        p.set_data(ms.Tensor(theirs.adapters[_theirs(p.name)].detach().numpy().copy()))
    before = {p.name: p.asnumpy().copy() for p in adapted.get_parameters()}
    step = nn.TrainOneStepCell(adapted, nn.Adam(weights, RATE))
    step.set_train()
    losses = [float(np.ravel(step(ms.Tensor(rows)).asnumpy())[0]) for rows in tokens()]
    step.set_train(False)
    held = {p.name: p.asnumpy() for p in adapted.get_parameters()}
    plain = made()
    for p in plain.get_parameters():
        lora = p.name.removesuffix("weight") + "mindpet_delta_lora_"
        product = 0
        if lora + "a" in held:
            product = held[lora + "b"] @ held[lora + "a"] * (ALPHA / RANK)
        p.set_data(ms.Tensor(held[p.name] + product))
    plain.set_train(False)

    def logits(network):
        return network(ms.Tensor(tokens()[0][:, :16]))[0].asnumpy()

    return (losses, logits(adapted), logits(plain),
            [n for n, old in before.items() if not np.array_equal(old, held[n])], "lora")


def by_mindnlp(theirs):
    """The same for MindNLP."""
    import mindspore as ms
    from mindnlp.core import optim
    from mindnlp.peft import LoraConfig, get_peft_model
    from mindnlp.transformers import LlamaConfig, LlamaForCausalLM

    network = LlamaForCausalLM(LlamaConfig(**LLAMA, attn_implementation="eager"))
    for name, p in network.named_parameters():
        p.assign_value(ms.Tensor(theirs.weights[name]))
    adapted = get_peft_model(network, LoraConfig(
        r=RANK, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM"))
    weights = {name: p for name, p in adapted.named_parameters() if p.requires_grad}
    for name, p in weights.items():
        p.assign_value(ms.Tensor(theirs.adapters[_theirs(name)].detach().numpy().copy()))
    before = {name: p.asnumpy().copy() for name, p in adapted.named_parameters()}
    optimizer = optim.AdamW(list(weights.values()), lr=RATE, weight_decay=0.0)
    gradient = ms.value_and_grad(lambda x: adapted(input_ids=x, labels=x).loss, None,
                                 tuple(weights.values()))
    losses = []
    for rows in tokens():
        loss, gradients = gradient(ms.Tensor(rows, ms.int64))
        optimizer.step(gradients)
        losses.append(float(loss))
    changed = [name for name, p in adapted.named_parameters()
               if not np.array_equal(before[name], p.asnumpy())]
    x = ms.Tensor(tokens()[0][:, :16], ms.int64)
    own = adapted(input_ids=x).logits.asnumpy()
    return losses, own, adapted.merge_and_unload()(input_ids=x).logits.asnumpy(), changed, "lora"


def main():
    kind = sys.argv[1]
    theirs = Theirs()
    losses, own, merged, changed, mark = (by_mindnlp(theirs) if kind == "mindnlp" else
                                          by_mindformers(theirs, kind.endswith("graph")))
    wanted = [theirs.step(rows) for rows in tokens()]
    apart = theirs.logits(tokens()[0][:, :16])
    print(f"{kind}: losses {np.abs(np.subtract(losses, wanted)).max():.0e} apart, {len(changed)} "
          f"Parameters changed, {'all' if all(mark in n for n in changed) else 'not all'} of them "
          f"adapters; merged {np.abs(merged - own).max():.0e} from adapted, "
          f"{np.abs(own - apart).max():.0e} from peft's")


if __name__ == "__main__":
    main()
