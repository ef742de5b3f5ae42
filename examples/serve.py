"""A language model behind an API like OpenAI's, for many clients at once.

    pip install "lamella[serve]"
    python examples/serve.py [--port 8000] [--steps 300] [--slots 8]

Trains a small decoder of bytes on this file, and serves it: `/v1/completions` and
`/v1/chat/completions`, as a whole or as a stream, and `/health`. All clients share one batch; a
client that goes away frees its place in the cache.
"""

import argparse
import asyncio
import json
import pathlib
import threading
import time

import numpy as np
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import StreamingResponse

import lamella as ms
from lamella import nn, ops
from lamella.generation import Generator, Sampling, WholeSequence

WIDTH, HEADS, CONTEXT = 96, 4, 256
RULE = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0, "repetition_penalty": 1.0,
        "presence_penalty": 0.0, "frequency_penalty": 0.0}  # what requests may say, and usually


class Block(nn.Cell):
    """Attention, then two dense layers, each added to what comes in."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.mlp = nn.SequentialCell(nn.Dense(WIDTH, 4 * WIDTH), nn.GELU(),
                                     nn.Dense(4 * WIDTH, WIDTH))

    def construct(self, x, cache):
        batch, length, _ = x.shape
        q, k, v = (part.reshape(batch, length, HEADS, -1)
                   for part in ops.split(self.qkv(self.norm1(x)), WIDTH, axis=2))
        x = x + self.out(cache.attention(q, k, v).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Cell):
    """Bytes (B, T) to scores of the next ones (B, T, 256)."""

    def __init__(self, layers=3):
        super().__init__()
        self.token, self.place = nn.Embedding(256, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.CellList([Block() for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, 256)

    def construct(self, tokens, cache=None):
        cache = cache or WholeSequence(tokens)
        x = self.token(tokens) + self.place(cache.positions)
        for block in self.blocks:
            x = block(x, cache)
        return self.head(self.norm(cache.last(x)))


def trained(steps):
    """A decoder that has read this file."""
    ms.set_seed(1)
    net, text = Decoder(), np.frombuffer(pathlib.Path(__file__).read_bytes(), np.uint8)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 2e-3)
    gradient = ms.value_and_grad(lambda x, y: ops.cross_entropy(
        net(x).reshape(-1, 256), y.reshape(-1)), None, optimizer.parameters)
    rng = np.random.default_rng(0)

    @ms.jit
    def step(x, y):
        loss, gradients = gradient(x, y)
        optimizer(gradients)
        return loss

    for _ in range(steps):
        starts = rng.integers(0, len(text) - 65, 8)
        rows = np.stack([text[s:s + 65] for s in starts]).astype(np.int32)
        loss = step(ms.Tensor(rows[:, :-1]), ms.Tensor(rows[:, 1:]))
    if steps:
        print(f"loss after {steps} steps: {float(loss):.2f}")
    return net


class Engine:
    """Runs the generator's steps in a thread as long as there is work."""

    def __init__(self, generator):
        self.generator, self.awake = generator, threading.Event()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            self.awake.wait()
            self.awake.clear()
            while self.generator.step():
                pass

    async def tokens(self, prompt, **options):
        """The bytes that follow a prompt, as they come."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue()
        request = self.generator.submit(
            prompt, on_token=lambda token: loop.call_soon_threadsafe(queue.put_nowait, token),
            **options)
        self.awake.set()
        given = 0
        try:
            while not (request.is_finished and given == len(request.tokens)):
                try:
                    token = await asyncio.wait_for(queue.get(), 0.1)
                except asyncio.TimeoutError:
                    continue  # has it ended without a token?
                given += 1
                yield token
        finally:
            request.cancel()  # no effect if it has ended
            self.awake.set()


def application(generator):
    """The API of a generator of bytes."""
    app, engine = FastAPI(), Engine(generator)

    def chunk(kind, text, reason=None):
        part = {"text": text} if kind == "text_completion" else {
            "delta" if kind.endswith("chunk") else "message":
            {"role": "assistant", "content": text}}
        return {"object": kind, "created": int(time.time()), "model": "bytes",
                "choices": [{"index": 0, "finish_reason": reason, **part}]}

    async def answer(http, body, prompt, kind):
        try:
            rule = {name: type(usual)(body.get(name, usual)) for name, usual in RULE.items()}
            options = {"max_new_tokens": int(body.get("max_tokens", 64)),
                       "sampling": Sampling(**rule)}
            data = list(prompt.encode())[-generator.capacity // 2:]
            if not data or options["max_new_tokens"] < 1:
                raise ValueError("'prompt' and 'max_tokens' must not be empty")
        except (TypeError, ValueError) as error:
            raise HTTPException(400, str(error)) from None
        tokens = engine.tokens(data, **options)
        if body.get("stream"):
            streamed = kind if kind == "text_completion" else f"{kind}.chunk"

            async def events():
                async for token in tokens:
                    yield f"data: {json.dumps(chunk(streamed, chr(token)))}\n\n"
                yield f"data: {json.dumps(chunk(streamed, '', 'stop'))}\n\ndata: [DONE]\n\n"

            return StreamingResponse(events(), media_type="text/event-stream")
        written = bytearray()
        async for token in tokens:
            written.append(token)
            if await http.is_disconnected():
                await tokens.aclose()
                break
        return chunk(kind, written.decode("latin-1"), "stop")

    @app.post("/v1/completions")
    async def completions(http: Request):
        body = await http.json()
        return await answer(http, body, str(body.get("prompt", "")), "text_completion")

    @app.post("/v1/chat/completions")
    async def chat(http: Request):
        body = await http.json()
        prompt = "\n".join(str(m.get("content", "")) for m in body.get("messages", []))
        return await answer(http, body, prompt, "chat.completion")

    @app.get("/v1/models")
    def models():
        return {"object": "list", "data": [{"id": "bytes", "object": "model"}]}

    @app.get("/health")
    def health():
        return {"active": generator.active, **generator.report()}

    return app


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--steps", type=int, default=300, help="of training")
    parser.add_argument("--slots", type=int, default=8, help="sequences at once")
    given = parser.parse_args()
    generator = Generator(trained(given.steps), capacity=CONTEXT, slots=given.slots)
    uvicorn.run(application(generator), host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
