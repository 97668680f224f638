"""Training a drafter on a corpus: the target's soft labels, cross-entropy, AdamW."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import DynamicCache, PreTrainedModel

from specviz.distillation.texts import Text
from specviz.drafters.draft_vocabulary import DraftHead
from specviz.drafters.mtp import MtpBlock, echoes_of


@dataclass(frozen=True)
class Batch:
    """B texts, padded at their ends to S tokens."""

    tokens: Tensor
    """[B, S]"""
    states: Tensor
    """[B, S, depths · width]"""
    more: Tensor
    """[m] ids that may be proposed besides the draft vocabulary's."""
    labels: Tensor
    """[B, S, LABELS] places in the draft vocabulary with `more` behind it; 0 where the token is
    in neither."""
    weights: Tensor
    """[B, S, LABELS] the target's probabilities; 0 where the token may not be proposed, in
    prompts and in padding."""


class Student(Protocol):
    """What is trained, and how its predictions are made."""

    @property
    def weights(self) -> nn.Module:
        """What the optimizer changes."""

    def predict(self, batch: Batch, drafting_steps: int) -> list[tuple[Tensor, Tensor]]:
        """What it thinks at each position, and how much each label counts there.

        For each drafting step, (hidden [B, S, width], weights [B, S, LABELS]): the draft head
        turns the former into logits. A small model has one such step, whatever is asked for.
        """


@dataclass(frozen=True)
class Outcome:
    """Of one batch, for each drafting step."""

    loss: Tensor
    overlap: list[float]
    """Σ min(p, q) over what may be proposed, its mean: the acceptance to be expected."""
    agreement: list[float]
    """How often q's largest is p's largest: the acceptance of greedy decoding."""


class MtpStudent:
    """The block, unrolled: at step s it reads what it wrote at step s − 1."""

    def __init__(self, block: MtpBlock, target: PreTrainedModel) -> None:
        self.weights = block
        self._embed = target.get_input_embeddings()

    def predict(self, batch: Batch, drafting_steps: int) -> list[tuple[Tensor, Tensor]]:
        block = self.weights
        # The pair at i is (h_i, t_{i+1}), and is about t_{i+2}: what the label of i + 1 tells.
        tokens = self._embed(batch.tokens[:, 1:]).detach()
        weights = batch.weights[:, 1:]
        heard = [echoes_of(row) for row in batch.tokens]
        echoes, sizes = (torch.stack(each)[:, 1:] for each in zip(*heard, strict=True))
        echoes = block.hear(self._embed(echoes).detach(), sizes)
        features = block.read(batch.states[:, :-1])
        length = features.shape[1]
        positions = torch.arange(length, device=features.device)[None]
        cache = DynamicCache()
        predictions = []
        for step in range(drafting_steps):
            mask = unrolled_mask(length, step)
            hidden = block(features, tokens, echoes, positions, cache, mask)
            predictions.append((hidden, weights))
            # One place on: the next step knows this output where it cannot know h.
            features = nn.functional.pad(hidden[:, :-1], (0, 0, 1, 0))
            weights = weights.clone()
            weights[:, : step + 1] = 0
        return [
            (nn.functional.pad(h, (0, 0, 1, 0)), nn.functional.pad(w, (0, 0, 1, 0)))
            for h, w in predictions
        ]


def unrolled_mask(length: int, step: int) -> Tensor:
    """What a query of drafting step `step` (from 0) may see: [1, 1, length, (step + 1) · length].

    The keys are those of every step so far, side by side. Position i is reached at step s from
    the base i − s: true keys up to the base, then one of each step since.
    """
    places = torch.arange(length)
    blocks = [places[None] <= places[:, None] - step]
    blocks += [places[None] == places[:, None] - (step - s) for s in range(1, step + 1)]
    mask = torch.cat(blocks, -1)
    mask[:, 0] |= ~mask.any(-1)  # nothing to see before the base: any key, not counted
    return mask[None, None]


class SmallStudent:
    """A small causal model over the same tokens."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.weights = model.base_model

    def predict(self, batch: Batch, drafting_steps: int) -> list[tuple[Tensor, Tensor]]:  # noqa: ARG002
        hidden = self.weights(input_ids=batch.tokens, use_cache=False).last_hidden_state
        return [(hidden, batch.weights)]


def outcome(student: Student, head: DraftHead, batch: Batch, drafting_steps: int = 1) -> Outcome:
    """The loss, −Σ p log q over the labelled positions, and how well q already fits."""
    losses, overlaps, agreements = [], [], []
    for hidden, weights in student.predict(batch, drafting_steps):
        counted = weights.sum(-1) > 0
        p, labels = weights[counted], batch.labels[counted]
        log_q = head.short(hidden[counted], batch.more).log_softmax(-1)
        log_q_labels = log_q.gather(-1, labels)
        losses.append(-(p * log_q_labels).sum(-1).mean())
        with torch.no_grad():
            overlaps.append(float(torch.minimum(p, log_q_labels.exp()).sum(-1).mean()))
            # The labels are sorted, but the likeliest may lie outside the draft vocabulary.
            hit = (labels[:, 0] == log_q.argmax(-1)) & (p[:, 0] > 0)
            agreements.append(float(hit.float().mean()))
    return Outcome(torch.stack(losses).mean(), overlaps, agreements)


class Batches:
    """Texts in batches of about so many tokens, of like length, in a new order every epoch.

    `with_context`: what stands in a batch's texts may be proposed in them, whatever it is.
    """

    def __init__(
        self,
        texts: Sequence[Text],
        vocabulary: Tensor,
        vocabulary_size: int,
        tokens: int,
        *,
        with_context: bool,
    ) -> None:
        self._texts = texts
        self._tokens = tokens
        self._with_context = with_context
        self._places = torch.full((vocabulary_size,), -1)
        self._places[vocabulary] = torch.arange(len(vocabulary))
        self._vocabulary = len(vocabulary)

    def epoch(self, seed: int) -> Iterator[Batch]:
        dice = random.Random(seed)
        order = sorted(self._texts, key=lambda text: len(text.tokens) + dice.uniform(-8, 8))
        groups: list[list[Text]] = [[]]
        for text in order:
            together = [*groups[-1], text]
            if max(len(one.tokens) for one in together) * len(together) > self._tokens:
                together = [text]
                groups.append([])
            groups[-1] = together
        groups = [group for group in groups if group]
        dice.shuffle(groups)
        for group in groups:
            yield self._batch(group)

    def _batch(self, texts: Sequence[Text]) -> Batch:
        tokens = torch.cat([text.tokens.long() for text in texts])
        more = torch.unique(tokens[self._places[tokens] < 0]) if self._with_context else tokens[:0]
        all_places = self._places.clone()
        all_places[more] = self._vocabulary + torch.arange(len(more))
        places = [all_places[text.label_ids.long()] for text in texts]
        weights = [
            text.label_probabilities.float() * (place >= 0)
            for text, place in zip(texts, places, strict=True)
        ]
        before = [(0, 0, text.answer, 0) for text in texts]
        return Batch(
            tokens=pad_sequence([text.tokens.long() for text in texts], batch_first=True),
            states=pad_sequence([text.states.float() for text in texts], batch_first=True),
            more=more,
            labels=pad_sequence(
                [
                    nn.functional.pad(place.clamp_min(0), room)
                    for place, room in zip(places, before, strict=True)
                ],
                batch_first=True,
            ),
            weights=pad_sequence(
                [
                    nn.functional.pad(weight, room)
                    for weight, room in zip(weights, before, strict=True)
                ],
                batch_first=True,
            ),
        )


def draft_vocabulary(texts: Sequence[Text], size: int, always: Sequence[int], full: int) -> Tensor:
    """The `size` ids that the target writes most often, sorted; `always` are among them."""
    counts = torch.zeros(full, dtype=torch.long)
    for text in texts:
        counts += torch.bincount(text.tokens[text.answer + 1 :].long(), minlength=full)
    counts[list(always)] = counts.max() + 1
    # Equally rare ones by id: a tokenizer's merges come in the order of their frequency.
    order = torch.argsort(counts, descending=True, stable=True)
    return order[:size].sort().values


def learning_rate(step: int, steps: int, peak: float, warm_up: int = 50) -> float:
    """Linear up to the peak, then along a cosine down to a twentieth of it."""
    if step < warm_up:
        return peak * (step + 1) / warm_up
    part = (step - warm_up) / max(1, steps - warm_up)
    return peak * (0.05 + 0.95 * (1 + math.cos(math.pi * part)) / 2)
