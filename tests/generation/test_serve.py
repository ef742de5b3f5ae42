"""The example server, as a real process with real clients."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import socket
import threading
import time

import pytest

import lamella

from ..zygote import Started

pytest.importorskip("fastapi", reason="the server needs FastAPI (extra `serve`)")
pytest.importorskip("uvicorn", reason="the server needs uvicorn (extra `serve`)")
SERVER = pathlib.Path(lamella.__file__).parents[1] / "examples" / "serve.py"


def asked(port: int, method: str, path: str, body: object = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def active(port: int) -> int:
    return json.loads(asked(port, "GET", "/health")[1])["active"]


@pytest.fixture(scope="module")
def port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    process = Started(SERVER, "--port", number, "--steps", 0, "--slots", 4,
                      env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        for _ in range(300):
            assert process.poll() is None, "the server has ended"
            try:
                active(number)
                break
            except OSError:
                time.sleep(0.2)
        yield number
    finally:
        process.kill()
        process.communicate()


def test_eight_clients_at_once_get_what_one_gets(port):
    def body(n: int) -> dict[str, object]:
        return {"prompt": f"import {n}", "max_tokens": 20, "temperature": 0.7 * (n % 2), "seed": n}

    def text(n: int) -> str:
        status, answer = asked(port, "POST", "/v1/completions", body(n))
        assert status == 200
        return json.loads(answer)["choices"][0]["text"]

    alone, together = {n: text(n) for n in range(8)}, {}
    threads = [threading.Thread(target=lambda n=n: together.update({n: text(n)}))
               for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert together == alone and all(len(t) == 20 for t in alone.values())


def test_penalties_change_what_is_written(port):
    def text(**penalty: float) -> str:
        body = {"prompt": "aaaa", "max_tokens": 24, "temperature": 0, **penalty}
        status, answer = asked(port, "POST", "/v1/completions", body)
        assert status == 200
        return json.loads(answer)["choices"][0]["text"]

    plain = text()
    assert len(set(plain)) < 24 == len(set(text(presence_penalty=1000))) == len(
        set(text(frequency_penalty=1000)))
    assert text(repetition_penalty=1) == plain != text(repetition_penalty=5)


def test_a_stream_is_the_same_in_parts(port):
    messages = {"messages": [{"role": "user", "content": "def"}], "max_tokens": 12,
                "temperature": 0}
    whole = json.loads(asked(port, "POST", "/v1/chat/completions", messages)[1])
    _, stream = asked(port, "POST", "/v1/chat/completions", {**messages, "stream": True})
    events = [line.removeprefix("data: ") for line in stream.split("\n\n") if line]
    assert events[-1] == "[DONE]" and len(events) == 14
    parts = [json.loads(e)["choices"][0]["delta"]["content"] for e in events[:-1]]
    assert "".join(parts) == whole["choices"][0]["message"]["content"]


def test_a_client_that_goes_away_frees_its_place(port):
    with socket.create_connection(("127.0.0.1", port), 60) as client:
        body = json.dumps({"prompt": "x", "max_tokens": 250, "stream": True})
        client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json"
                       f"\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        assert client.recv(64)
    for _ in range(200):
        if not active(port):
            break
        time.sleep(0.1)
    assert active(port) == 0


@pytest.mark.parametrize("body", [{}, {"prompt": ""}, {"prompt": "a", "max_tokens": -1},
                                  {"prompt": "a", "temperature": -2}, {"prompt": "a", "seed": "b"},
                                  {"prompt": "a", "repetition_penalty": 0},
                                  {"prompt": "a", "presence_penalty": "b"}])
def test_wrong_requests_are_refused(port, body):
    status, answer = asked(port, "POST", "/v1/completions", body)
    assert status == 400 and "detail" in answer
