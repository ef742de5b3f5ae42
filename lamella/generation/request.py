"""A request: one sequence that is being generated."""

from __future__ import annotations

from collections.abc import Callable

from .sampling import Sampling


class Request:
    """A prompt, and the tokens that have followed it so far.

    Made by `Generator.submit`.

    Attributes:
        prompt: the tokens of the prompt.
        tokens: those that were generated, a list that grows; a stop token isn't among them.
        reason: why it ended: ``"stop"`` (a stop token), ``"length"`` (as many tokens as were asked
            for, or as fit into the cache), ``"cancelled"``; None as long as it goes on.
    """

    def __init__(self, prompt: list[int], max_new_tokens: int, stop_tokens: frozenset[int],
                 sampling: Sampling, on_token: Callable[[int], object] | None = None):
        self.prompt, self.sampling = prompt, sampling
        self.tokens: list[int] = []
        self.reason: str | None = None
        self._most, self._stops, self._on_token = max_new_tokens, stop_tokens, on_token

    @property
    def is_finished(self) -> bool:
        """Whether no more tokens come."""
        return self.reason is not None

    def cancel(self) -> None:
        """End it; its place in the cache is free from the generator's next step on."""
        self.reason = self.reason or "cancelled"

    @property
    def position(self) -> int:
        """Where the newest token stands in the sequence."""
        return len(self.prompt) + len(self.tokens) - 1

    @property
    def newest(self) -> int:
        """The newest token."""
        return self.tokens[-1] if self.tokens else self.prompt[-1]

    def receive(self, token: int) -> None:
        """Take a token that was chosen."""
        if self.is_finished:  # it was cancelled while the step ran
            return
        if token in self._stops:
            self.reason = "stop"
            return
        self.tokens.append(token)
        if len(self.tokens) >= self._most:
            self.reason = "length"
        if self._on_token is not None:
            self._on_token(token)

    def __repr__(self) -> str:
        return (f"Request({len(self.prompt)} + {len(self.tokens)} tokens, "
                f"{self.reason or 'going on'})")
