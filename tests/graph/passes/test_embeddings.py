"""The gradient of an embedding is added to another one of its table, row by row."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.passes.embeddings import add_rows
from lamella.graph.passes.order import improve, simplify
from tests.graph.passes.checks import check_same, count, recorded, used

TOKENS = torch.tensor([[3, 0, 5], [5, 5, 8]])


def step_of(loss):
    def step(table, tokens):
        table = table.detach().requires_grad_()
        found = loss(table, tokens)
        return found.detach(), *torch.autograd.grad(found, table)

    return step


def tied(table, tokens):
    return (F.embedding(tokens, table).tanh() @ table.t()).logsumexp(-1).sum()


def twice(table, tokens):
    return (F.embedding(tokens, table) * F.embedding(tokens + 1, table).exp()).sum()


def mixed(table, tokens):
    read = F.embedding(tokens, table).to(torch.bfloat16)
    return (read @ table.to(torch.bfloat16).t()).float().logsumexp(-1).sum()


@pytest.mark.parametrize("loss", [tied, twice, mixed])
@pytest.mark.parametrize("tokens", [TOKENS, TOKENS[0], TOKENS.int()])
def test_the_same_gradient_by_rows(loss, tokens):
    inputs = [torch.randn(11, 7), tokens]
    graph, other = recorded(step_of(loss), *inputs), recorded(step_of(loss), *inputs)
    assert count(graph, "embedding_dense_backward") == 1 + (loss is twice)
    simplify(other)
    assert add_rows(other) == 1
    other.recompile()
    assert count(other, "index_add_") == 1
    assert count(other, "embedding_dense_backward") == count(graph, "embedding_dense_backward") - 1
    check_same(graph, other, inputs, 1e-5)
    check_same(graph, improve(graph, inputs), inputs, 1e-5)


def test_what_else_is_read_is_not_written():
    """The other gradient is a result, a view of one, an input, or read once more."""
    def results(add):
        def step(x, rows):
            other = x.exp()
            gradient = torch.ops.aten.embedding_dense_backward(rows, TOKENS, 11, -1, False)
            return add(x, other, gradient)
        return step

    for add in (lambda x, other, g: [other, other + g], lambda x, other, g: [x + g],
                lambda x, other, g: [other + g, (other + g) * other],
                lambda x, other, g: [other[:], other + g],
                lambda x, other, g: [x[:, :7] + g],
                lambda x, other, g: [other + g, g.sum()],
                lambda x, other, g: [torch.add(other, g, alpha=2)],
                lambda x, other, g: [g + g]):
        graph = recorded(results(add), torch.randn(11, 7), torch.randn(2, 3, 7))
        assert add_rows(graph) == 0


@pytest.mark.parametrize(("padding", "scaled"), [(5, False), (-1, True)])
def test_other_forms_stay(padding, scaled):
    def loss(table, tokens):
        read = F.embedding(tokens, table, padding_idx=padding if padding >= 0 else None,
                           scale_grad_by_freq=scaled)
        return (read @ table.t()).exp().sum()

    assert add_rows(recorded(step_of(loss), torch.randn(11, 7), TOKENS)) == 0


def test_less_memory():
    inputs = [torch.randn(4000, 16), TOKENS]
    graph, other = recorded(step_of(tied), *inputs), recorded(step_of(tied), *inputs)
    simplify(other)
    add_rows(other)
    other.recompile()
    before, after = (used(lambda g=g: g(*inputs))[0] for g in (graph, other))
    assert after <= before - inputs[0].nbytes


def written_through_a_view(value):
    value[:1].mul_(2)
    return value


@pytest.mark.parametrize("change, made", [
    (lambda x, rows, tokens: (x.exp(), rows, tokens), 1),
    (lambda x, rows, tokens: (x.exp(), rows.transpose(0, 1), tokens.t()), 0),  # not in order
    (lambda x, rows, tokens: (x.exp(), rows[:, :1].expand(2, 3, 7), tokens), 0),
    (lambda x, rows, tokens: (x.exp(), rows[:0], tokens[:0]), 0),  # no tokens
    (lambda x, rows, tokens: (x.exp(), rows[0, 0], tokens[0, 0]), 1),  # one
    (lambda x, rows, tokens: (x.exp().t().contiguous().t(), rows, tokens), 0),
    (lambda x, rows, tokens: (x.exp().double(), rows, tokens), 0),
    (lambda x, rows, tokens: (x[0].exp(), rows, tokens), 0),  # a row for all
    (lambda x, rows, tokens: (x[:, :0].exp(), rows[..., :0].clone(), tokens), 0),  # no columns
    (lambda x, rows, tokens: (x.exp()[:], rows, tokens), 1),  # of memory that is read once
    (lambda x, rows, tokens: (written_through_a_view(x.exp()), rows, tokens), 0),
    (lambda x, rows, tokens: (x.exp(), written_through_a_view(rows.sin()), tokens), 0),
    (lambda x, rows, tokens: (x.exp(), rows, written_through_a_view(tokens.clamp(max=5))), 0)])
@pytest.mark.parametrize("turned", [False, True])
def test_which_gradients_are_added_by_rows(change, made, turned):
    def step(*given):
        other, rows, tokens = change(*given)
        gradient = torch.ops.aten.embedding_dense_backward(rows, tokens, 11, -1, False)
        return [gradient + other if turned else other + gradient]

    inputs = [torch.randn(11, 7), torch.randn(2, 3, 7), TOKENS]
    graph, other = recorded(step, *inputs), recorded(step, *inputs)
    assert add_rows(other) == made
    other.recompile()
    check_same(graph, other, inputs)
