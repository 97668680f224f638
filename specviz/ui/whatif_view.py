"""What the Replay page says of a run with shorter drafts or other dice."""

from __future__ import annotations

import streamlit as st

from specviz import charts
from specviz.errors import UserError
from specviz.server.job import Job
from specviz.server.replay import lane_trace
from specviz.ui.figures import show_figure
from specviz.ui.texts import _
from specviz.whatif import rejudge


def what_if(job: Job) -> None:
    """A folded section with the controls and what comes of them; nothing for a plain run."""
    try:
        cycles = lane_trace(job, "speculative").cycles
    except UserError:
        return
    longest = max((len(cycle.proposals) for cycle in cycles), default=0)
    if longest == 0:
        return
    with st.expander(_("What if? Shorter drafts, other dice")):
        st.markdown(
            _(
                "Each recorded cycle is judged again where it stood. The run would have gone on "
                "from another place, so these are estimates."
            )
        )
        left, right = st.columns(2)
        gamma = longest
        if longest > 1:
            gamma = left.slider(_("Draft length γ"), 1, longest, longest, key=f"whatif.g.{job.id}")
        throws = right.number_input(
            _("Throw of the dice"),
            0,
            1_000_000,
            0,
            key=f"whatif.s.{job.id}",
            help=_(
                "0 is the recorded one; every other number throws all dice anew. In a greedy run "
                "there are no dice."
            ),
        )
        recorded = rejudge(cycles, longest)
        other = rejudge(cycles, gamma, int(throws) or None)
        left, right = st.columns(2)
        left.metric(
            _("Tokens a cycle, recorded"), f"{recorded.mean_acceptance_length:.2f}", border=True
        )
        right.metric(
            _("Tokens a cycle, judged again"),
            f"{other.mean_acceptance_length:.2f}",
            f"{other.mean_acceptance_length - recorded.mean_acceptance_length:+.2f}",
            border=True,
        )
        words = {
            "recorded": _("recorded"),
            "again": _("judged again"),
            "kept": _("guesses kept in a cycle"),
            "share": _("share of cycles"),
        }
        show_figure(
            charts.kept_again(recorded.histogram(longest), other.histogram(longest), words),
            key=f"whatif.{job.id}",
        )
