"""Where two greedy texts of one model part: a tie within rounding, or a bug.

In 16-bit arithmetic a pass over k + 1 tokens can round differently from a pass over one. If
the two tokens' logits lie closer together than that rounding, either is the argmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specviz.runtime.language_model import LanguageModel


@dataclass(frozen=True)
class Parting:
    """The first token in which two texts differ."""

    position: int
    """Index into the generated tokens."""
    tokens: tuple[int, int]
    gap: float
    """Least distance of the two tokens' logits, over the ways of computing them."""
    rounding: float
    """How far one and the same logit moves between those ways, or the dtype's own step."""

    @property
    def tie(self) -> bool:
        """Whether rounding alone explains the difference."""
        return self.gap <= 2 * self.rounding


def find_parting(
    target: LanguageModel, prompt_ids: Sequence[int], one: Sequence[int], other: Sequence[int]
) -> Parting | None:
    """Where two continuations of a prompt part; None if they are identical.

    A text that ends where the other goes on parts behind its end only if neither ended by
    itself; continuations of equal settings do not.
    """
    pairs = zip(one, other, strict=False)
    position = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if position is None:
        return None
    tokens = (one[position], other[position])
    context = torch.tensor([*prompt_ids, *one[:position]], device=target.device)
    logits = torch.stack(
        [_last_logits(target, context, split)[list(tokens)] for split in (0, 1, 3, 5, 9)]
    )
    step = torch.finfo(target.dtype).eps * float(logits.abs().max())
    spread = float((logits.amax(0) - logits.amin(0)).max())
    gap = float((logits[:, 0] - logits[:, 1]).abs().min())
    return Parting(position, tokens, gap, max(spread, step))


@torch.inference_mode()
def _last_logits(target: LanguageModel, context: torch.Tensor, split: int) -> torch.Tensor:
    """Logits behind `context`, its last `split` tokens passed over in a pass of their own."""
    model = target.open()
    split = min(split, len(context) - 1)
    if split:
        model.forward(context[:-split], keep=1)
    return model.forward(context[model.length :], keep=1).logits[-1].float()
