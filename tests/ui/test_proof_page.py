"""The Proof page: the verdict, and how a fault turns it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from specviz.proof import FAULTS
from specviz.ui import proof_run
from specviz.ui.proof_texts import faults

Open = Callable[..., AppTest]


@pytest.fixture
def page(open_app: Open) -> AppTest:
    return open_app().switch_page("../../pages/proof.py").run()


def test_nothing_is_lost_at_first(page: AppTest) -> None:
    assert not page.exception
    (verdict,) = page.success
    assert verdict.value.startswith("**Nothing is lost.** The chi-square is ")
    assert verdict.value.endswith("under 51.2.")
    assert not page.error
    shown = {metric.label: metric.value for metric in page.metric}
    assert float(shown["χ² by chance"]) < 51.2
    assert int(shown["χ² of the drafter"].replace(",", "")) > 1000
    assert len(page.get("plotly_chart")) == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_turns_the_verdict_and_is_explained(page: AppTest, fault: str) -> None:
    page.selectbox(key="proof.fault").set_value(fault).run()
    assert not page.exception
    (verdict,) = page.error
    assert "The output is not the target’s." in verdict.value
    assert faults()[fault][1] in [caption.value for caption in page.caption]
    page.selectbox(key="proof.fault").set_value(None).run()
    assert not page.error
    assert page.success


def test_another_seed_draws_other_pairs(page: AppTest) -> None:
    before = page.success[0].value
    page.number_input(key="proof.seed").set_value(5).run()
    assert page.success[0].value != before


def test_choices_are_there_again_after_a_visit_elsewhere(page: AppTest) -> None:
    page.number_input(key="proof.seed").set_value(5)
    page.selectbox(key="proof.fault").set_value(FAULTS[0]).run()
    page.switch_page("../../pages/cost.py").run()
    page.switch_page("../../pages/proof.py").run()
    assert page.number_input(key="proof.seed").value == 5
    assert page.selectbox(key="proof.fault").value == FAULTS[0]


def test_a_fault_that_cannot_show_is_no_proof_that_nothing_is_lost(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With p = q the first guess is always kept, so its u, used again, is still any number."""
    alike = [0.8, 0.05, 0.05, 0.05, 0.05]
    monkeypatch.setattr(proof_run, "START", {"target": alike, "drafter": alike})
    page = open_app().switch_page("../../pages/proof.py").run()
    page.selectbox(key="proof.fault").set_value("one-u-for-all-positions").run()
    assert not page.success
    (verdict,) = page.warning
    assert verdict.value.startswith("**The fault does not show.**")


def test_the_bars_begin_at_the_toy_models_own_shares(page: AppTest) -> None:
    data = json.loads(page.get("bidi_component")[0].proto.json)
    assert data["tokens"] == ["A", "B", "C", "D", "E"]
    for shares in data["shares"].values():
        assert sum(shares) == pytest.approx(1, abs=1e-6)
