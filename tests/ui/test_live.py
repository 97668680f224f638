"""The Live page: what its controls ask for, and which job it shows."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from specviz.server.hub import Hub
from specviz.server.job import Job
from specviz.ui.presets import PRESETS
from tests.server.fakes import FakeEngine, finished, request
from tests.ui.conftest import start_button

Open = Callable[..., AppTest]


def start(app: AppTest) -> AppTest:
    start_button(app).click()
    return app.run()


def shown(app: AppTest) -> str | None:
    """The id of the job in the token stream."""
    assert not app.exception
    streams = app.get("bidi_component")
    if not streams:
        return None
    address: str = json.loads(streams[0].proto.json)["address"]
    return address.removeprefix("/api/jobs/").removesuffix("/ws")


def job(app: AppTest, hub: Hub) -> Job:
    job_id = shown(app)
    assert job_id is not None
    return hub.get(job_id)


def errors(app: AppTest) -> list[str]:
    assert not app.exception
    return [error.value for error in app.error]


def control(app: AppTest, name: str) -> object:
    return app.session_state[f"control.{name}"]


def test_the_first_view_is_ready_to_start(open_app: Open) -> None:
    app = open_app()
    assert errors(app) == []
    assert not start_button(app).disabled
    assert shown(app) is None


def test_what_one_sees_is_explained_first_and_then_out_of_the_way(open_app: Open, hub: Hub) -> None:
    app = open_app()
    assert "drafter" in app.markdown[0].value
    start(app)
    assert not app.markdown
    assert "drafter" in app.title[0].help


def test_start_asks_for_what_the_controls_say(open_app: Open, hub: Hub) -> None:
    app = open_app()
    app.text_area(key="control.prompt").set_value("Say <b>hello</b>")
    app.selectbox(key="control.drafter").set_value("early-exit")
    app.run()
    app.number_input(key="control.layers").set_value(6)
    app.slider(key="control.gamma").set_value(7)
    app.slider(key="control.temperature").set_value(0.8)
    app.slider(key="control.top_p").set_value(0.9)
    app.number_input(key="control.top_k").set_value(40)
    app.slider(key="control.min_p").set_value(0.05)
    app.number_input(key="control.repetition_penalty").set_value(1.1)
    app.number_input(key="control.seed").set_value(7)
    app.number_input(key="control.max_new_tokens").set_value(33)
    app.selectbox(key="control.race").set_value("before")
    app.selectbox(key="control.dtype").set_value("float32")
    app.text_input(key="control.target").set_value(" gpt2 ")
    wanted = job(start(app), hub).request
    assert wanted.model_dump() == {
        "prompt": "Say <b>hello</b>",
        "target": "gpt2",
        "dtype": "float32",
        "race": "before",
        "settings": {
            **wanted.settings.model_dump(),
            "drafter": "early-exit:6",
            "gamma": 7,
            "temperature": 0.8,
            "top_p": 0.9,
            "top_k": 40,
            "min_p": 0.05,
            "repetition_penalty": 1.1,
            "seed": 7,
            "max_new_tokens": 33,
            "raw": False,
            "stop": (),
        },
    }


def press_start_twice() -> None:
    from specviz.server import shared
    from specviz.ui import controls, current_job

    controls.keep()
    current_job._start(shared.hub())
    current_job._start(shared.hub())


def test_start_pressed_twice_starts_one(hub: Hub, open_app: Open) -> None:
    """Case 24: the button is off while a job is under way, and a late press does nothing."""
    AppTest.from_function(press_start_twice).run()
    assert len(hub._jobs) == 1
    assert start_button(start(open_app())).disabled


def test_a_setting_changed_in_mid_run_is_for_the_next(
    open_app: Open, hub: Hub, engine: FakeEngine
) -> None:
    """Case 24: the running job goes on as it began, and the page says so."""
    app = start(open_app())
    running = job(app, hub)
    assert [info.value for info in app.info] == []
    app.slider(key="control.gamma").set_value(9)
    app.run()
    assert job(app, hub) is running
    assert running.request.settings.gamma == 4
    assert "next run" in app.info[0].value
    engine.open()
    assert finished(running)
    app.run()
    assert not app.info
    assert job(start(app), hub).request.settings.gamma == 9


def test_the_job_is_in_the_address_and_opens_again(
    open_app: Open, hub: Hub, engine: FakeEngine
) -> None:
    """Case 24: a reload, or another tab with the same address, shows the same job."""
    first = open_app()
    first.selectbox(key="control.drafter").set_value("early-exit")
    first.run()
    first.number_input(key="control.layers").set_value(5)
    first.text_area(key="control.prompt").set_value("Shared.")
    job_id = shown(start(first))
    assert first.query_params["job"] == job_id
    second = open_app(job=job_id)
    assert shown(second) == job_id
    assert control(second, "prompt") == "Shared."
    assert (control(second, "drafter"), control(second, "layers")) == ("early-exit", 5)
    assert not second.info
    assert len(hub._jobs) == 1


def test_a_changed_control_is_not_set_back_by_the_address(open_app: Open, hub: Hub) -> None:
    running = hub.submit(request("From a link"))
    app = open_app(job=running.id)
    app.slider(key="control.gamma").set_value(11)
    app.run()
    app.run()
    assert control(app, "gamma") == 11


@pytest.mark.parametrize("unknown", ["A" * 24, "../../etc/passwd", "", "<script>", "%00"])
def test_an_unknown_address_is_told_and_the_page_works(
    open_app: Open, hub: Hub, unknown: str
) -> None:
    app = open_app(job=unknown)
    assert errors(app) == []
    assert shown(app) is None
    assert unknown == "" or "not here" in app.warning[0].value
    assert shown(start(app)) is not None


def test_a_session_sees_no_job_but_its_own(open_app: Open, hub: Hub) -> None:
    """Case 25: two visitors, two prompts."""
    mine, yours = open_app(), open_app()
    mine.text_area(key="control.prompt").set_value("Mine")
    start(mine)
    start(yours)
    assert job(mine, hub).request.prompt == "Mine"
    assert job(yours, hub).request.prompt == PRESETS["rewrite"].prompt
    assert shown(open_app()) is None


def test_leaving_and_coming_back_keeps_job_and_controls(open_app: Open, hub: Hub) -> None:
    """Case 24: a page left and re-entered, though the address loses its parameters."""
    app = open_app()
    app.slider(key="control.gamma").set_value(6)
    job_id = shown(start(app))
    app.switch_page("../../pages/replay.py")
    app.query_params.clear()
    app.run()
    assert shown(app) is None
    app.switch_page("../../pages/live.py")
    app.run()
    assert shown(app) == job_id
    assert control(app, "gamma") == 6
    assert app.query_params["job"] == job_id


@pytest.mark.parametrize("prompt", ["", "   \n\t "])
def test_an_empty_prompt_is_refused_before_any_work(open_app: Open, hub: Hub, prompt: str) -> None:
    """Case 14."""
    app = open_app()
    app.text_area(key="control.prompt").set_value(prompt)
    start(app)
    assert len(errors(app)) == 1
    assert not hub._jobs


@pytest.mark.parametrize("limits", [{"queue_length": 0}])
def test_a_refused_job_is_told_in_one_sentence_and_what_ran_stays(
    open_app: Open, hub: Hub, engine: FakeEngine
) -> None:
    engine.open()
    app = start(open_app())
    assert errors(app) == ["0 runs are waiting already: try again in a few minutes."]
    assert control(app, "prompt") == PRESETS["rewrite"].prompt
    app.run()
    assert errors(app) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_fills_in_its_prompt(open_app: Open, hub: Hub, preset: str) -> None:
    app = open_app()
    app.button_group(key="control.preset").set_value(preset)
    app.run()
    wanted = job(start(app), hub).request
    assert wanted.prompt == PRESETS[preset].prompt
    assert wanted.settings.raw is PRESETS[preset].raw


def test_there_are_presets_of_each_kind() -> None:
    assert len(PRESETS) >= 6
    assert any(preset.raw for preset in PRESETS.values())


def test_plain_decoding_has_no_race_and_no_draft_length(open_app: Open, hub: Hub) -> None:
    app = open_app()
    app.selectbox(key="control.drafter").set_value("none")
    app.run()
    keys = {slider.key for slider in app.slider} | {box.key for box in app.selectbox}
    assert not keys & {"control.gamma", "control.race"}
    assert job(start(app), hub).request.lanes == ("plain",)


@pytest.mark.parametrize("limits", [{"allow_other_models": False, "max_new_tokens": 64}])
def test_a_host_may_fix_the_model(open_app: Open, hub: Hub) -> None:
    app = open_app()
    assert "control.target" not in {field.key for field in app.text_input}
    assert not any("model" in option for option in app.selectbox(key="control.drafter").options)
    assert app.number_input(key="control.max_new_tokens").max == 64
    assert control(app, "max_new_tokens") == 64


def test_a_finished_job_offers_its_traces(open_app: Open, hub: Hub, engine: FakeEngine) -> None:
    app = start(open_app())
    assert not app.get("download_button")
    engine.open()
    assert finished(job(app, hub))
    app.run()
    assert len(app.get("download_button")) == 2


def test_every_control_is_explained(open_app: Open) -> None:
    app = open_app()
    app.selectbox(key="control.draft_length").set_value("confidence")
    for drafter in ("hybrid", "early-exit", "model", "none"):
        app.selectbox(key="control.drafter").set_value(drafter)
        app.run()
        controls = [
            *app.slider,
            *app.number_input,
            *app.selectbox,
            *app.text_area,
            *app.text_input,
            *app.multiselect,
        ]
        assert len(controls) > 10
        for widget in controls:
            assert len(widget.help) > 40, widget.label


def test_how_many_at_a_time_is_asked_for(open_app: Open, hub: Hub) -> None:
    app = open_app()
    app.selectbox(key="control.draft_length").set_value("confidence").run()
    app.slider(key="control.confidence").set_value(0.65).run()
    assert any("γ up to 4, while sure" in caption.value for caption in app.caption)
    wanted = job(start(app), hub).request.settings
    assert (wanted.draft_length, wanted.confidence) == ("confidence", 0.65)


def test_with_another_model_a_trained_drafter_gives_way(open_app: Open) -> None:
    """Those that come with specviz are trained for its own model."""
    app = open_app()
    assert control(app, "drafter") == "hybrid"
    app.text_input(key="control.target").set_value("gpt2").run()
    assert control(app, "drafter") == "lookup"
    app.selectbox(key="control.drafter").set_value("early-exit").run()
    app.text_input(key="control.target").set_value("gpt3").run()
    assert control(app, "drafter") == "early-exit"


def test_hostile_text_stays_in_the_field(open_app: Open, hub: Hub) -> None:
    """Case 23: a prompt goes to no Markdown and no HTML on the page."""
    hostile = "<script>alert(1)</script> **b** $x$ </div> " + "W" * 10_000
    app = open_app()
    app.text_area(key="control.prompt").set_value(hostile)
    start(app)
    assert job(app, hub).request.prompt == hostile
    written = [element.value for element in [*app.markdown, *app.caption, *app.title]]
    assert not any("script" in text for text in written)
    assert "script" not in app.get("bidi_component")[0].proto.json
