"""Drafting with a model: what q is, and how early exit shares the target's cache."""

from __future__ import annotations

import torch

from specviz.drafters.autoregressive import EarlyExit, draw_draft
from specviz.runtime.language_model import LanguageModel
from tests.tiny import FAMILIES, sampler, target, tiny


@torch.inference_mode()
def test_q_is_the_model_s_own_distribution_behind_each_proposal() -> None:
    context = torch.tensor([5, 6, 7])
    draft = draw_draft(target().open(), context, 4, sampler(temperature=2.0))
    sequence = torch.cat([context, draft.tokens])
    logits = target().model(sequence[None]).logits[0]
    assert torch.allclose(draft.q, (logits[2:6] / 2).softmax(-1), atol=1e-5)


@torch.inference_mode()
def test_early_exit_equals_a_model_that_has_only_those_layers() -> None:
    for family in FAMILIES:
        whole = tiny(family)
        layers = "n_layer" if family == "gpt2" else "num_hidden_layers"
        cut = tiny(family, **{layers: 1})
        cut.model.load_state_dict(whole.model.state_dict(), strict=False)
        expected = draw_draft(cut.open(), torch.tensor([5, 6, 7]), 4, sampler())

        model = whole.open()
        model.forward(torch.tensor([5, 6]))
        drafter = EarlyExit(model, 1)
        draft = drafter.propose(torch.tensor([5, 6, 7]), 4, sampler())
        assert draft.tokens.tolist() == expected.tokens.tolist(), family
        assert draft.scores is not None
        assert expected.scores is not None
        assert torch.allclose(draft.scores, expected.scores, atol=1e-4), family
        assert model.length == 2, "what it wrote into the target's cache is taken back"


@torch.inference_mode()
def test_early_exit_leaves_the_target_as_it_was() -> None:
    model: LanguageModel = tiny()
    before = model.model(torch.tensor([[1, 2, 3]])).logits
    cached = model.open()
    cached.forward(torch.tensor([1, 2]))
    EarlyExit(cached, 1).propose(torch.tensor([1, 2, 3]), 3, sampler())
    assert model.layers == 3
    assert torch.equal(model.model(torch.tensor([[1, 2, 3]])).logits, before)
    assert torch.allclose(cached.forward(torch.tensor([3])).logits[0], before[0, 2], atol=1e-4)
