"""Runs the Proof page's test, and remembers what came of it."""

from __future__ import annotations

import streamlit as st

from specviz.proof import (
    DRAFTER,
    FAULTS,
    SMALLEST_SHARE,
    TARGET,
    Proof,
    first_shares,
    prove,
    world_with,
)
from specviz.ui.bars import Shares

WITH_FAULTS: tuple[str | None, ...] = (None, *FAULTS)
SMALLEST = SMALLEST_SHARE
START: Shares = {"target": first_shares(TARGET), "drafter": first_shares(DRAFTER)}


@st.cache_data(max_entries=100, show_spinner=False)
def run_proof(shares: Shares, fault: str | None, seed: int) -> Proof:
    """The proof with these distributions of the first token.

    Raises:
        UserError: if they are none.
    """
    return prove(
        seed=seed,
        fault=fault,
        target=world_with(shares["target"], TARGET),
        drafter=world_with(shares["drafter"], DRAFTER),
    )
