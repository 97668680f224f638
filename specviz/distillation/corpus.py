"""The target writes the text that drafters learn from, and what it thought of every token.

A corpus is a folder of shards, one a batch of prompts, each a safetensors file that appears
whole or not at all: writing goes on where it was interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from specviz.distillation.invented import can_invent, invented_chats
from specviz.distillation.prompts import (
    LONG_OPENINGS,
    OPENINGS,
    first_prompts,
    second_prompts,
)
from specviz.distillation.texts import TEMPERATURES, Text, TokenDice, joined, look, state_layers
from specviz.runtime.cache import rollback_cache
from specviz.runtime.language_model import LanguageModel

BATCH = 48
"""Answers that are written side by side."""

CHATS = ((OPENINGS, 160), (LONG_OPENINGS, 480))
"""Of invented shards in turn: how users begin, and the most tokens of a turn."""


def write_corpus(
    target: LanguageModel,
    folder: Path,
    *,
    prompts: int,
    max_new_tokens: int,
    seed: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Write what is missing of a corpus of `prompts` prompts.

    Three of ten are of the first stage and two of the second; the others the target invents
    itself, if it can, and else they are of the second stage too.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = -(-prompts // BATCH)
    first_stage = -(-shards * 3 // 10)
    second_stage = -(-shards * 2 // 10) if can_invent(target) else shards - first_stage
    first = first_prompts(first_stage * BATCH, seed)
    second: list[str] = []
    for shard in range(shards):
        path = folder / f"{shard:04}.safetensors"
        if not path.exists():
            answers = partial(_write, target, max_new_tokens=max_new_tokens, seed=seed + shard)
            if shard < first_stage:
                texts = answers(first[shard * BATCH : (shard + 1) * BATCH])
            elif shard < first_stage + second_stage:
                second = second or second_prompts(
                    second_stage * BATCH, seed, _answers(target, folder, first)
                )
                start = (shard - first_stage) * BATCH
                texts = answers(second[start : start + BATCH])
            else:
                openings, question_tokens = CHATS[shard % len(CHATS)]
                texts = invented_chats(
                    target,
                    rows=BATCH,
                    steps=question_tokens + 2 * max_new_tokens,
                    question_tokens=question_tokens,
                    answer_tokens=max_new_tokens,
                    openings=openings,
                    seed=seed + shard,
                )
            _save(texts, path)
        progress(shard + 1, shards)


def read_corpus(folder: Path) -> Iterator[Text]:
    """Every sequence, shard by shard."""
    for path in sorted(folder.glob("*.safetensors")):
        shard = load_file(path)
        lengths, answers = shard["lengths"].tolist(), shard["answers"].tolist()
        yield from (
            Text(*parts)
            for parts in zip(
                torch.split(shard["tokens"], lengths),
                torch.split(shard["states"], lengths),
                torch.split(shard["label_ids"], answers),
                torch.split(shard["label_probabilities"], answers),
                strict=True,
            )
        )


def _answers(target: LanguageModel, folder: Path, prompts: Sequence[str]) -> list[tuple[str, str]]:
    """The first stage's prompts with their answers."""
    texts = [
        str(target.tokenizer.decode(text.tokens[text.answer + 1 :], skip_special_tokens=True))
        for text in read_corpus(folder)
    ]
    return [(prompt, text) for prompt, text in zip(prompts, texts, strict=False) if text.strip()]


@torch.inference_mode()
def _write(
    target: LanguageModel, prompts: Sequence[str], *, max_new_tokens: int, seed: int
) -> list[Text]:
    """Answers to a batch of prompts, padded on the left so that all grow at the same end."""
    encoded = [target.encode(prompt, raw=False) for prompt in prompts]
    width = max(map(len, encoded))
    device = target.device
    tokens = torch.tensor([[0] * (width - len(ids)) + ids for ids in encoded], device=device)
    mask = torch.tensor(
        [[0] * (width - len(ids)) + [1] * len(ids) for ids in encoded], device=device
    )
    temperature = torch.tensor(TEMPERATURES, device=device).repeat(len(encoded))[: len(encoded)]
    end_ids = torch.tensor(sorted(target.end_ids), device=device)
    dice = TokenDice(target, seed)

    cache = rollback_cache(target.model.config)
    layers = state_layers(target.layers)
    glimpses = []
    new, alive = tokens, torch.ones(len(encoded), dtype=torch.bool, device=device)
    lengths = torch.zeros(len(encoded), dtype=torch.long, device=device)
    for _ in range(max_new_tokens):
        output = target.model(
            input_ids=new,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp_min(0)[:, -new.shape[1] :],
            cache=cache,
            use_cache=True,
            logits_to_keep=1,
            output_hidden_states=True,
        )
        logits = output.logits[:, -1, : target.vocabulary_size].float()
        glimpses.append(look(output, logits, layers))
        lengths += alive
        new = dice.throw(logits, temperature)[:, None]
        alive &= ~torch.isin(new[:, 0], end_ids)
        if not alive.any():
            break
        tokens = torch.cat([tokens, new], 1)
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], 1)

    whole = joined(glimpses)
    sequences = []
    for row, (known, answered) in enumerate(zip(encoded, lengths.tolist(), strict=True)):
        seen = slice(width - len(known), width + answered - 1)
        sequences.append(
            Text(
                tokens[row, seen].int().cpu(),
                whole.states[row, seen],
                whole.label_ids[row, :answered],
                whole.label_probabilities[row, :answered],
            )
        )
    return sequences


def _save(sequences: Sequence[Text], path: Path) -> None:
    shard = {
        "lengths": torch.tensor([len(sequence.tokens) for sequence in sequences]),
        "answers": torch.tensor([len(sequence.label_ids) for sequence in sequences]),
        "tokens": torch.cat([sequence.tokens for sequence in sequences]),
        "states": torch.cat([sequence.states for sequence in sequences]),
        "label_ids": torch.cat([sequence.label_ids for sequence in sequences]),
        "label_probabilities": torch.cat([sequence.label_probabilities for sequence in sequences]),
    }
    staged = path.with_suffix(".part")
    save_file(shard, staged)
    os.replace(staged, path)
