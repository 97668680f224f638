"""Where two texts part: a tie within rounding, or a bug."""

from __future__ import annotations

import torch

from specviz.parity import find_parting
from specviz.runtime.language_model import LanguageModel
from tests.tiny import run, target, tiny


def test_equal_texts_do_not_part() -> None:
    ids = run(target()).token_ids
    assert find_parting(target(), [97, 98], ids, list(ids)) is None


def test_a_wrong_token_is_no_tie() -> None:
    prompt = target().encode("abcab", raw=True)
    right = run(target(), "abcab").token_ids
    wrong = [*right[:4], (right[4] + 1) % 256, *right[5:]]
    parting = find_parting(target(), prompt, wrong, right)
    assert parting is not None
    assert parting.position == 4
    assert parting.tokens == (wrong[4], right[4])
    assert parting.gap > 100 * parting.rounding
    assert not parting.tie


def test_two_tokens_with_equal_rows_of_the_head_tie() -> None:
    model: LanguageModel = tiny()
    right = run(model, "abcab").token_ids
    twin = (right[4] + 1) % 256
    with torch.no_grad():
        head = model.model.get_output_embeddings().weight
        head[twin] = head[right[4]]
    other = [*right[:4], twin, *right[5:]]
    parting = find_parting(model, model.encode("abcab", raw=True), other, right)
    assert parting is not None
    assert parting.position == 4
    assert parting.tie


def test_a_tie_of_bfloat16_is_no_tie_in_float32() -> None:
    """The two logits lie a thousandth apart: within a 16-bit step, far outside a 32-bit one."""
    ties = {}
    for dtype in (torch.bfloat16, torch.float32):
        model = tiny()
        right = run(model, "abcab").token_ids
        twin = (right[4] + 1) % 256
        with torch.no_grad():
            head = model.model.get_output_embeddings().weight
            head[twin] = head[right[4]] * 0.999
        torch.nn.Module.to(model.model, dtype)
        parting = find_parting(
            model, model.encode("abcab", raw=True), [*right[:4], twin], right[:5]
        )
        assert parting is not None
        ties[dtype] = parting.tie
    assert ties == {torch.bfloat16: True, torch.float32: False}
