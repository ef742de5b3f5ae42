"""Continuous batching: sequences join the batch and leave it at any step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from ..core.require import boolean, of_type, positive_int
from ..machine.pages import move_later
from ..nn.cell import Cell
from ..tensors.tensor import Tensor, wrap
from .caches import LayerForm, WholeSequence
from .penalties import Penalties
from .request import Request
from .sampling import KINDS, Rules, Sampling
from .steps import SMALLEST, Steps, size_class

GREEDY = Sampling()


class Generator:
    """Generates tokens with a decoder, for several sequences at once.

    Each sequence that is being generated has a slot in a static cache of keys and values. A step
    adds one token to all of them by one compiled graph. A request joins when a slot is free: its
    prompt is a step of its own (prefill). A sequence that ends, or is cancelled, leaves its slot.

    The decoder is any Cell ``net(tokens, cache)``; see `lamella.generation`. It is set to
    evaluation (``set_train(False)``). Steps of one generator never run at once, so threads may
    share it.

    Args:
        net: the decoder.
        capacity: the most tokens of a sequence, prompt included.
        slots: the most sequences that are generated at once; others wait.
        compiled: whether the steps are compiled.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a number isn't positive, or the decoder never calls ``cache.attention``.

    Examples:
        >>> import lamella as ms
        >>> from lamella import generation, nn
        >>> class Decoder(nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.table = nn.Embedding(5, 5, embedding_table="ones")
        ...     def construct(self, tokens, cache):
        ...         x = self.table(tokens).expand_dims(2)
        ...         x = cache.attention(x, x, x)
        ...         return x.squeeze(2) + ms.ops.one_hot((tokens + 1) % 5, 5).astype(ms.float32)
        >>> generator = generation.Generator(Decoder(), capacity=16)
        >>> generator.generate([[1], [2, 3]], max_new_tokens=3)
        [[2, 3, 4], [4, 0, 1]]
        >>> list(generator.stream([1, 2], max_new_tokens=8, stop_tokens=[0]))
        [3, 4]
    """

    def __init__(self, net: Cell, capacity: int = 1024, slots: int = 8, compiled: bool = True):
        of_type(net, Cell, "net", "Generator")
        self.capacity = positive_int(capacity, "capacity", "Generator")
        self.slots = positive_int(slots, "slots", "Generator")
        boolean(compiled, "compiled", "Generator")
        self._net = net
        forms = forms_of(net)
        self._steps = Steps(net, [form.allocate(slots, capacity) for form in forms], compiled)
        if compiled:
            move_later(parameter._raw for parameter in net.get_parameters())
        self._held: list[Request | None] = [None] * slots
        self._waiting: deque[Request] = deque()
        self._lock = threading.Lock()

    @property
    def active(self) -> int:
        """How many sequences have a slot."""
        return sum(r is not None and not r.is_finished for r in self._held)

    @property
    def has_work(self) -> bool:
        """Whether a step would do anything."""
        return self.active > 0 or any(not r.is_finished for r in tuple(self._waiting))

    def report(self) -> dict[str, int]:
        """The number of graphs, and how many runs of the decoder were recorded for them."""
        graphs = [g for g in list(self._steps.graphs.values()) if hasattr(g, "report")]
        return {"graphs": len(graphs),
                "traces": sum(g.report()["traces"] for g in graphs)}  # type: ignore[attr-defined]

    def submit(self, prompt: Sequence[int], max_new_tokens: int = 128,
               sampling: Sampling = GREEDY, stop_tokens: Iterable[int] = (),
               on_token: Callable[[int], object] | None = None) -> Request:
        """Queue a request; `step` works on it.

        Args:
            prompt: tokens, at least one and at most ``capacity - 1``.
            max_new_tokens: how many are generated at most; the sequence also ends where the cache
                is full.
            sampling: how tokens are chosen; greedily by default.
            stop_tokens: tokens that end the sequence, and aren't part of it.
            on_token: called with each token, in the thread that runs `step`.

        Raises:
            TypeError: if an argument is of the wrong type.
            ValueError: if the prompt is empty or too long, or `max_new_tokens` isn't positive.
        """
        tokens = [int(token) for token in prompt]
        of_type(sampling, Sampling, "sampling", "Generator.submit")
        positive_int(max_new_tokens, "max_new_tokens", "Generator.submit")
        if not 1 <= len(tokens) < self.capacity:
            raise ValueError(f"For 'Generator.submit', 'prompt' must have at least one token and "
                             f"fewer than the capacity, {self.capacity}, but got {len(tokens)}.")
        most = min(max_new_tokens, self.capacity - len(tokens))
        request = Request(tokens, most, frozenset(map(int, stop_tokens)), sampling, on_token)
        self._waiting.append(request)
        return request

    def step(self) -> bool:
        """Let one waiting request join, and add a token to each sequence.

        Returns:
            Whether there was anything to do.
        """
        with self._lock:
            if self._net.training:
                self._net.set_train(False)
            self._leave()
            joined = self._join()
            while joined and not self.active:  # it has ended with its first token
                joined = self._join()
            decoded = self._decode()
            self._leave()
            return joined or decoded

    def generate(self, prompts: Sequence[Sequence[int]], max_new_tokens: int = 128,
                 sampling: Sampling = GREEDY, stop_tokens: Iterable[int] = ()
                 ) -> list[list[int]]:
        """The tokens that follow each prompt.

        Args:
            prompts: a list of lists of tokens.
            max_new_tokens, sampling, stop_tokens: as for `submit`.
        """
        stops = tuple(stop_tokens)
        requests = [self.submit(p, max_new_tokens, sampling, stops) for p in prompts]
        try:
            while not all(r.is_finished for r in requests):
                self.step()
        finally:
            self._cancel(requests)
        return [r.tokens for r in requests]

    def stream(self, prompt: Sequence[int], max_new_tokens: int = 128,
               sampling: Sampling = GREEDY, stop_tokens: Iterable[int] = ()) -> Iterator[int]:
        """The tokens that follow a prompt, each as soon as it is there.

        Closing the iterator cancels the request. Several may be read in turns: each step serves
        all of them. The arguments are those of `submit`.
        """
        request = self.submit(prompt, max_new_tokens, sampling, stop_tokens)
        return self._tokens_of(request)

    def _tokens_of(self, request: Request) -> Iterator[int]:
        sent = 0
        try:
            while sent < len(request.tokens) or not request.is_finished:
                if sent == len(request.tokens):
                    self.step()
                    continue
                yield request.tokens[sent]
                sent += 1
        finally:
            self._cancel([request])

    def _cancel(self, requests: list[Request]) -> None:
        for request in requests:
            request.cancel()
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        """Free the slots of sequences that have ended, and fill gaps if fewer rows will do."""
        for slot, request in enumerate(self._held):
            if request is not None and request.is_finished:
                self._held[slot] = None
        while (count := self.active) and self._rows() > size_class(count, 1, self.slots):
            last, free = self._last(), self._held.index(None)
            self._steps.move(last, free)
            self._held[free], self._held[last] = self._held[last], None

    def _last(self) -> int:
        """The last slot in use."""
        return max(slot for slot, request in enumerate(self._held) if request is not None)

    def _rows(self) -> int:
        """The size class of the batch."""
        return size_class(self._last() + 1, 1, self.slots)

    def _join(self) -> bool:
        """Give the first waiting request a slot, if there is one, and run its prompt."""
        while self._waiting and None in self._held:
            request = self._waiting.popleft()
            if request.is_finished:  # cancelled while it waited
                continue
            slot = self._held.index(None)
            self._held[slot] = request
            size = size_class(len(request.prompt), min(SMALLEST, self.capacity), self.capacity)
            rules = Rules.of([request.sampling], self._steps.device)
            try:
                token = self._steps.prefill(request.prompt, slot, rules, request.sampling.kind,
                                            size, self._penalties([request]))
            except BaseException:
                request.cancel()
                self._held[slot] = None
                raise
            request.receive(token)
            self._leave()
            return True
        return False

    def _decode(self) -> bool:
        """One more token for each sequence that has a slot."""
        held = [r for r in self._held if r is not None]
        if not held:
            return False
        batch = self._held[:self._rows()]
        reach = max(r.position for r in held) + 1
        kind = max((r.sampling.kind for r in held), key=KINDS.index)
        # an empty slot takes token 0 at position 0, which the next prompt overwrites
        rules = Rules.of([GREEDY if r is None else r.sampling for r in batch], self._steps.device)
        chosen = self._steps.decode(
            [0 if r is None else r.newest for r in batch],
            [0 if r is None else r.position for r in batch],
            rules, kind, size_class(reach, min(4 * SMALLEST, self.capacity), self.capacity),
            self._penalties(batch))
        for request, token in zip(batch, chosen, strict=True):
            if request is not None:
                request.receive(token)
        return True

    def _penalties(self, batch: Sequence[Request | None]) -> Penalties | None:
        """The penalties of a batch, if it has any."""
        rules = [GREEDY if r is None else r.sampling for r in batch]
        if not any(rule.penalizes for rule in rules):
            return None
        return Penalties.of(rules, [0 if r is None else len(r.prompt) for r in batch],
                            self._steps.device)


def forms_of(net: Cell) -> list[LayerForm]:
    """What each layer of a decoder keeps of a token, by running it on one."""
    weight = next(iter(net.get_parameters()), None)
    device = None if weight is None else weight._raw.device
    tokens: Tensor = wrap(torch.zeros((1, 1), dtype=torch.int64, device=device))
    cache = WholeSequence(tokens)
    net.set_train(False)
    with torch.no_grad():
        net(tokens, cache)
    if not cache.forms:
        raise ValueError("For 'Generator', the decoder must call 'attention' of its second "
                         "argument, the cache, but it has not.")
    return cache.forms
