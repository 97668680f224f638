"""Logits to distributions, and draws from them with a run's own generator."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    MinNewTokensLengthLogitsProcessor,
    MinPLogitsWarper,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from specviz.settings import Settings


class FrequencyAndPresencePenalty(LogitsProcessor):
    """Lower what has been written: by `frequency` for each time, by `presence` once.

    Only tokens behind the prompt count, as in OpenAI's definition.
    """

    def __init__(self, frequency: float, presence: float, prompt_length: int) -> None:
        self.frequency = frequency
        self.presence = presence
        self.prompt_length = prompt_length

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        written = input_ids[:, self.prompt_length :]
        counts = torch.zeros_like(scores).scatter_add_(
            1, written, torch.ones_like(written, dtype=scores.dtype)
        )
        return scores - self.frequency * counts - self.presence * (counts > 0)


class AllowedTokens(LogitsProcessor):
    """Leave no other token than the listed ones."""

    def __init__(self, ids: tuple[int, ...], vocabulary_size: int, device: torch.device) -> None:
        self.forbidden = torch.ones(vocabulary_size, dtype=torch.bool, device=device)
        self.forbidden[list(ids)] = False

    def __call__(self, _input_ids: Tensor, scores: Tensor) -> Tensor:
        return scores.masked_fill(self.forbidden, -torch.inf)


class Sampler:
    """The settings' way from logits to a distribution, the same for target and drafter.

    Owns the run's random generator: every draw of a run comes from it, in the run's order,
    so equal seeds give equal texts whatever else goes on.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        vocabulary_size: int,
        prompt_length: int,
        end_ids: frozenset[int],
        device: torch.device,
    ) -> None:
        self.vocabulary_size = vocabulary_size
        self.greedy = settings.greedy
        self.least_confidence = settings.least_confidence
        self.generator = torch.Generator(device).manual_seed(settings.seed)
        self._device = device
        # transformers asks for LongTensor, a type that no function of torch returns.
        self._history: Any = self._history_processors(settings, prompt_length, end_ids)
        self._shape: Any = self._shape_processors(settings)

    def scores(self, context: Tensor, logits: Tensor) -> Tensor:
        """Processed logits, [k, vocabulary size], float32.

        Args:
            context: [n] the tokens up to and with the one that the last row follows. Row i is
                judged with the context up to its own position, n − k + 1 + i tokens.
            logits: [k, V]. Surplus ids of a padded head are cut off; ids that a smaller head
                lacks get −∞.
        """
        scores = self._fit(logits).float()
        if self._history:
            first = len(context) - len(scores) + 1
            rows = [
                self._history(context[None, : first + i], scores[i : i + 1])
                for i in range(len(scores))
            ]
            scores = torch.cat(rows)
        return self._shape(context[None], scores) if self._shape else scores

    def distribution(self, scores: Tensor) -> Tensor:
        """Probabilities, [k, V], of processed logits: a softmax, or the argmax's one-hot."""
        if self.greedy:
            return one_hot(scores.argmax(-1), scores.shape[-1])
        return softmax(scores)

    def unsure(self, scores: Tensor) -> bool:
        """Whether a draft should end before a token is drawn from these scores, [1, V].

        Decided by the largest probability, which is known before the draw.
        """
        if self.least_confidence == 0.0:
            return False
        return confidence(scores) < self.least_confidence

    def draw(self, distribution: Tensor) -> Tensor:
        """One token from each row: [k, V] → [k]."""
        return draw(distribution, self.generator)

    def uniform(self, count: int) -> Tensor:
        """The dice: `count` draws from [0, 1)."""
        return torch.rand(count, generator=self.generator, device=self._device)

    def _fit(self, logits: Tensor) -> Tensor:
        missing = self.vocabulary_size - logits.shape[-1]
        if missing > 0:
            return torch.nn.functional.pad(logits, (0, missing), value=-torch.inf)
        return logits[:, : self.vocabulary_size]

    def _history_processors(
        self, settings: Settings, prompt_length: int, end_ids: frozenset[int]
    ) -> LogitsProcessorList:
        """Those that read the context, in transformers' order."""
        s, processors = settings, LogitsProcessorList()
        if s.repetition_penalty != 1.0:
            processors.append(RepetitionPenaltyLogitsProcessor(s.repetition_penalty))
        if s.frequency_penalty or s.presence_penalty:
            processors.append(
                FrequencyAndPresencePenalty(s.frequency_penalty, s.presence_penalty, prompt_length)
            )
        if s.no_repeat_ngram_size:
            processors.append(NoRepeatNGramLogitsProcessor(s.no_repeat_ngram_size))
        if s.min_new_tokens and end_ids:
            processors.append(
                MinNewTokensLengthLogitsProcessor(
                    prompt_length, s.min_new_tokens, sorted(end_ids), device=str(self._device)
                )
            )
        return processors

    def _shape_processors(self, settings: Settings) -> LogitsProcessorList:
        """Those that look at a row alone: every position at once."""
        s, processors = settings, LogitsProcessorList()
        if s.allowed_token_ids is not None:
            processors.append(
                AllowedTokens(s.allowed_token_ids, self.vocabulary_size, self._device)
            )
        if s.greedy:
            return processors
        if s.temperature != 1.0:
            processors.append(TemperatureLogitsWarper(s.temperature))
        if s.top_k:
            processors.append(TopKLogitsWarper(min(s.top_k, self.vocabulary_size)))
        if s.top_p < 1.0:
            processors.append(TopPLogitsWarper(s.top_p))
        if s.min_p:
            processors.append(MinPLogitsWarper(s.min_p))
        return processors


def softmax(scores: Tensor) -> Tensor:
    """Probabilities of processed logits: [..., V] → [..., V]; uniform where all are −∞.

    A drafter may so find no allowed token to propose; the rule is exact whatever q it has then.
    """
    return scores.softmax(-1).nan_to_num(nan=1 / scores.shape[-1])


def confidence(scores: Tensor) -> float:
    """The largest probability of one row, [1, V]."""
    return float(softmax(scores).max())


def one_hot(tokens: Tensor, vocabulary_size: int) -> Tensor:
    """All the mass on one token: [...] → [..., V], float32."""
    distribution = torch.zeros(*tokens.shape, vocabulary_size, device=tokens.device)
    return distribution.scatter_(-1, tokens[..., None], 1.0)


def draw(distribution: Tensor, generator: torch.Generator) -> Tensor:
    """One token from each row by inversion: [..., V] → [...].

    The threshold lies in (0, total], so the token found always has mass. (torch.multinomial
    costs twenty times as much over a language model's vocabulary.)
    """
    cumulative = distribution.cumsum(-1, dtype=torch.float64)
    uniform = torch.rand(
        (*cumulative.shape[:-1], 1),
        dtype=torch.float64,
        generator=generator,
        device=cumulative.device,
    )
    return torch.searchsorted(cumulative, cumulative[..., -1:] * (1 - uniform)).squeeze(-1)
