"""What the Compare page shows of its jobs: streams side by side, then numbers and the trade-off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from specviz import charts
from specviz.errors import UserError
from specviz.events import RunFinished
from specviz.metrics import Summary, draft_cost, speedup, summarize
from specviz.server.job import LANES, Job
from specviz.server.replay import lane_trace
from specviz.trace import Trace
from specviz.ui.figures import save_as_csv, show_figure
from specviz.ui.stream_texts import stream_texts
from specviz.ui.texts import _
from specviz.ui.token_stream import token_stream

_IN_A_ROW = 3
_KEPT = "comparison.results"


@dataclass(frozen=True)
class Outcome:
    """A drafter's race, in numbers."""

    drafter: str
    gamma: int
    ours: Summary
    plain: Summary
    same_text: bool | None
    """Whether both wrote the same tokens; None if they were drawn."""


def streams(jobs: Sequence[Job]) -> None:
    """Each drafter's tokens, as they come."""
    texts = stream_texts()
    for start in range(0, len(jobs), _IN_A_ROW):
        columns = st.columns(_IN_A_ROW)
        for column, job in zip(columns, jobs[start : start + _IN_A_ROW], strict=False):
            with column, st.container(border=True):
                st.subheader(job.request.settings.drafter, anchor=False)
                token_stream(job.id, texts=texts, view="lane", key=f"comparison.{job.id}")


def results(jobs: Sequence[Job]) -> None:
    """The numbers of all that have finished, beside each other."""
    outcomes = [outcome for job in jobs if (outcome := _outcome(job))]
    if not outcomes:
        return
    st.subheader(_("Side by side"))
    numbers = table(outcomes)
    st.dataframe(numbers.round(3), hide_index=True, column_config=_columns(numbers))
    save_as_csv(numbers, "specviz-comparison.csv")
    if any(job.request.settings.draft_length != "fixed" for job in jobs):
        return  # the lines are drawn for one γ
    gamma = outcomes[0].gamma
    st.subheader(
        _("Cheap, or right?"),
        help=_(
            "Each point is a drafter: to the right it costs more, further up more of its tested "
            "guesses are kept. Along a line the predicted speedup is the same, for γ = {gamma} and "
            "what a cycle’s pass cost here on average. A drafter that often proposes little or "
            "nothing, as lookup and hybrid do, gains less than its place says. The speedups beside "
            "the names were measured."
        ).format(gamma=gamma),
    )
    points = [
        charts.Drafted(
            drafter=outcome.drafter,
            draft_cost=draft_cost(outcome.ours, outcome.plain),
            acceptance=outcome.ours.acceptance,
            speedup=speedup(outcome.ours, outcome.plain) or 0.0,
        )
        for outcome in outcomes
        if outcome.ours.acceptance is not None
    ]
    words = {
        "cost": _("c, cost of a guess in passes of the model"),
        "acceptance": _("guesses kept, of those tested"),
        "hover": _("c = %{x:.3f}, %{y:.0%} kept"),
        "equal": _("equal predicted speedup"),
        "plain": _("as fast as plain decoding"),
    }
    show_figure(
        charts.trade_off(points, gamma, pass_cost(outcomes), words), key="comparison.trade_off"
    )


def pass_cost(outcomes: Sequence[Outcome]) -> float:
    """What a cycle costs beside its drafting, in plain passes: the mean over all cycles."""
    cycles = sum(outcome.ours.cycles for outcome in outcomes)
    cost = sum(
        outcome.ours.cycles
        * (outcome.ours.target_pass + outcome.ours.overhead - outcome.plain.overhead)
        / outcome.plain.target_pass
        for outcome in outcomes
    )
    return cost / cycles


def table(outcomes: Sequence[Outcome]) -> pd.DataFrame:
    """A row for each drafter."""
    answers = {True: _("yes"), False: _("no"), None: ""}
    return pd.DataFrame(
        [
            {
                "drafter": outcome.drafter,
                "γ": outcome.gamma,
                "speedup": speedup(outcome.ours, outcome.plain),
                "tokens/s": outcome.ours.tokens_per_s,
                "c": draft_cost(outcome.ours, outcome.plain),
                "τ": outcome.ours.mean_acceptance_length,
                **{
                    _("kept at {position}").format(position=at.position): at.rate
                    for at in outcome.ours.conditional_acceptance
                },
                _("same text"): answers[outcome.same_text],
            }
            for outcome in outcomes
        ]
    )


def _columns(numbers: pd.DataFrame) -> dict[str, Any]:
    number = st.column_config.NumberColumn
    columns: dict[str, Any] = {
        "speedup": number(
            _("speedup"),
            format="%.2f×",
            help=_("Plain decoding’s time a token ÷ this one’s, of the same race."),
        ),
        "tokens/s": number(_("tokens/s"), format="%.1f"),
        "c": number(
            format="%.3f",
            help=_("One guess’s time ÷ the time of the model’s own pass over one token."),
        ),
        "τ": number(format="%.2f", help=_("Tokens a cycle, the model’s own one included.")),
        _("same text"): st.column_config.TextColumn(
            help=_(
                "Whether plain decoding wrote the same tokens. Empty where they were drawn: then "
                "only the distribution is the same. In 16-bit numbers two scores may tie within "
                "rounding, and the texts part there."
            )
        ),
    }
    for name in numbers:
        if str(name) not in columns and name not in {"drafter", "γ"}:
            columns[str(name)] = number(
                format="percent",
                help=_("Of the guesses at this place of a draft that were tested, those kept."),
            )
    return columns


def _outcome(job: Job) -> Outcome | None:
    """A finished race in numbers, counted once a session."""
    kept: dict[str, Outcome | None] = st.session_state.setdefault(_KEPT, {})
    if job.id not in kept and job.finished:
        kept[job.id] = _count(job)
    return kept.get(job.id)


def _count(job: Job) -> Outcome | None:
    try:
        ours, plain = (lane_trace(job, lane) for lane in LANES)
    except UserError:  # stopped before both had begun
        return None
    if not all(isinstance(lane.ended, RunFinished) and lane.cycles for lane in (ours, plain)):
        return None
    return Outcome(
        drafter=job.request.settings.drafter,
        gamma=job.request.settings.gamma,
        ours=summarize(ours),
        plain=summarize(plain),
        same_text=_same_text(job, ours, plain),
    )


def _same_text(job: Job, ours: Trace, plain: Trace) -> bool | None:
    """Of greedy texts, as far as both go: one may have been stopped before the other."""
    if not job.request.settings.greedy:
        return None
    return all(one == other for one, other in zip(ours.token_ids, plain.token_ids, strict=False))
