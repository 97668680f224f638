"""A drafter from nothing: corpus, training, a file with its card. Goes on where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from specviz.distillation.corpus import read_corpus, write_corpus
from specviz.distillation.model_card import model_card
from specviz.distillation.recipe import Recipe
from specviz.distillation.texts import state_layers
from specviz.distillation.training import (
    Batch,
    Batches,
    MtpStudent,
    Outcome,
    SmallStudent,
    Student,
    draft_vocabulary,
    learning_rate,
    outcome,
)
from specviz.drafters import trained
from specviz.drafters.draft_vocabulary import DraftHead
from specviz.runtime.language_model import LanguageModel


@dataclass(frozen=True)
class Progress:
    """Where the training stands."""

    step: int
    loss: float
    overlap: Sequence[float]
    """Held-out Σ min(p, q), by drafting step."""
    agreement: Sequence[float]
    """Held-out greedy acceptance, by drafting step."""


_HELD_OUT = 40
"""One text of so many is held out."""
_CHECK_EVERY = 100


def distill(
    kind: str,
    target: LanguageModel,
    folder: Path,
    recipe: Recipe,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Path:
    """Train a drafter of a kind; returns its file in `folder`, which gets a card beside it.

    The corpus in `folder` is written first, as far as it is missing, and shared by every kind.
    """
    write_corpus(
        target,
        folder / "corpus",
        prompts=recipe.prompts,
        max_new_tokens=recipe.max_new_tokens,
        seed=recipe.seed,
        progress=progress,
    )
    texts = [text for text in read_corpus(folder / "corpus") if len(text.label_ids) > 3]
    held_out = texts[::_HELD_OUT]
    seen = [text for index, text in enumerate(texts) if index % _HELD_OUT]
    vocabulary = draft_vocabulary(
        seen, recipe.vocabulary, sorted(target.end_ids), target.vocabulary_size
    )
    torch.manual_seed(recipe.seed)
    head = DraftHead(target.model, vocabulary)
    layers = state_layers(target.layers) if kind == "mtp" else ()
    module = trained.new_module(kind, target.model, head, len(layers))
    student = _student(kind, module, target)
    batches, checks = (
        Batches(
            chosen,
            vocabulary,
            target.vocabulary_size,
            recipe.batch_tokens,
            with_context=kind == "mtp",
        )
        for chosen in (seen, held_out)
    )
    training_run = _Training(student, target, recipe, folder / f"{kind}.checkpoint")
    stream = _from_step(batches, training_run.step)

    def check(step: int, loss: float) -> Progress:
        return _check(student, head, checks, recipe.unroll, step, loss)

    held_out_now: Progress | None = None
    while training_run.step < recipe.steps:
        drafting_steps = recipe.drafting_steps(training_run.step)
        loss = training_run.advance(outcome(student, head, next(stream), drafting_steps))
        progress(training_run.step, recipe.steps)
        if training_run.step % _CHECK_EVERY == 0 or training_run.step == recipe.steps:
            held_out_now = check(training_run.step, loss)
            training_run.save()
            report(held_out_now)
    held_out_now = held_out_now or check(training_run.step, 0.0)
    card = trained.Card(
        kind=kind,
        target=target.id,
        fingerprint=trained.fingerprint(target),
        state_layers=layers,
        training={
            **recipe.model_dump(),
            "texts": len(seen),
            "tokens": sum(len(text.label_ids) for text in seen),
            "held_out_overlap": held_out_now.overlap,
            "held_out_agreement": held_out_now.agreement,
        },
    )
    path = folder / f"{kind}.safetensors"
    trained.save(path, card, vocabulary, trained.own_weights(module, target.model))
    path.with_suffix(".md").write_text(model_card(card), encoding="utf-8")
    return path


class _Training:
    """Optimizer and step, and their checkpoint."""

    def __init__(
        self, student: Student, target: LanguageModel, recipe: Recipe, checkpoint: Path
    ) -> None:
        self.step = 0
        self._target = target
        self._recipe = recipe
        self._checkpoint = checkpoint
        self._module = student.weights
        own = trained.own_weights(student.weights, target.model)
        for name, parameter in student.weights.named_parameters():
            parameter.requires_grad_(name in own)
        self._parameters = [p for p in student.weights.parameters() if p.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._parameters, lr=recipe.learning_rate, betas=(0.9, 0.95), weight_decay=0.01
        )
        if checkpoint.exists():
            stored = torch.load(checkpoint, weights_only=True)
            self.step = stored["step"]
            self._module.load_state_dict(stored["module"], strict=False)
            self._optimizer.load_state_dict(stored["optimizer"])

    def advance(self, result: Outcome) -> float:
        for group in self._optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self._recipe.steps, self._recipe.learning_rate)
        self._optimizer.zero_grad()
        torch.autograd.backward(result.loss)
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._optimizer.step()
        self.step += 1
        return float(result.loss.detach())

    def save(self) -> None:
        staged = self._checkpoint.with_suffix(".part")
        torch.save(
            {
                "step": self.step,
                "module": trained.own_weights(self._module, self._target.model),
                "optimizer": self._optimizer.state_dict(),
            },
            staged,
        )
        os.replace(staged, self._checkpoint)


def _student(kind: str, module: Any, target: LanguageModel) -> Student:
    if kind == "mtp":
        return MtpStudent(module, target.model)
    return SmallStudent(module)


def _from_step(batches: Batches, step: int) -> Iterator[Batch]:
    """The batches of all epochs, from the one of `step` on."""
    epoch = passed = 0
    while True:
        for batch in batches.epoch(epoch):
            if passed >= step:
                yield batch
            passed += 1
        epoch += 1


@torch.no_grad()
def _check(
    student: Student,
    head: DraftHead,
    held_out: Batches,
    drafting_steps: int,
    step: int,
    loss: float,
) -> Progress:
    outcomes = [outcome(student, head, batch, drafting_steps) for batch in held_out.epoch(0)]

    def mean(columns: list[list[float]]) -> list[float]:
        return Tensor(columns).mean(0).tolist()

    return Progress(
        step,
        loss,
        mean([found.overlap for found in outcomes]),
        mean([found.agreement for found in outcomes]),
    )
