"""Generation with a cache gives the tokens that whole forward passes give."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lamella as ms
from lamella import nn
from lamella.generation import Generator, Sampling, WholeSequence

from .decoders import GPT, LETTERS, Llama, followers, made
from .test_sampling import lowered

BOTH = pytest.mark.parametrize("kind", [GPT, Llama])
PROMPTS = [[3, 1, 4, 1, 5], [2], [7, 1, 8, 2, 8, 1, 8, 2, 8, 4, 5, 9, 0, 4, 5, 2, 3, 5, 3, 6],
           [1, 6, 1], [8, 0], [30, 31, 32], [60], [5, 5, 5, 5], [9, 8, 7, 6]]


@BOTH
@pytest.mark.parametrize("compiled", [True, False])
def test_a_single_sequence(kind, compiled):
    net = made(kind)
    generator = Generator(net, capacity=64, slots=4, compiled=compiled)
    for prompt in PROMPTS[:3]:
        assert generator.generate([prompt], 12) == [followers(net, prompt, 12)]


@BOTH
@pytest.mark.parametrize("compiled", [True, False])
def test_more_sequences_than_slots(kind, compiled):
    net = made(kind)
    generator = Generator(net, capacity=64, slots=4, compiled=compiled)
    lengths = [3, 17, 9, 25, 1, 14, 11, 8, 20]
    requests = [generator.submit(p, n) for p, n in zip(PROMPTS, lengths, strict=True)]
    most = 0
    while generator.step():
        most = max(most, generator.active)
    assert most == 4 and not generator.has_work
    for request, prompt, count in zip(requests, PROMPTS, lengths, strict=True):
        assert request.tokens == followers(net, prompt, count) and request.reason == "length"


@BOTH
def test_sequences_join_and_leave_and_are_cancelled(kind):
    net = made(kind)
    generator = Generator(net, capacity=64, slots=4)
    first = generator.submit(PROMPTS[0], 30)
    for _ in range(5):
        generator.step()
    gone = [generator.submit(p, 40) for p in PROMPTS[1:4]]
    for _ in range(7):
        generator.step()
    assert generator.active == 4
    for request in gone[:2]:
        request.cancel()
    assert generator.active == 2  # their slots are free
    late = generator.submit(PROMPTS[4], 20)  # into a slot that has held another sequence
    while generator.step():
        pass
    assert first.tokens == followers(net, PROMPTS[0], 30)
    assert gone[2].tokens == followers(net, PROMPTS[3], 40)
    assert late.tokens == followers(net, PROMPTS[4], 20)
    assert gone[0].reason == "cancelled" and 0 < len(gone[0].tokens) < 40
    assert gone[0].tokens == followers(net, PROMPTS[1], len(gone[0].tokens))


def test_gaps_are_filled_so_that_fewer_rows_are_computed():
    net = made(Llama)
    generator = Generator(net, capacity=64, slots=8)
    requests = [generator.submit(p, 40) for p in PROMPTS[:8]]
    for _ in range(10):
        generator.step()
    for request in requests[:7]:
        request.cancel()
    while generator.step():
        pass
    assert requests[7].tokens == followers(net, PROMPTS[7], 40)
    assert ("decode", 1, 64, "greedy") in generator._steps.graphs


def test_a_cancelled_request_never_joins():
    generator = Generator(made(GPT), capacity=32, slots=1)
    first, second = generator.submit([1], 4), generator.submit([2], 4)
    second.cancel()
    while generator.step():
        pass
    assert len(first.tokens) == 4 and second.tokens == [] and second.reason == "cancelled"


@BOTH
def test_recordings_do_not_grow_with_tokens(kind):
    generator = Generator(made(kind), capacity=128, slots=2)
    generator.generate([[1, 2, 3]], 4)
    before = generator.report()
    assert before == {"graphs": 2, "traces": 2}  # prefill, decode
    for prompt in PROMPTS[:2]:
        generator.generate([prompt], 40)
    assert generator.report() == before
    generator.generate([[4, 5]], 120)  # reaches further: one more size class of the cache
    assert generator.report() == {"graphs": 3, "traces": 3}


def test_a_sequence_ends_where_the_cache_is_full():
    net = made(Llama)
    generator = Generator(net, capacity=20, slots=2)
    assert generator.generate([PROMPTS[2][:15]], 100) == [followers(net, PROMPTS[2][:15], 5)]


def test_stop_tokens_end_a_sequence_and_are_left_out():
    net = made(GPT)
    expected = followers(net, [3, 1], 30)
    stop = expected[7]
    generator = Generator(net, capacity=64)
    request = generator.submit([3, 1], 30, stop_tokens=[stop])
    while generator.step():
        pass
    assert request.tokens == expected[:expected.index(stop)] and request.reason == "stop"


def test_streams_in_turns_and_closing_one():
    net = made(GPT)
    generator = Generator(net, capacity=64, slots=2)
    one, two = generator.stream([1, 2], 20), generator.stream([3], 20)
    got = [(next(one), next(two)) for _ in range(6)]
    two.close()
    assert generator.active == 1
    assert [a for a, _ in got] + list(one) == followers(net, [1, 2], 20)
    assert [b for _, b in got] == followers(net, [3], 6)
    assert generator.active == 0


def test_the_draw_of_a_request_does_not_depend_on_its_batch():
    net = made(Llama)
    rule = Sampling(1.2, top_k=20, top_p=0.9, seed=11)
    alone = Generator(net, capacity=64, slots=4).generate([[1, 2]], 20, rule)[0]
    generator = Generator(net, capacity=64, slots=4)
    others = [generator.submit(p, 30, s) for p, s in zip(PROMPTS[:3], (
        Sampling(), Sampling(0.7, seed=3), Sampling(2.0, top_p=0.5)), strict=True)]
    request = generator.submit([1, 2], 20, rule)
    while generator.step():
        pass
    assert request.tokens == alone
    assert others[0].tokens == followers(net, PROMPTS[0], 30)
    assert Generator(net, capacity=64, compiled=False).generate([[1, 2]], 20, rule)[0] == alone
    assert generator.generate([[1, 2]], 20, Sampling(1.2, top_k=20, top_p=0.9, seed=12))[0] != alone


def test_weights_that_change_are_used():
    net = made(GPT)
    generator = Generator(net, capacity=64)
    before = generator.generate([[1, 2]], 10)
    for weight, other in zip(net.get_parameters(), made(GPT, 9).get_parameters(), strict=True):
        weight.set_data(other)
    after = generator.generate([[1, 2]], 10)
    assert after == [followers(net, [1, 2], 10)] != before


def test_a_network_in_training_is_set_to_evaluation():
    net = made(GPT).set_train()
    generator = Generator(net, capacity=64)
    net.set_train()
    assert generator.generate([[1, 2]], 10) == [followers(net, [1, 2], 10)]
    assert not net.training


def test_threads_may_share_a_generator():
    net = made(Llama)
    generator = Generator(net, capacity=64, slots=4)
    found: dict[int, list[int]] = {}

    def run(number: int) -> None:
        found[number] = list(generator.stream(PROMPTS[number], 15))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found == {n: followers(net, PROMPTS[n], 15) for n in range(8)}


def test_a_callback_that_raises_loses_nothing_of_others():
    net = made(GPT)
    generator = Generator(net, capacity=64, slots=2)

    def refuse(token: int) -> None:
        raise RuntimeError("no")

    bad = generator.submit([1], 5, on_token=refuse)
    good = generator.submit([2, 3], 15)
    failures = 0
    while generator.has_work:
        try:
            generator.step()
        except RuntimeError:
            failures += 1
    assert failures and bad.is_finished
    assert good.tokens == followers(net, [2, 3], 15)


def test_bfloat16():
    net = made(Llama).to_float(ms.bfloat16)
    tokens = Generator(net, capacity=32).generate([[1, 2, 3]], 10)
    assert tokens == [followers(net, [1, 2, 3], 10)]


def test_scores_of_a_prompt_and_of_single_steps_are_those_of_the_whole():
    """Closer than tokens tell: the scores of each step against a whole forward pass."""
    from lamella.generation.generator import forms_of
    from lamella.generation.steps import NextTokens, Prompt

    net, tokens = made(Llama), PROMPTS[2]
    whole = net(ms.Tensor([tokens])).asnumpy()
    layers = [form.allocate(2, 32) for form in forms_of(net)]
    numbers = [ms.Tensor(n, ms.int64)._raw for n in ([1], [5])]
    prompt = net(ms.Tensor([tokens[:5] + [0] * 3]), Prompt(layers, *numbers, 8)).asnumpy()
    np.testing.assert_allclose(prompt[0, 0], whole[0, 4], rtol=1e-4, atol=1e-5)
    for at in range(5, len(tokens)):
        cache = NextTokens(layers, ms.Tensor([0, at], ms.int64)._raw, 32)
        scores = net(ms.Tensor([[9], [tokens[at]]]), cache).asnumpy()
        np.testing.assert_allclose(scores[1, 0], whole[0, at], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("given, error", [
    (dict(prompt=[]), ValueError), (dict(prompt=[1] * 16), ValueError),
    (dict(prompt=[1], max_new_tokens=0), ValueError), (dict(prompt=[1], sampling=3), TypeError)])
def test_wrong_requests(given, error):
    generator = Generator(made(GPT), capacity=16)
    with pytest.raises(error, match="Generator.submit"):
        generator.submit(**given)
    assert not generator.has_work


def test_wrong_decoders():
    class NoAttention(nn.Cell):
        def construct(self, tokens, cache):
            return ms.ops.ones((*tokens.shape, LETTERS))

    with pytest.raises(ValueError, match="attention"):
        Generator(NoAttention())
    with pytest.raises(TypeError, match="net"):
        Generator(lambda tokens, cache: tokens)
    x = ms.ops.ones((1, 2, 4, 8))
    with pytest.raises(ValueError, match="heads"):
        WholeSequence(ms.Tensor([[1, 2]])).attention(x, x[:, :, :3], x[:, :, :3])


def test_tokens_outside_of_the_vocabulary_are_refused_and_nothing_hangs():
    generator = Generator(made(GPT), capacity=16, slots=1)
    request = generator.submit([LETTERS + 5], 3)
    with pytest.raises((IndexError, ValueError, RuntimeError)):
        generator.step()
    assert request.reason == "cancelled" and not generator.has_work
    assert len(generator.generate([[1]], 3)[0]) == 3


def penalized_followers(net, prompt: list[int], count: int, rule: Sampling) -> list[int]:
    """The tokens after a prompt, greedily with penalties, from whole passes without a cache."""
    net.set_train(False)
    tokens = list(prompt)
    for _ in range(count):
        scores = net(ms.Tensor([tokens]))[0, -1].asnumpy()
        tokens.append(int(lowered(scores, tokens, len(prompt), rule).argmax()))
    return tokens[len(prompt):]


RULES = [Sampling(repetition_penalty=1.8), Sampling(), Sampling(frequency_penalty=2.0),
         Sampling(presence_penalty=5.0, repetition_penalty=0.9)]


@BOTH
@pytest.mark.parametrize("compiled", [True, False])
def test_penalties_of_each_request_in_a_batch(kind, compiled):
    net = made(kind)
    generator = Generator(net, capacity=64, slots=4, compiled=compiled)
    wanted = [penalized_followers(net, p, 25, rule)
              for p, rule in zip(PROMPTS[:4], RULES, strict=True)]
    assert all(w != followers(net, p, 25) or not rule.penalizes
               for w, p, rule in zip(wanted, PROMPTS[:4], RULES, strict=True))
    gone = generator.submit(PROMPTS[4], 40)  # without penalties, in a slot that is used again
    generator.step()
    gone.cancel()
    first = generator.submit(PROMPTS[0], 25, RULES[0])
    for _ in range(3):
        generator.step()
    others = [generator.submit(p, 25, rule)
              for p, rule in zip(PROMPTS[1:4], RULES[1:], strict=True)]
    while generator.step():
        pass
    assert [r.tokens for r in (first, *others)] == wanted


def test_a_sequence_keeps_its_penalties_when_it_moves_to_another_slot():
    net = made(Llama)
    generator = Generator(net, capacity=64, slots=4)
    others = [generator.submit(p, 40) for p in PROMPTS[:3]]
    last = generator.submit(PROMPTS[3], 30, RULES[0])
    for _ in range(6):
        generator.step()
    for request in others:
        request.cancel()
    while generator.step():
        pass
    assert last.tokens == penalized_followers(net, PROMPTS[3], 30, RULES[0])
    assert others[0].tokens == followers(net, PROMPTS[0], len(others[0].tokens))


def test_penalties_record_nothing_per_token():
    generator = Generator(made(Llama), capacity=128, slots=2)
    generator.generate([[1, 2, 3]], 4, RULES[0])
    before = generator.report()
    assert before == {"graphs": 2, "traces": 2}  # prefill, decode
    for rule in RULES[2:]:
        generator.generate([[4, 5]], 50, rule)
    assert generator.report() == before
