"""How a run and its numbers look in a terminal.

What a model wrote is data: it is printed as it stands, never read as markup, and characters
that would steer the terminal or move other text become visible symbols.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from specviz.events import Cycle, Emitted, Event, Prefilled

if TYPE_CHECKING:
    from specviz.bench import BenchResult
    from specviz.bench import Row as BenchRow
    from specviz.costs import Costs
    from specviz.metrics import Summary
    from specviz.proof import Proof
    from specviz.real_proof import RealProof

STYLES = {
    "accepted": ("", "green underline"),
    "rejected": ("✕", "dark_orange3 strike"),
    "discarded": ("·", "bright_black strike"),
    "resampled": ("↻", "bold bright_blue"),
    "bonus": ("+", "bold magenta"),
    "target": ("", ""),
}
"""For each kind of token a mark that needs no colour, put behind it, and a style: as the pages."""

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb]"
)
_OPEN_CHARACTER = "◌"
"""Shown for half a character, whose other half stands in a later token."""


def visible(text: str) -> str:
    """The text with control and direction characters as symbols; line breaks and tabs stay."""
    return _UNSAFE.sub(_symbol, text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨{code:04X}⟩"


class StreamView:
    """Prints a run's tokens as they come: coloured in a terminal, elsewhere only the text."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shows_kinds = console.is_terminal

    def legend(self) -> None:
        """One line that names the kinds, each in its own style."""
        if self._shows_kinds:
            for kind in STYLES:
                self._token(kind, kind)
                self._console.out("  ", end="")
            self._console.out("")

    def show(self, event: Event) -> None:
        """Print what an event adds."""
        match event:
            case Prefilled():
                self._emitted([event.emitted])
            case Cycle():
                self._cycle(event)

    def end(self) -> None:
        """Close the last line."""
        self._console.out("")

    def _cycle(self, cycle: Cycle) -> None:
        if not self._shows_kinds:
            self._emitted(cycle.emitted)
            return
        if cycle.drafted:
            self._console.out("│", style="bright_black", end="")
        kept = [token for token in cycle.emitted if token.source == "accepted"]
        self._emitted(kept)
        for proposal in cycle.proposals:
            if proposal.verdict != "accepted":
                text = proposal.text.replace("\n", "↵").replace("\ufffd", _OPEN_CHARACTER)
                self._token(proposal.verdict, text)
        self._emitted(cycle.emitted[len(kept) :])

    def _emitted(self, tokens: Iterable[Emitted]) -> None:
        for token in tokens:
            if self._shows_kinds:
                self._token(token.source, token.text)
            else:
                self._console.out(visible(token.text), end="", highlight=False)

    def _token(self, kind: str, text: str) -> None:
        mark, style = STYLES[kind]
        body = visible(text.rstrip("\n"))
        breaks = text[len(text.rstrip("\n")) :]
        # A style never spans a line's end: some terminals paint the rest of the line.
        for part in re.split(r"(\n)", f"{body}{mark}{breaks}"):
            if part:
                plain = part == "\n"
                self._console.out(part, style=None if plain else style, end="", highlight=False)


def summary_table(summary: Summary) -> Table:
    """A run's numbers."""
    seconds = summary.seconds
    rows = [
        ("prompt tokens", str(summary.prompt_tokens)),
        ("tokens in cycles", str(summary.tokens)),
        ("cycles", str(summary.cycles)),
        ("target passes", str(summary.target_passes)),
        ("draft acceptance rate", percent(summary.draft_acceptance_rate)),
        ("mean acceptance length τ", number(summary.mean_acceptance_length)),
        (
            "conditional acceptance by position",
            " ".join(percent(at.rate) for at in summary.conditional_acceptance) or "–",
        ),
        (
            "cycles that kept 0, 1, 2, …",
            " ".join(map(str, summary.acceptance_histogram)) or "–",
        ),
        ("tokens per second", number(summary.tokens_per_s)),
        (
            "seconds: prefill, draft, verify, sample, bookkeeping",
            " ".join(
                f"{part:.3f}"
                for part in (
                    seconds.prefill,
                    seconds.draft,
                    seconds.verify,
                    seconds.sample,
                    seconds.bookkeeping,
                )
            ),
        ),
    ]
    return plain_table(("", ""), rows)


def bench_table(result: BenchResult) -> Table:
    """A row for each drafter and γ; speedups are against plain decoding."""
    columns = ("drafter", "γ", "tokens/s", "speedup", "predicted", "τ", "acceptance", "identical")
    return plain_table(
        columns,
        (
            (
                row.drafter,
                str(row.gamma),
                number(row.tokens_per_s),
                number(row.speedup),
                number(row.predicted_speedup),
                number(row.mean_acceptance_length),
                percent(row.draft_acceptance_rate),
                _identical(row),
            )
            for row in result.rows
        ),
    )


def _identical(row: BenchRow) -> str:
    if row.greedy_identical is None:
        return "–"
    if row.greedy_identical:
        return "yes"
    return f"no ({row.ties} at ties)"


def costs_tables(costs: Costs) -> tuple[Table, Table, Table]:
    """v by k, c by drafter, and the device's rates."""
    passes = plain_table(
        ("k", "T(k) ms", "v(k)", "quartiles"),
        (
            (
                str(cost.tokens),
                f"{1000 * cost.seconds.median:.1f}",
                number(cost.v.median),
                f"{cost.v.low:.2f}–{cost.v.high:.2f}",
            )
            for cost in costs.v
        ),
    )
    drafts = plain_table(
        ("drafter", "ms a step", "c", "quartiles"),
        (
            (
                cost.drafter,
                f"{1000 * cost.seconds.median:.2f}",
                f"{cost.c.median:.3f}",
                f"{cost.c.low:.3f}–{cost.c.high:.3f}",
            )
            for cost in costs.c
        ),
    )
    device = plain_table(
        ("", ""),
        (
            ("memory, GB/s", f"{costs.bandwidth_bytes_per_s / 1e9:.1f}"),
            ("arithmetic, GFLOP/s", f"{costs.flops_per_s / 1e9:.1f}"),
        ),
    )
    return passes, drafts, device


def proof_table(proof: Proof) -> Table:
    """The test's statistic beside what it must stay under, and the verdict."""
    took = proof.exercised
    return plain_table(
        ("", ""),
        (
            ("pairs", f"{proof.pairs:,}"),
            ("fault", proof.fault or "none"),
            ("chi-square", f"{proof.statistic:,.1f}"),
            (f"must stay under ({proof.degrees_of_freedom} d.f.)", number(proof.critical_value)),
            ("the drafter's own, which must not", f"{proof.control_statistic:,.1f}"),
            (
                "accepted, rejected, resampled",
                f"{took.accepted:,} {took.rejected:,} {took.resampled:,}",
            ),
            ("verdict", "passed" if proof.passed else "failed"),
        ),
    )


def real_proof_table(proof: RealProof) -> Table:
    """The same for the whole engine."""
    took = proof.exercised
    return plain_table(
        ("", ""),
        (
            ("target, drafter", f"{proof.target}, {proof.drafter}"),
            ("temperature, top-p", f"{proof.temperature:g}, {proof.top_p:g}"),
            ("tokens", " ".join(map(repr, proof.tokens))),
            ("runs", f"{proof.runs:,}"),
            ("chi-square", f"{proof.statistic:,.1f}"),
            (f"must stay under ({proof.degrees_of_freedom} d.f.)", number(proof.critical_value)),
            ("chance alone", f"{proof.noise_floor:,.1f}"),
            ("the drafter's own, which must not", f"{proof.control_statistic:,.1f}"),
            ("accepted, rejected", f"{took.accepted:,} {took.rejected:,}"),
            ("verdict", "passed" if proof.passed else "failed"),
        ),
    )


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table of plain texts: nothing in it is read as markup."""
    table = Table(
        *columns, box=None, show_header=any(columns), pad_edge=False, padding=(0, 2, 0, 0)
    )
    for column in table.columns:
        column.overflow = "fold"
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


def percent(rate: float | None) -> str:
    """68 %, or a dash where there is nothing to say."""
    return "–" if rate is None else f"{rate:.0%}".replace("%", " %")


def number(value: float | None) -> str:
    """Two decimals, or a dash where there is nothing to say."""
    return "–" if value is None else f"{value:.2f}"
