"""Steps of training a small Stable Diffusion of MindONE's, beside Hugging Face's ``diffusers``.

With MindONE 0.5.0, ``diffusers`` 0.35.2, ``transformers`` and ``omegaconf`` on PYTHONPATH:

    python -m lamella run tests/conformance/jobs/mindone_diffusion.py

Each line has a step's loss on both sides, from the same weights; the last one what more steps take.
"""

import tempfile
import time

import numpy as np

STEPS, RATE, MORE = 4, 1e-3, 20
UNET = {"sample_size": 8, "in_channels": 4, "out_channels": 4, "layers_per_block": 1,
        "block_out_channels": (32, 64), "cross_attention_dim": 32, "attention_head_dim": 8,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D")}


def batch():
    """Latents, noise, times, and what the text encoder gave."""
    rng = np.random.default_rng(0)
    latents, noise = rng.standard_normal((2, 2, 4, 8, 8)).astype(np.float32)
    return latents, noise, np.array([10, 500]), rng.standard_normal((2, 7, 32)).astype(np.float32)


def main():
    import diffusers
    import mindspore as ms
    import torch
    from mindone import diffusers as mindone
    from mindspore import nn, ops

    torch.manual_seed(0)
    theirs = diffusers.UNet2DConditionModel(**UNET).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = mindone.UNet2DConditionModel.from_pretrained(folder)
    noising, our_noising = (package.DDPMScheduler(num_train_timesteps=1000)
                            for package in (diffusers, mindone))
    adam = torch.optim.Adam(theirs.parameters(), RATE)
    optimizer = nn.Adam(ours.trainable_params(), RATE)

    def loss_of(latents, noise, times, text):
        noisy = our_noising.add_noise(latents, noise, times)
        return ops.mse_loss(ours(noisy, times, text)[0], noise)

    gradient = ms.value_and_grad(loss_of, None, optimizer.parameters)
    latents, noise, times, text = map(torch.from_numpy, batch())

    def our_step():
        loss, gradients = gradient(*map(ms.Tensor, batch()))
        optimizer(gradients)
        return float(loss)

    def their_step():
        found = theirs(noising.add_noise(latents, noise, times), times, text).sample
        wanted = torch.nn.functional.mse_loss(found, noise)
        adam.zero_grad()
        wanted.backward()
        adam.step()
        return float(wanted)

    for step in range(STEPS):
        print(f"step {step}: {our_step():.6f} and {their_step():.6f}")
    took = [0.0, 0.0]
    for _ in range(MORE):
        for side, run in enumerate((our_step, their_step)):
            begin = time.process_time()
            run()
            took[side] += time.process_time() - begin
    print(*(f"{1e3 * seconds / MORE:.1f}" for seconds in took), "ms of processor time a step")


if __name__ == "__main__":
    main()
