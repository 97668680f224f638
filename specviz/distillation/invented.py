"""Prompts that the target invents itself: shown where a user would begin to write, it goes on.

What it has learned to be asked comes out in great variety, as in Magpie (arXiv 2406.08464).
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.runtime.cache import rollback_cache
from specviz.runtime.language_model import LanguageModel

_LONGEST = 160
"""Tokens of an invented prompt; one that is longer stops there."""
_MARK = "\N{WHITE MEDIUM STAR}"
"""Stands for the prompt while the chat's form around it is looked at."""


def can_invent(target: LanguageModel) -> bool:
    """Whether it has a chat's form, in which users' turns begin."""
    return bool(target.tokenizer.chat_template)


@torch.inference_mode()
def invented_prompts(target: LanguageModel, count: int, seed: int) -> list[str]:
    """`count` prompts, drawn at temperature 1; the same for the same seed."""
    device = target.device
    generator = torch.Generator(device).manual_seed(seed)
    end_ids = torch.tensor(sorted(target.end_ids), device=device)
    new = torch.tensor([_user_s_beginning(target)] * count, device=device)
    cache = rollback_cache(target.model.config)
    written: list[Tensor] = []
    alive = torch.ones(count, dtype=torch.bool, device=device)
    while len(written) < _LONGEST and alive.any():
        logits = target.model(input_ids=new, cache=cache, use_cache=True, logits_to_keep=1).logits
        p = logits[:, -1, : target.vocabulary_size].float().softmax(-1)
        new = p.multinomial(1, generator=generator)
        written.append(torch.where(alive, new[:, 0], -1))
        alive &= ~torch.isin(new[:, 0], end_ids)
    return [
        str(target.tokenizer.decode(ids[ids >= 0], skip_special_tokens=True)).strip()
        for ids in torch.stack(written, 1).cpu()
    ]


def _user_s_beginning(target: LanguageModel) -> list[int]:
    """The ids of a chat up to where its user begins to write."""
    form = target.tokenizer.apply_chat_template(
        [{"role": "user", "content": _MARK}], tokenize=False
    )
    return list(target.tokenizer.encode(str(form).partition(_MARK)[0], add_special_tokens=False))
