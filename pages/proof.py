"""The Proof page: the rule is put to the test, and broken on purpose."""

import streamlit as st

from specviz.errors import UserError
from specviz.server.imports import importing
from specviz.ui import proof_view
from specviz.ui.bars import bars
from specviz.ui.proof_texts import TOKENS, fault_name, faults
from specviz.ui.style import TEXT_WIDTH
from specviz.ui.texts import _

with importing:
    from specviz.ui.proof_run import SMALLEST, START, WITH_FAULTS, run_proof

st.title(_("Is anything lost?"))
st.markdown(
    _(
        "Speculative decoding must write what the target alone would have written, only sooner. "
        "Here that is put to the test: a toy target and a drafter that disagrees with it write "
        "pairs of tokens by the same rule as on the Live page. If nothing is lost, each pair "
        "comes as often as the target’s own probabilities say, and the *chi-square*, which "
        "measures how far the counts are off, stays under its line. **Try this:** drag the "
        "drafter’s bars until it is nearly always wrong, and see that the proof still holds. "
        "Then switch in a fault."
    ),
    width=TEXT_WIDTH,
)
left, right = st.columns([5, 6], gap="large")
with left:
    st.subheader(
        _("The first token"),
        help=_(
            "How the two models distribute the first token of a pair. The second depends on the "
            "first, by tables that stay as they are."
        ),
    )
    shares = bars(TOKENS, START, SMALLEST, key="proof.bars")
    fault = st.selectbox(
        _("Fault"),
        WITH_FAULTS,
        format_func=fault_name,
        key="proof.fault",
        persist_state="session",
        help=_(
            "Mistakes that real implementations have made. Each breaks the proof, unless the "
            "models agree."
        ),
    )
    if fault is not None:
        st.caption(faults()[fault][1])
    seed = st.number_input(
        _("Seed"),
        0,
        2**31,
        key="proof.seed",
        persist_state="session",
        help=_("Another seed draws other pairs."),
    )
with right:
    try:
        proof = run_proof(shares, fault, int(seed))
    except UserError as error:
        st.error(str(error))
        st.stop()
    proof_view.verdict(proof)
    proof_view.walk(proof)
    proof_view.numbers(proof)
st.subheader(
    _("All {count} pairs").format(count=len(TOKENS) ** 2),
    help=_("How often each pair of tokens came out, beside how often the target alone has it."),
)
proof_view.cells(proof)
