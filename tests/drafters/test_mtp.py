"""The block that reads hidden states: what it has read, and that the rule stays exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.drafters.draft_vocabulary import DraftHead
from specviz.drafters.mtp import Mtp
from specviz.drafters.trained import new_block
from specviz.sampling import Sampler
from specviz.settings import Settings
from tests.tiny import VOCABULARY, run, target, without_end
from tests.trained import STATE_LAYERS, write_trained

MODEL = target().model


def block() -> Mtp:
    torch.manual_seed(7)
    head = DraftHead(MODEL, torch.arange(0, VOCABULARY, 2))
    return Mtp(new_block(MODEL, len(STATE_LAYERS)), head, STATE_LAYERS, target().open())


def sampler(temperature: float) -> Sampler:
    return Sampler(
        Settings(temperature=temperature),
        vocabulary_size=VOCABULARY,
        prompt_length=1,
        end_ids=frozenset(),
        device=torch.device("cpu"),
    )


@torch.inference_mode()
def expected_scores(drafter: Mtp, context: Tensor, proposals: Tensor) -> Tensor:
    """q's logits, made without a cache: the block over all pairs, once for each proposal."""
    states = MODEL(context[None, :-1], output_hidden_states=True).hidden_states
    features = drafter._block.read(torch.cat([states[layer] for layer in STATE_LAYERS], -1))
    rows, sequence = [], context
    for proposal in proposals:
        count = features.shape[1]
        places = torch.arange(count)
        outputs = drafter._block(
            features,
            MODEL.get_input_embeddings()(sequence[1:])[None],
            places[None],
            DynamicCache(),
            (places[:, None] >= places)[None, None],
        )
        rows.append(drafter._head(outputs[0, -1]))
        features = torch.cat([features, outputs[:, -1:]], 1)
        sequence = torch.cat([sequence, proposal[None]])
    return torch.stack(rows)


@torch.inference_mode()
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_each_draft_is_what_the_block_says_of_the_true_hidden_states(temperature: float) -> None:
    """Cases 2 and 15: after any number kept, and after cycles without a draft.

    A block cannot agree with the target by construction, so instead of its acceptance its
    distributions are compared with those made from nothing.
    """
    drafter, model = block(), target().open()
    dice = sampler(temperature)
    context = torch.tensor([97, 98, 99, 97, 98, 5])
    drafter.begin(context, model.forward(context[:-1], hidden_states=True))
    for kept, gamma in [(0, 3), (3, 3), (1, 4), (0, 0), (0, 0), (2, 2), (0, 1), (1, 1)]:
        proposals = torch.empty(0, dtype=torch.long)
        if gamma:
            draft = drafter.propose(context, gamma, dice)
            proposals = draft.tokens
            assert draft.scores is not None
            expected = expected_scores(drafter, context, proposals)
            assert torch.allclose(draft.scores, expected, atol=1e-4)
            assert drafter.cache_length == len(context) - 1
        verify_pass = model.forward(torch.cat([context[-1:], proposals]), hidden_states=True)
        context = torch.cat([context, proposals[:kept], torch.tensor([100 + gamma])])
        model.roll_back(len(context) - 1)
        drafter.commit(context, kept, verify_pass)


@torch.inference_mode()
def test_nothing_outside_the_draft_vocabulary_is_proposed() -> None:
    drafter, model = block(), target().open()
    context = torch.tensor([97, 98, 99])
    drafter.begin(context, model.forward(context[:-1], hidden_states=True))
    draft = drafter.propose(context, 8, sampler(2.0))
    assert (draft.tokens % 2 == 0).all()
    assert draft.q[:, 1::2].sum() == 0
    assert torch.allclose(draft.q.sum(-1), torch.ones(8))


@pytest.mark.parametrize("allowed", [(97, 99, 101), (96, 97)])
def test_a_draft_vocabulary_without_any_allowed_token_changes_nothing(
    allowed: tuple[int, ...], tmp_path: Path
) -> None:
    """Even ids can be proposed only; the text consists of others."""
    drafter = write_trained("mtp", target(), tmp_path, vocabulary=torch.arange(0, VOCABULARY, 2))
    model = without_end(target())
    for temperature in (0.0, 1.0):
        trace = run(
            model, drafter=drafter, gamma=3, temperature=temperature, allowed_token_ids=allowed
        )
        assert set(trace.token_ids) <= set(allowed)
        assert len(trace.token_ids) == 24
    plain = run(model, allowed_token_ids=allowed)
    assert run(model, drafter=drafter, allowed_token_ids=allowed).token_ids == plain.token_ids
