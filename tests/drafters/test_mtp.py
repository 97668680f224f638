"""The block that reads hidden states: what it has read, and that the rule stays exact."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from specviz.drafters.draft_vocabulary import DraftHead
from specviz.drafters.mtp import Mtp, echoes_of
from specviz.drafters.trained import new_block
from tests.tiny import VOCABULARY, run, sampler, target, without_end
from tests.trained import STATE_LAYERS, write_trained

MODEL = target().model


def block(least_chance: float = 0.0) -> Mtp:
    torch.manual_seed(7)
    head = DraftHead(MODEL, torch.arange(0, VOCABULARY, 2))
    weights = new_block(MODEL, len(STATE_LAYERS))
    return Mtp(weights, head, STATE_LAYERS, target().open(), least_chance)


@torch.inference_mode()
def expected_scores(drafter: Mtp, context: Tensor, proposals: Tensor) -> Tensor:
    """q's logits, made without a cache: the block over all pairs, once for each proposal."""
    states = MODEL(context[None, :-1], output_hidden_states=True).hidden_states
    features = drafter._block.read(torch.cat([states[layer] for layer in STATE_LAYERS], -1))
    embed = MODEL.get_input_embeddings()
    named = {*range(0, VOCABULARY, 2), *context.tolist()}
    unnamed = [token for token in range(VOCABULARY) if token not in named]
    rows, sequence = [], context
    for proposal in proposals:
        count = features.shape[1]
        places = torch.arange(count)
        echoes, sizes = echoes_of(sequence, 1)
        outputs = drafter._block(
            features,
            embed(sequence[1:])[None],
            drafter._block.hear(embed(echoes), sizes)[None],
            places[None],
            DynamicCache(),
            (places[:, None] >= places)[None, None],
        )
        scores = MODEL.get_output_embeddings()(outputs[0, -1])
        scores[unnamed] = -torch.inf
        rows.append(scores)
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
    dice = sampler(temperature=temperature)
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
def test_nothing_outside_the_draft_vocabulary_and_the_context_is_proposed() -> None:
    """Even ids are frequent; 97 and 99 stand in the prompt, and 101 comes with a cycle."""
    drafter, model = block(), target().open()
    context = torch.tensor([97, 98, 99])
    drafter.begin(context, model.forward(context[:-1], hidden_states=True))
    odd = torch.arange(1, VOCABULARY, 2)
    for named in ([97, 99], [97, 99, 101]):
        draft = drafter.propose(context, 8, sampler(temperature=2.0))
        unnamed = odd[~torch.isin(odd, torch.tensor(named))]
        assert draft.q[:, unnamed].sum() == 0
        assert (draft.q[:, named] > 0).all()
        assert torch.allclose(draft.q.sum(-1), torch.ones(8))
        verify_pass = model.forward(torch.cat([context[-1:], draft.tokens[:1]]), hidden_states=True)
        context = torch.cat([context, draft.tokens[:1], torch.tensor([101])])
        drafter.commit(context, 1, verify_pass)


def test_an_echo_is_what_followed_the_longest_match() -> None:
    """1 2 stood at the start and 2 alone later: the pair counts, and what followed it, 3."""
    ids, sizes = echoes_of(torch.tensor([1, 2, 3, 2, 9, 1, 2]))
    assert sizes.tolist() == [0, 0, 0, 1, 0, 1, 2]
    assert ids[sizes > 0].tolist() == [3, 2, 3]


@torch.inference_mode()
@pytest.mark.parametrize("least_chance", [1.0, 1e-3, 1e-6, 1e-30])
def test_a_draft_ends_once_it_is_hardly_kept_whole(least_chance: float) -> None:
    """The product of the largest probabilities is counted with the whole draft's at hand."""
    context = torch.tensor([97, 98, 99])
    prompt_pass = target().open().forward(context[:-1], hidden_states=True)
    whole, ended = block(), block(least_chance)
    for drafter in (whole, ended):
        drafter.begin(context, prompt_pass)
    draft = whole.propose(context, 8, sampler(temperature=1.0))
    assert draft.scores is not None
    chances = draft.scores.softmax(-1).amax(-1).cumprod(0)
    expected = int((chances >= least_chance).sum()) + 1
    assert len(ended.propose(context, 8, sampler(temperature=1.0))) == min(expected, 8)


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
