"""The controls of a run. Their values live in the session and outlive a change of page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from pydantic import ValidationError

from specviz.errors import UserError
from specviz.server.job import JobRequest, Race
from specviz.server.limits import Limits
from specviz.settings import TRAINED_DRAFTERS, DraftLength, Settings
from specviz.ui.presets import PRESETS, preset_name
from specviz.ui.texts import _

MOST_GAMMA = 32
"""The slider's end; a link may carry more."""

_DTYPES = ("auto", "float32", "bfloat16", "float16")
MEASURABLE_DRAFTERS = (
    "hybrid",
    "mtp",
    "small-2",
    "small-4",
    "lookup",
    "early-exit:4",
    "early-exit:8",
    "early-exit:15",
)
"""That the measuring pages offer, spelled as on the command line."""

_MOST_COMPARED = 6
_RACES: tuple[Race, ...] = ("alternating", "before", "after", "off")

_DEFAULTS: dict[str, Any] = {
    "preset": "rewrite",
    "prompt": PRESETS["rewrite"].prompt,
    "raw": False,
    "drafter": "hybrid",
    "compared": ["hybrid", "mtp", "small-2", "small-4", "lookup", "early-exit:8"],
    "layers": 8,
    "drafter_model": "",
    "gamma": 4,
    "draft_length": "fixed",
    "confidence": 0.4,
    "max_new_tokens": 128,
    "race": "alternating",
    "temperature": 0.0,
    "top_p": 1.0,
    "top_k": 0,
    "seed": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "stop": [],
    "target": "",
    "dtype": "auto",
}


def _key(name: str) -> str:
    return f"control.{name}"


def keep() -> None:
    """Hold on to every value: Streamlit forgets those of widgets that a page does not show."""
    for name, default in _DEFAULTS.items():
        st.session_state[_key(name)] = st.session_state.get(_key(name), default)


def compared() -> list[JobRequest]:
    """What the controls of a comparison ask for: a race for each drafter.

    Raises:
        UserError: if a value cannot be, or no drafter is chosen.
    """
    drafters = st.session_state[_key("compared")]
    if not drafters:
        raise UserError(_("There is no drafter to compare: choose one or more."))
    return [chosen(drafter=drafter, race="alternating") for drafter in drafters]


def chosen(**instead: Any) -> JobRequest:
    """What the controls ask for, but for what is given `instead`.

    Raises:
        UserError: if a value cannot be, in one sentence.
    """
    value = {**_values(), **instead}
    if not value["prompt"].strip():
        raise UserError(_("There is no prompt yet: write one, or choose an example."))
    try:
        return JobRequest(
            prompt=value["prompt"],
            target=value["target"].strip() or None,
            dtype=value["dtype"],
            race=value["race"],
            settings=Settings(
                drafter=_drafter(value),
                stop=tuple(value["stop"]),
                **{
                    name: value[name]
                    for name in Settings.model_fields
                    if name in value and name not in {"drafter", "stop"}
                },
            ),
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(part) for part in first["loc"])
        raise UserError(
            _("{name} cannot be that: {reason}.").format(name=where, reason=first["msg"])
        ) from error


def adopt(request: JobRequest) -> None:
    """Set the controls to what was asked for, before they are drawn."""
    kind, _colon, argument = request.settings.drafter.partition(":")
    values = {**_asked(request), "drafter": kind, "race": request.race}
    if kind == "early-exit" and argument.isdecimal():
        values["layers"] = int(argument)
    if kind == "model":
        values["drafter_model"] = argument
    _set(values)


def adopt_comparison(requests: Sequence[JobRequest]) -> None:
    """The same of a comparison, whose requests differ in the drafter."""
    drafters = [request.settings.drafter for request in requests]
    offered = [drafter for drafter in MEASURABLE_DRAFTERS if drafter in drafters]
    _set({**_asked(requests[0]), "compared": offered[:_MOST_COMPARED]})


def _asked(request: JobRequest) -> dict[str, Any]:
    """What was asked for, but for the drafter and the race."""
    settings = request.settings
    return {
        "preset": next((key for key, p in PRESETS.items() if p.prompt == request.prompt), None),
        "prompt": request.prompt,
        "target": request.target or "",
        "dtype": request.dtype,
        **{
            name: getattr(settings, name)
            for name in Settings.model_fields
            if name in _DEFAULTS and name != "drafter"
        },
        "stop": list(settings.stop),
    }


def _set(values: dict[str, Any]) -> None:
    for name, value in values.items():
        st.session_state[_key(name)] = value


def _values() -> dict[str, Any]:
    return {name: st.session_state[_key(name)] for name in _DEFAULTS}


def _drafter(value: dict[str, Any]) -> str:
    if value["drafter"] == "early-exit":
        return f"early-exit:{value['layers']}"
    if value["drafter"] == "model":
        return f"model:{value['drafter_model'].strip()}"
    return str(value["drafter"])


def names_another_model() -> bool:
    """Whether the target is another than the default model."""
    return bool(st.session_state[_key("target")].strip())


def summary() -> str:
    """The settings in one line, for a screen where their controls are out of sight."""
    value = _values()
    drafter = _("no drafter")
    if value["drafter"] != "none":
        drafter = f"{_drafter(value)}, {_gamma_in_words(value)}"
    return " · ".join([drafter, *_answer_in_words(value)])


def comparison_summary() -> str:
    """The same of a comparison."""
    value = _values()
    drafters = _("{count} drafters").format(count=len(value["compared"]))
    return " · ".join([f"{drafters}, {_gamma_in_words(value)}", *_answer_in_words(value)])


def _gamma_in_words(value: dict[str, Any]) -> str:
    words: dict[DraftLength, str] = {
        "fixed": _("γ = {gamma}"),
        "auto": _("γ up to {gamma}, as it pays"),
        "schedule": _("γ from {gamma} on, by schedule"),
        "confidence": _("γ up to {gamma}, while sure"),
    }
    return words[value["draft_length"]].format(gamma=value["gamma"])


def _answer_in_words(value: dict[str, Any]) -> list[str]:
    temperature = _("temperature {value}").format(value=f"{value['temperature']:g}")
    return [
        _("greedy") if value["temperature"] == 0 else temperature,
        _("up to {count} tokens").format(count=value["max_new_tokens"]),
    ]


def _leave_trained_drafters() -> None:
    """Trained drafters draft for the default model only: with another one, take lookup."""
    if names_another_model() and st.session_state[_key("drafter")] in TRAINED_DRAFTERS:
        st.session_state[_key("drafter")] = "lookup"


def _between(name: str, low: float, high: float) -> dict[str, Any]:
    """A number's widget: its key and its ends, which a value from elsewhere is brought within."""
    st.session_state[_key(name)] = min(max(st.session_state[_key(name)], low), high)
    return {"key": _key(name), "min_value": low, "max_value": high}


# The prompt


def prompt_controls(limits: Limits) -> None:
    """The examples and the prompt."""
    st.pills(
        _("Examples"),
        list(PRESETS),
        format_func=preset_name,
        key=_key("preset"),
        on_change=_use_preset,
        help=_(
            "One prompt of each kind. Drafters gain most where the answer repeats what is "
            "already there, and least where it is free."
        ),
    )
    st.text_area(
        _("Prompt"),
        key=_key("prompt"),
        height=104,
        max_chars=limits.max_prompt_chars,
        help=_("What the model is given to read before it writes."),
    )


def _use_preset() -> None:
    preset = PRESETS.get(st.session_state[_key("preset")])
    if preset is not None:
        st.session_state[_key("prompt")] = preset.prompt
        st.session_state[_key("raw")] = preset.raw


# The settings


def settings_controls(limits: Limits) -> None:
    """Everything but the prompt, in the order in which a newcomer needs it."""
    _drafter_controls(limits)
    _answer_controls(limits)
    _race_control()
    _further_controls(limits)


def comparison_controls(limits: Limits) -> None:
    """The same for a comparison: several drafters, each in a race."""
    st.subheader(_("Drafters"))
    st.multiselect(
        _("Who guesses"),
        MEASURABLE_DRAFTERS,
        key=_key("compared"),
        max_selections=_MOST_COMPARED,
        help=_drafters_help(),
    )
    _gamma_control()
    _answer_controls(limits)
    _further_controls(limits)


def _answer_controls(limits: Limits) -> None:
    st.subheader(_("Answer"))
    st.number_input(
        _("Length, in tokens"),
        step=32,
        **_between("max_new_tokens", 1, limits.max_new_tokens),
        help=_("The answer ends after so many tokens, or before if the model ends it itself."),
    )
    st.slider(
        _("Temperature"),
        step=0.05,
        **_between("temperature", 0.0, 2.0),
        help=_(
            "How freely tokens are drawn. At 0 the model always takes its first choice, which "
            "is called greedy; at 1 it draws by its own probabilities; above 1 it dares more."
        ),
    )
    st.segmented_control(
        _("What to do with the prompt"),
        [False, True],
        format_func=lambda raw: _("Continue it") if raw else _("Answer it"),
        required=True,
        width="stretch",
        key=_key("raw"),
        help=_(
            "To be answered, the prompt is put into the form of a chat. To be continued, it is "
            "given to the model as it stands, which goes on writing."
        ),
    )


def _further_controls(limits: Limits) -> None:
    with st.expander(_("Sampling")):
        _sampling_controls()
    with st.expander(_("Model and more")):
        _advanced_controls(limits)


def _drafter_controls(limits: Limits) -> None:
    st.subheader(_("Drafter"))
    kinds = {
        "hybrid": _("Hybrid: copy, or ask the block"),
        "mtp": _("MTP: a trained block"),
        "small-2": _("Small: two trained layers"),
        "small-4": _("Small: four trained layers"),
        "lookup": _("Lookup: copy from the text"),
        "early-exit": _("Early exit: the first layers"),
        "model": _("A second, smaller model"),
        "none": _("None: plain decoding"),
    }
    if not limits.allow_other_models:
        del kinds["model"]
    st.selectbox(
        _("Who guesses"),
        list(kinds),
        format_func=lambda kind: kinds[kind],
        key=_key("drafter"),
        help=_drafters_help(),
    )
    kind = st.session_state[_key("drafter")]
    if kind == "early-exit":
        st.number_input(
            _("Layers"),
            **_between("layers", 1, 1000),
            help=_(
                "How many of the model’s layers the drafter uses. More layers guess better and "
                "cost more time."
            ),
        )
    if kind == "model":
        st.text_input(
            _("Drafter model"),
            key=_key("drafter_model"),
            placeholder=_("Hugging Face id or folder"),
            help=_("A smaller model with the same tokenizer as the one that answers."),
        )
    if kind != "none":
        _gamma_control()


def _drafters_help() -> str:
    return _(
        "The drafter proposes tokens that the model then checks.\n\n"
        "*hybrid* copies where the last three tokens stood before, and asks *mtp* elsewhere. "
        "*mtp* is one small block, trained to go on from what the model has on its mind. "
        "*small-2* and *small-4* are small models of two and four layers, cut out of the model "
        "and trained. *lookup* finds the last few tokens earlier in the text and copies what came "
        "after them there. *early-exit* asks the model itself, but stops after its first layers. "
        "A second model must share the first one’s tokenizer. None proposes nothing: one token a "
        "pass."
    )


def _gamma_control() -> None:
    st.slider(
        _("Draft length γ"),
        **_between("gamma", 1, MOST_GAMMA),
        help=_(
            "How many tokens the drafter proposes at a time. Longer drafts gain more while "
            "the guesses are right, and waste more when one is wrong."
        ),
    )
    policies: dict[DraftLength, str] = {
        "fixed": _("Always γ"),
        "auto": _("Auto: what pays, at most γ"),
        "schedule": _("Schedule: from γ, up and down"),
        "confidence": _("While sure, at most γ"),
    }
    st.selectbox(
        _("How many at a time"),
        list(policies),
        format_func=lambda policy: policies[policy],
        key=_key("draft_length"),
        help=_(
            "*Auto* counts how often guesses are kept and what they cost, and takes the number "
            "that promises the most tokens a second, or none. *Schedule* is transformers’ own: two "
            "more after a draft that was kept whole, else one less. *While sure* ends a draft "
            "where the drafter’s first choice has too small a probability. None of them changes "
            "what the text is drawn from."
        ),
    )
    if st.session_state[_key("draft_length")] == "confidence":
        st.slider(
            _("Sure means"),
            step=0.05,
            **_between("confidence", 0.0, 1.0),
            help=_("The least probability that the drafter’s first choice must have."),
        )


def _race_control() -> None:
    if st.session_state[_key("drafter")] == "none":
        return
    names = {
        "alternating": _("Both at once, by turns"),
        "before": _("Plain first"),
        "after": _("Plain afterwards"),
        "off": _("No race"),
    }
    st.selectbox(
        _("Race against plain decoding"),
        _RACES,
        format_func=lambda race: names[race],
        key=_key("race"),
        help=_(
            "The same prompt is also answered without a drafter, so that the gain is measured "
            "and not guessed. By turns, whichever has used less time makes the next step."
        ),
    )


def _sampling_controls() -> None:
    st.slider(
        _("Top-p"),
        step=0.05,
        **_between("top_p", 0.05, 1.0),
        help=_(
            "Draw only from the likeliest tokens that together have this share of the "
            "probability. 1 leaves all of them in. It changes nothing at temperature 0."
        ),
    )
    st.number_input(
        _("Top-k"),
        **_between("top_k", 0, 1_000_000),
        help=_("Draw only from so many of the likeliest tokens. 0 leaves all of them in."),
    )
    st.slider(
        _("Min-p"),
        step=0.01,
        **_between("min_p", 0.0, 1.0),
        help=_(
            "Leave out tokens that are less likely than this share of the likeliest one. 0 "
            "leaves all of them in."
        ),
    )
    st.number_input(
        _("Repetition penalty"),
        step=0.05,
        **_between("repetition_penalty", 0.05, 10.0),
        help=_("Above 1, tokens that were already used become less likely. 1 changes nothing."),
    )
    st.number_input(
        _("Seed"),
        **_between("seed", 0, 2**53 - 1),
        help=_("Where the dice start. The same seed and settings give the same text again."),
    )


def _advanced_controls(limits: Limits) -> None:
    if limits.allow_other_models:
        st.text_input(
            _("Model"),
            key=_key("target"),
            placeholder="SmolLM2-135M-Instruct",
            help=_(
                "The model that answers: a Hugging Face id or a folder on this machine. Empty "
                "is SmolLM2-135M-Instruct, which comes with specviz."
            ),
            on_change=_leave_trained_drafters,
        )
    st.selectbox(
        _("Precision"),
        _DTYPES,
        key=_key("dtype"),
        help=_(
            "The numbers that the model computes with. Auto is bfloat16 where this machine is "
            "fast at it, and float32 elsewhere."
        ),
    )
    st.multiselect(
        _("Stop strings"),
        [],
        accept_new_options=True,
        key=_key("stop"),
        placeholder=_("Type one and press Enter"),
        help=_("The answer ends before the first of these."),
    )
