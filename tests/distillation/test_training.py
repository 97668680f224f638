"""Losses, masks and schedules, by hand; and that a drafter learns."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import DynamicCache

from specviz.distillation import corpus
from specviz.distillation.distill import Progress, distill
from specviz.distillation.recipe import Recipe
from specviz.distillation.texts import Text
from specviz.distillation.training import (
    Batch,
    Batches,
    MtpStudent,
    draft_vocabulary,
    learning_rate,
    outcome,
    unrolled_mask,
)
from specviz.drafters.draft_vocabulary import DraftHead
from specviz.drafters.mtp import echoes_of
from specviz.drafters.trained import load_trained, new_block
from tests.tiny import target
from tests.trained import STATE_LAYERS

RECIPE = Recipe(
    prompts=48,
    max_new_tokens=24,
    vocabulary=128,
    steps=60,
    batch_tokens=512,
    unroll=2,
    single_steps=30,
)


def test_a_recipe_begins_with_the_first_drafting_step_alone() -> None:
    assert [RECIPE.drafting_steps(step) for step in (0, 29, 30, 59)] == [1, 1, 2, 2]


def test_what_an_unrolled_query_may_see() -> None:
    """Three places, third drafting step: true keys up to i − 2, then one of each step."""
    see = unrolled_mask(3, 2)[0, 0].int().tolist()
    assert see[2] == [1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert unrolled_mask(3, 0)[0, 0].int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert unrolled_mask(3, 1)[0, 0].int().tolist()[1:] == [
        [1, 0, 0, 0, 1, 0],
        [1, 1, 0, 0, 0, 1],
    ]


@torch.inference_mode()
def test_the_unrolled_steps_equal_drafting() -> None:
    """Step s at place i is what the drafter says after s − 1 steps on its own from i − s + 1."""
    torch.manual_seed(1)
    block = new_block(target().model, len(STATE_LAYERS))
    for parameter in block.parameters():
        parameter.add_(0.02 * torch.randn_like(parameter))
    tokens = torch.tensor([[97, 98, 99, 100, 97, 101, 98, 99]])
    states = target().model(tokens, output_hidden_states=True).hidden_states
    side_by_side = torch.cat([states[layer] for layer in STATE_LAYERS], -1)
    batch = Batch(
        tokens,
        side_by_side,
        more=torch.empty(0).long(),
        labels=torch.zeros(1, 8, 1).long(),
        weights=torch.ones(1, 8, 1),
    )
    steps = MtpStudent(block, target().model).predict(batch, 3)

    embed = target().model.get_input_embeddings()
    ids, sizes = echoes_of(tokens[0])
    assert sizes.tolist() == [0, 0, 0, 0, 1, 0, 1, 2]
    echoes = block.hear(embed(ids), sizes)[None]
    for base in (2, 4):
        places = torch.arange(base + 1)
        cache = DynamicCache()
        feature = block(
            block.read(side_by_side[:, : base + 1]),
            embed(tokens[:, 1 : base + 2]),
            echoes[:, 1 : base + 2],
            places[None],
            cache,
            (places[:, None] >= places)[None, None],
        )[:, -1:]
        for step in range(3):
            # A pair at i speaks of the token behind i + 1, where its label stands.
            hidden = steps[step][0][0, base + step + 1]
            assert torch.allclose(hidden, feature[0, 0], atol=1e-4), (base, step)
            place = torch.tensor([[base + step + 1]])
            if base + step + 2 < 8:
                following = slice(base + step + 2, base + step + 3)
                token = embed(tokens[:, following])
                feature = block(feature, token, echoes[:, following], place, cache, None)


def test_loss_overlap_and_agreement_by_hand() -> None:
    """Two positions, a draft vocabulary of two, p = (.5, .25) and (.1, .6); q = (.8, .2)."""

    class Fixed:
        weights = nn.Linear(1, 1)

        def predict(
            self, batch: Batch, drafting_steps: int
        ) -> list[tuple[torch.Tensor, torch.Tensor]]:
            return [(torch.zeros(1, 3, 1), batch.weights)]

    class Head(DraftHead):
        def __init__(self) -> None:
            nn.Module.__init__(self)

        def short(self, states: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
            assert more.tolist() == [7]
            return torch.tensor([0.8, 0.2]).log().expand(*states.shape[:-1], 2)

    batch = Batch(
        tokens=torch.zeros(1, 3).long(),
        states=torch.zeros(1, 3, 1),
        more=torch.tensor([7]),
        labels=torch.tensor([[[0, 1], [0, 1], [1, 0]]]),
        weights=torch.tensor([[[0.0, 0.0], [0.5, 0.25], [0.6, 0.1]]]),
    )
    found = outcome(Fixed(), Head(), batch)
    log = torch.tensor([0.8, 0.2]).log()
    expected = -(0.5 * log[0] + 0.25 * log[1] + 0.1 * log[0] + 0.6 * log[1]) / 2
    assert found.loss == pytest.approx(float(expected))
    assert found.overlap == pytest.approx([(0.5 + 0.2 + 0.1 + 0.2) / 2])
    assert found.agreement == [0.5]


def text(length: int, answer: int, first: int = 0) -> Text:
    return Text(
        tokens=torch.arange(first, first + length).int(),
        states=torch.full((length, 3), float(length)).bfloat16(),
        label_ids=torch.arange(first + length - answer + 1, first + length + 1)[:, None].int(),
        label_probabilities=torch.full((answer, 1), 0.5).half(),
    )


def test_a_batch_puts_every_label_at_its_position() -> None:
    texts = [text(6, 3), text(4, 2, first=20)]
    vocabulary = torch.tensor([4, 6, 23, 24])
    (batch,) = Batches(texts, vocabulary, 30, 1000, with_context=False).epoch(0)
    longer = batch.tokens[:, 0].tolist().index(0)
    shorter = 1 - longer
    assert batch.tokens[shorter].tolist() == [20, 21, 22, 23, 0, 0]
    assert batch.weights[longer, :, 0].tolist() == [0, 0, 0, 0.5, 0, 0.5]
    assert batch.labels[longer, [3, 5], 0].tolist() == [0, 1]
    assert batch.weights[shorter, :, 0].tolist() == [0, 0, 0.5, 0.5, 0, 0]
    assert batch.labels[shorter, [2, 3], 0].tolist() == [2, 3]
    assert len(batch.more) == 0


def test_what_stands_in_a_batch_may_be_proposed_in_it() -> None:
    """The labels are 4, 5, 6: 4 and 6 are frequent, 5 stands in the text, 6 only behind it."""
    (batch,) = Batches([text(6, 3)], torch.tensor([4, 6]), 30, 1000, with_context=True).epoch(0)
    assert batch.more.tolist() == [0, 1, 2, 3, 5]
    assert batch.weights[0, :, 0].tolist() == [0, 0, 0, 0.5, 0.5, 0.5]
    assert batch.labels[0, 3:, 0].tolist() == [0, 2 + 4, 1]


def test_batches_hold_every_text_once_and_keep_to_their_size() -> None:
    texts = [text(5 + n % 7, 2, first=n) for n in range(40)]

    def epoch() -> list[Batch]:
        return list(Batches(texts, torch.arange(60), 60, 50, with_context=False).epoch(3))

    batches = epoch()
    assert sorted(int(row[0]) for batch in batches for row in batch.tokens) == list(range(40))
    assert all(batch.tokens.numel() <= 50 for batch in batches)
    assert [int(batch.tokens[0, 0]) for batch in epoch()] == [
        int(batch.tokens[0, 0]) for batch in batches
    ]


def test_the_draft_vocabulary_is_the_most_frequent_ids_and_the_ends() -> None:
    texts = [text(6, 3), text(6, 3), text(6, 2, first=2)]
    # Answers hold 4, 5 (twice each) and 7 (once); 19 is an end.
    assert draft_vocabulary(texts, 4, [19], 20).tolist() == [4, 5, 7, 19]
    assert draft_vocabulary(texts, 6, [19], 20).tolist() == [0, 1, 4, 5, 7, 19]


def test_the_learning_rate_rises_and_falls() -> None:
    assert learning_rate(0, 1000, 1.0) == pytest.approx(0.02)
    assert learning_rate(49, 1000, 1.0) == pytest.approx(1.0)
    assert learning_rate(525, 1000, 1.0) == pytest.approx(0.525)
    assert learning_rate(1000, 1000, 1.0) == pytest.approx(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mtp", "small-2"])
def test_a_drafter_learns_and_goes_on_where_it_stopped(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "BATCH", 16)
    monkeypatch.setattr("specviz.distillation.distill._CHECK_EVERY", 20)
    seen: list[Progress] = []
    whole = distill(kind, target(), tmp_path / "whole", RECIPE, report=seen.append)
    assert [progress.step for progress in seen] == [20, 40, 60]
    assert seen[-1].overlap[0] > seen[0].overlap[0]
    assert seen[-1].loss < seen[0].loss

    def stop(progress: Progress) -> None:
        if progress.step == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distill(kind, target(), tmp_path / "parted", RECIPE, report=stop)
    steps: list[int] = []
    parted = distill(
        kind,
        target(),
        tmp_path / "parted",
        RECIPE,
        progress=lambda done, total: steps.append(done) if total == RECIPE.steps else None,
    )
    assert steps[0] == 41
    one, other = (load_trained(str(path), target()) for path in (whole, parted))
    for name, tensor in one.module.state_dict().items():
        assert torch.allclose(tensor, other.module.state_dict()[name], atol=1e-5), name
    said = whole.with_suffix(".md").read_text()
    assert f"# {kind} for {target().id}" in said
    assert "--steps 60 --batch-tokens 512" in said
    assert one.card.training["held_out_agreement"] == pytest.approx(
        other.card.training["held_out_agreement"]
    )
