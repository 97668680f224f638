"""What is said of a trained drafter, in a file beside it."""

from __future__ import annotations

from collections.abc import Sequence

from specviz.distillation.recipe import Recipe
from specviz.drafters.mtp import ECHO_MATCH
from specviz.drafters.trained import Card

_WHAT = {
    "mtp": (
        "One Llama layer behind three projections. At each position it reads hidden states of the "
        "target from three depths, the embedding of the next token and an echo, and guesses the "
        "token after; to guess further it reads its own output. The echo is the token that "
        f"followed where the last few, up to {ECHO_MATCH}, stood before."
    ),
    "small-2": "Two of the target's layers behind its own embeddings, which the file has not.",
    "small-4": "Four of the target's layers behind its own embeddings, which the file has not.",
}
_ORIGIN = {
    "mtp": "Its layer began as a copy of the target's last one where that is a Llama layer.",
    "small-2": "Its layers began as copies of the target's first and last.",
    "small-4": "Its layers began as copies of the target's first two and last two.",
}


def model_card(card: Card, license: str = "", note: str = "") -> str:
    """Markdown, made of what a file says of itself.

    Args:
        card: of the file.
        license: of the target, which the drafter derives from; empty if it is not known.
        note: what else there is to say of how it was trained.
    """
    training = card.training
    recipe = Recipe.model_validate({k: v for k, v in training.items() if k in Recipe.model_fields})
    defaults = Recipe()
    options = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in recipe
        if value != getattr(defaults, name)
    ]
    command = " ".join([f"python -m specviz distill {card.kind} --target {card.target}", *options])
    return f"""# {card.kind} for {card.target}

{_WHAT[card.kind]} It guesses among the {recipe.vocabulary:,} tokens that the target writes most
often{_and_context(card.kind)}, with the target's own head cut to them.

- **Derives from** {card.target} and is under its licence{f", {license}" if license else ""}.
  {_ORIGIN[card.kind]}
- **Fits** that model only (fingerprint `{card.fingerprint}`).
- **Data**: {training["texts"]:,} texts of the target itself, {training["tokens"]:,} tokens, each
  with the 64 likeliest tokens and their probabilities: answers to prompts written for this project,
  and for a chat model chats that it invented. No text of others, and none of the prompts that
  results are measured on.
- **Training**: {recipe.steps:,} steps of about {recipe.batch_tokens:,} tokens, AdamW, learning
  rate {recipe.learning_rate:g} at its peak{_unrolled(card.kind, recipe)}, seed {recipe.seed}.
  {note}
- **Held out** (unseen texts): greedy guesses kept {_percents(training["held_out_agreement"])};
  expected at temperature 1: {_percents(training["held_out_overlap"])}{_by_place(card.kind)}.
- **In the file**: matrices in 8 bits with a scale a row.

Make it again: `{command}`
"""


def _and_context(kind: str) -> str:
    return " and those that stand in the context" if kind == "mtp" else ""


def _unrolled(kind: str, recipe: Recipe) -> str:
    if kind != "mtp":
        return ""
    return (
        f"; the first {recipe.single_steps:,} on the first guess alone, then on {recipe.unroll} "
        "guesses in a row"
    )


def _percents(rates: Sequence[float]) -> str:
    return ", ".join(f"{rate:.1%}".replace("%", " %") for rate in rates)


def _by_place(kind: str) -> str:
    return ", by place in a draft" if kind == "mtp" else ""
