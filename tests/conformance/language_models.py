"""Small models of MindONE's beside Hugging Face's ``transformers`` under PyTorch, same weights.

Give a Python both (``pip install --no-deps --target ...``, on PYTHONPATH), then::

    python -m lamella run tests/conformance/language_models.py [NAME ...]

A line is printed for each model: the largest difference of what it gives, of its loss, of all
gradients (over the largest gradient), and whether `generate` gives the same tokens: greedily, and
by three beams.
"""

import sys
import tempfile
import traceback

import numpy as np

TEXT = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
        "intermediate_size": 64, "vocab_size": 99, "max_position_embeddings": 64}
GROUPED = {**TEXT, "num_key_value_heads": 2, "pad_token_id": 0}
DEEPSEEK = {**TEXT, "num_key_value_heads": 4, "pad_token_id": 0, "q_lora_rank": 16,
            "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
            "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
            "moe_intermediate_size": 16, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}
GPT2 = {"n_embd": 32, "n_head": 4, "n_layer": 2, "vocab_size": 99, "n_positions": 64,
        "bos_token_id": 1, "eos_token_id": 2}
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99,
      "decoder_start_token_id": 0}
PICTURE = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2,
           "intermediate_size": 64, "image_size": 16, "patch_size": 4}
CLIP = {"text_config": {**TEXT, "projection_dim": 16, "eos_token_id": 98},
        "vision_config": {**PICTURE, "projection_dim": 16}, "projection_dim": 16}
WHISPER = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
           "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
           "vocab_size": 99, "num_mel_bins": 8, "max_source_positions": 12,
           "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
           "decoder_start_token_id": 1, "suppress_tokens": None, "begin_suppress_tokens": None}

# name -> class, class of its configuration, configuration, kinds of inputs
MODELS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2, "text"),
    "llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED, "text"),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPED, "text"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**GROUPED, "head_dim": 8, "use_cache": False},
              "text"),
    "glm4": ("Glm4ForCausalLM", "Glm4Config", {**GROUPED, "head_dim": 8}, "text"),
    "deepseek_v2": ("DeepseekV2ForCausalLM", "DeepseekV2Config", DEEPSEEK, "text"),
    "bert": ("BertForMaskedLM", "BertConfig", TEXT, "masked"),
    "t5": ("T5ForConditionalGeneration", "T5Config", T5, "pairs"),
    "vit": ("ViTForImageClassification", "ViTConfig", {**PICTURE, "num_labels": 5}, "picture"),
    "clip": ("CLIPModel", "CLIPConfig", CLIP, "both"),
    "whisper": ("WhisperForConditionalGeneration", "WhisperConfig", WHISPER, "sound"),
}


def inputs_of(kind):
    """Inputs by name, and those that `generate` starts from; None where there is none."""
    rng = np.random.default_rng(0)
    tokens = rng.integers(3, 98, (2, 10))
    labels = np.ascontiguousarray(tokens[:, :7])
    picture = rng.standard_normal((2, 3, 16, 16)).astype(np.float32)
    if kind == "text":
        return {"input_ids": tokens, "labels": tokens}, {"input_ids": tokens[:, :6]}
    if kind == "masked":
        return {"input_ids": tokens, "labels": tokens}, None
    if kind == "pairs":
        return {"input_ids": tokens, "labels": labels}, {"input_ids": tokens}
    if kind == "picture":
        return {"pixel_values": picture, "labels": np.array([1, 4])}, None
    if kind == "both":
        return {"input_ids": np.c_[tokens[:, :9], [98, 98]], "pixel_values": picture,
                "return_loss": True}, None
    sound = rng.standard_normal((2, 8, 24)).astype(np.float32)
    return {"input_features": sound, "labels": labels}, {"input_features": sound}


def _plain(name):
    """A Parameter's name as PyTorch has it."""
    for ours, theirs in ((".gamma", ".weight"), (".beta", ".bias"), (".embedding_table", ".weight"),
                         (".moving_mean", ".running_mean")):
        name = name.replace(ours, theirs)
    return name


def compare(name):
    """The line of one model."""
    import mindspore as ms
    import torch
    import transformers
    from mindone import transformers as mindone

    kind, config, options, shape = MODELS[name]
    torch.manual_seed(1)
    theirs = getattr(transformers, kind)(getattr(transformers, config)(
        **options, attn_implementation="eager")).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = getattr(mindone, kind).from_pretrained(folder, attn_implementation="eager")
    ours.set_train(False)
    given, start = inputs_of(shape)

    def told(as_tensor, values):
        return {k: as_tensor(v) if isinstance(v, np.ndarray) else v for k, v in values.items()}

    expected = theirs(**told(torch.from_numpy, given))
    expected.loss.backward()
    mine = told(ms.Tensor, {k: v.astype(np.int32) if isinstance(v, np.ndarray)
                            and v.dtype == np.int64 else v for k, v in given.items()})
    weights = ours.trainable_params()

    def run():
        found = ours(**mine, return_dict=True)
        return found[:2] if isinstance(found, tuple) else (found["loss"], found[place])

    place = "logits_per_image" if shape == "both" else "logits"
    (loss, logits), gradients = ms.value_and_grad(run, None, weights, has_aux=True)()
    wanted = {k: p.grad for k, p in theirs.named_parameters() if p.grad is not None}
    off, compared = 0.0, 0
    largest = max(float(g.abs().max()) for g in wanted.values())
    for weight, gradient in zip(weights, gradients, strict=True):
        other = wanted.get(_plain(weight.name))
        if other is not None and other.numel() == gradient.size:
            compared += 1
            there = other.numpy().reshape(gradient.shape)
            off = max(off, float(np.abs(gradient.asnumpy() - there).max()) / largest)
    apart = np.abs(logits.asnumpy() - expected[place].detach().numpy()).max()
    line = (f"{name}: results {apart:.0e}, loss {abs(float(loss) - float(expected.loss)):.0e}, "
            f"gradients {off:.0e} ({compared} of {len(wanted)})")
    return line + ("" if start is None else _generated(theirs, ours, start, told, torch, ms))


def _generated(theirs, ours, start, told, torch, ms):
    found = []
    for beams in (1, 3):
        options = {"max_new_tokens": 8, "do_sample": False, "num_beams": beams}
        wanted = theirs.generate(**told(torch.from_numpy, start), **options).numpy()
        said = ""
        for cached in (True, False):
            try:
                got = ours.generate(**told(ms.Tensor, start), **options, use_cache=cached).asnumpy()
            except Exception as error:
                said += f"stops with{'' if cached else 'out'} cache ({type(error).__name__}), "
                continue
            same = np.array_equal(got, wanted)
            said += "same" if same else f"other ({got.tolist()} for {wanted.tolist()})"
            break
        found.append(said.removesuffix(", "))
    return f", greedy {found[0]}, beams {found[1]}"


def main():
    for name in sys.argv[1:] or MODELS:
        try:
            print(compare(name), flush=True)
        except Exception:
            print(f"{name}: {traceback.format_exc(limit=-3)}", flush=True)


if __name__ == "__main__":
    main()
