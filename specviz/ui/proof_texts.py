"""The Proof page's words."""

from __future__ import annotations

from specviz.ui.texts import _

TOKENS = ("A", "B", "C", "D", "E")


def faults() -> dict[str, tuple[str, str]]:
    """Of each known fault, what it is called and what it does."""
    return {
        "q-without-processors": (
            _("q at another temperature"),
            _(
                "The guesses are drawn at the run’s temperature, but the test is told the "
                "drafter’s raw distribution. It uses a q from which nothing was drawn."
            ),
        ),
        "argmax-draft-with-softmax-q": (
            _("Best guess, tested as if drawn"),
            _(
                "The drafter always proposes its favourite, but the test is told the whole "
                "distribution, as if the guess had been drawn from it."
            ),
        ),
        "residual-is-p": (
            _("Refusals drawn from p"),
            _(
                "After a refusal the next token is drawn from the target’s p instead of from "
                "the residual: what the drafter likes comes too often."
            ),
        ),
        "residual-is-argmax": (
            _("Refusals take the favourite"),
            _("After a refusal the likeliest token of the residual is taken instead of drawn."),
        ),
        "one-u-for-all-positions": (
            _("One throw for all guesses"),
            _(
                "The same random number decides over both guesses of a cycle, so whether the "
                "second is kept hangs on the first."
            ),
        ),
        "test-skipped": (
            _("No test"),
            _("Every guess is kept: what comes out is the drafter’s text."),
        ),
        "rejected-token-kept": (
            _("Refused tokens stay"),
            _("A refused guess is written all the same, and the text goes on behind it."),
        ),
    }


def fault_name(fault: str | None) -> str:
    """What a fault is called; None is the rule as it should be."""
    return _("No fault") if fault is None else faults()[fault][0]
