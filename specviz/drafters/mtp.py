"""Multi-token prediction: one block that reads what the target has on its mind.

At position i the block reads the target's hidden states hᵢ and the embedding of the next token
tᵢ₊₁, and predicts tᵢ₊₂ (DeepSeek-V3, arXiv 2412.19437). To draft further it reads its own
output in place of the hidden states it cannot know yet, as EAGLE does (arXiv 2401.15077); the
hidden states come from three depths, as in EAGLE-3 (arXiv 2503.01840).

Besides, it hears an echo: where tᵢ₊₁ and the tokens in front of it stood before, the token that
followed them there. So the block learns when to copy, and need not find the place by itself.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import Cache, LlamaConfig, PreTrainedModel
from transformers.models.llama.modeling_llama import (
    LlamaDecoderLayer,
    LlamaRMSNorm,
    LlamaRotaryEmbedding,
)

from specviz.drafters.base import Draft
from specviz.drafters.draft_vocabulary import ContextHead, DraftHead
from specviz.drafters.repeats import earlier_matches
from specviz.runtime.cache import RollbackLayer, roll_back
from specviz.runtime.language_model import CachedModel, Pass
from specviz.sampling import Sampler, confidence

ECHO_MATCH = 8
"""Tokens that an echo may have in common with its place, at most."""


class MtpBlock(nn.Module):
    """The weights: three projections in front of one Llama layer."""

    def __init__(self, config: LlamaConfig, depths: int) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.rms_norm_eps
        self.state_norm = LlamaRMSNorm(depths * width, eps)
        self.fuse = nn.Linear(depths * width, width, bias=False)
        self.feature_norm = LlamaRMSNorm(width, eps)
        self.token_norm = LlamaRMSNorm(width, eps)
        self.join = nn.Linear(2 * width, width, bias=False)
        self.trust = nn.Embedding(ECHO_MATCH + 1, width)
        self.echo = nn.Linear(width, width, bias=False)
        self.layer = LlamaDecoderLayer(config, layer_idx=0)
        self.norm = LlamaRMSNorm(width, eps)
        self.rotary = LlamaRotaryEmbedding(config)

    def read(self, states: Tensor) -> Tensor:
        """The target's hidden states, side by side, as one feature: [..., D·w] → [..., w]."""
        fused: Tensor = self.fuse(self.state_norm(states))
        return fused

    def hear(self, echoes: Tensor, sizes: Tensor) -> Tensor:
        """[..., w] embeddings of echoes, [...] tokens that matched in front of each → [..., w]."""
        heard: Tensor = self.echo(self.token_norm(echoes) * self.trust(sizes))
        return heard

    def forward(
        self,
        features: Tensor,
        tokens: Tensor,
        echoes: Tensor,
        positions: Tensor,
        cache: Cache,
        mask: Tensor | None,
    ) -> Tensor:
        """What follows each pair of a feature and the token behind it: [B, k, w] → [B, k, w].

        Args:
            features: [B, k, w] of `read`, or of this block's last outputs.
            tokens: [B, k, w] embeddings.
            echoes: [B, k, w] of `hear`.
            positions: [1, k] of the features' own tokens.
            cache: of one layer, which the block extends.
            mask: [1, 1, k, keys], true where a key may be seen; None if all may.
        """
        joined = torch.cat([self.feature_norm(features), self.token_norm(tokens)], -1)
        hidden = self.join(joined) + echoes
        hidden = self.layer(
            hidden,
            attention_mask=mask,
            position_ids=positions,
            cache=cache,
            use_cache=True,
            position_embeddings=self.rotary(hidden, positions),
        )
        normed: Tensor = self.norm(hidden)
        return normed


def echoes_of(tokens: Tensor, first: int = 0) -> tuple[Tensor, Tensor]:
    """What each token's echo is, from position `first` of `tokens`, [n], on.

    Returns:
        (ids, sizes), [n − first] each: the token that followed at the earlier place, and how many
        tokens matched there; of size 0 there is none.
    """
    sizes, starts = earlier_matches(tokens, ECHO_MATCH, first)
    return tokens[starts], sizes


def block_config(target: PreTrainedModel) -> LlamaConfig:
    """A Llama layer of the target's width; the target's own proportions where it has them."""
    own = target.config.get_text_config(decoder=True)
    heads = own.num_attention_heads
    config = LlamaConfig(
        hidden_size=own.hidden_size,
        intermediate_size=getattr(own, "intermediate_size", None) or 4 * own.hidden_size,
        num_attention_heads=heads,
        num_key_value_heads=getattr(own, "num_key_value_heads", None) or heads,
        head_dim=getattr(own, "head_dim", None) or own.hidden_size // heads,
        rms_norm_eps=getattr(own, "rms_norm_eps", 1e-5),
        rope_parameters=getattr(own, "rope_parameters", None)
        or {"rope_type": "default", "rope_theta": 10_000.0},
        max_position_embeddings=getattr(own, "max_position_embeddings", 2048),
        num_hidden_layers=1,
    )
    config._attn_implementation = "sdpa"
    return config


class Mtp:
    """Drafts with a block that reads the target's hidden states.

    The block's cache holds one entry a pair (hᵢ, tᵢ₊₁) of committed tokens, so it is two tokens
    shorter than the context; what it wrote while feeding itself is taken back.

    `least_chance` ends a draft once the chance that all of it is kept, by the block's own largest
    probabilities, has fallen below it. That is known before the next draw, so the rule stays exact.
    """

    name = "mtp"
    reads_hidden_states = True

    def __init__(
        self,
        block: MtpBlock,
        head: DraftHead,
        state_layers: tuple[int, ...],
        target: CachedModel,
        least_chance: float = 0.0,
    ) -> None:
        self._least_chance = least_chance
        self._block = block
        self._head = ContextHead(head)
        self._state_layers = state_layers
        self._embed = target.embed
        self._before_pass = target.before_pass
        self._cache = Cache(layers=[RollbackLayer()])
        self._unread: list[Tensor] = []
        """Hidden states that the block has not read yet, of the tokens behind its cache."""

    @property
    def cache_length(self) -> int:
        return int(self._cache.get_seq_length())

    def begin(self, context: Tensor, prompt_pass: Pass) -> None:
        self._head.read(context)
        self._unread.append(self._states(prompt_pass))

    def propose(self, context: Tensor, gamma: int, sampler: Sampler) -> Draft:
        committed = self.cache_length
        features = self._block.read(torch.cat(self._unread))
        self._unread.clear()
        known = committed + len(features)
        sequence = context
        distributions: list[Tensor] = []
        scores: list[Tensor] = []
        chance = 1.0
        for _ in range(gamma):
            self._before_pass()
            start = self.cache_length
            output = self._pass(features, sequence, start)
            features = output[-1:]
            following = sampler.scores(sequence, self._head(features))
            if scores and sampler.unsure(following):
                break
            scores.append(following)
            distributions.append(sampler.distribution(scores[-1]))
            sequence = torch.cat([sequence, sampler.draw(distributions[-1])])
            if self._least_chance:
                chance *= confidence(following)
                if chance < self._least_chance:
                    break
        roll_back(self._cache, known)
        return Draft(sequence[len(context) :], torch.cat(distributions), torch.cat(scores))

    def commit(self, context: Tensor, accepted: int, verify_pass: Pass) -> None:
        self._head.read(context[-accepted - 1 :])
        self._unread.append(self._states(verify_pass)[: accepted + 1])

    def _pass(self, features: Tensor, sequence: Tensor, start: int) -> Tensor:
        """[k, w] features, of which the first is of position `start` of `sequence` → [k, w]."""
        count = len(features)
        echoes, sizes = echoes_of(sequence, start + 1)
        positions = torch.arange(start, start + count, device=features.device)
        mask = None
        if count > 1:
            mask = positions[:, None] >= torch.arange(start + count, device=features.device)
            mask = mask[None, None]
        outputs: Tensor = self._block(
            features[None],
            self._embed(sequence[start + 1 :])[None],
            self._block.hear(self._embed(echoes), sizes)[None],
            positions[None],
            self._cache,
            mask,
        )
        return outputs[0]

    def _states(self, target_pass: Pass) -> Tensor:
        """Those that the block reads, side by side: [k, D·w]."""
        states = target_pass.hidden_states
        assert states is not None
        return torch.cat([states[layer] for layer in self._state_layers], -1)
