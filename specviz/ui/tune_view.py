"""What the Tune page offers to measure, and what it shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st

from specviz import charts
from specviz.errors import UserError
from specviz.export import DEFAULT_MODEL, ENGINES, export
from specviz.server.imports import importing
from specviz.server.limits import Limits
from specviz.server.measurement import Report
from specviz.settings import PLAIN, Settings
from specviz.ui import controls
from specviz.ui.figures import save_as_csv, show_figure, show_machine
from specviz.ui.presets import PRESETS, preset_name
from specviz.ui.texts import _

if TYPE_CHECKING:
    from specviz.bench import BenchResult, Row
    from specviz.tuning import Recommendation

GAMMAS = (1, 2, 3, 4, 6, 8)
MOST_PROMPTS = 30
MOST_RUNS = 1000


Prompts = tuple[tuple[str, str | None], ...]
"""Each with its category."""


@dataclass(frozen=True)
class Workload:
    """What is to be measured."""

    prompts: Prompts
    drafters: tuple[str, ...]
    gammas: tuple[int, ...]
    settings: Settings
    repeats: int

    @property
    def runs(self) -> int:
        return (1 + len(self.drafters) * len(self.gammas)) * len(self.prompts) * self.repeats


def workload(limits: Limits) -> Workload:
    """The controls of the page, within what the host allows."""
    left, right = st.columns(2, gap="large")
    with left:
        prompts = _within(limits, _prompts())
    with right:
        drafters = st.multiselect(
            _("Drafters"),
            controls.MEASURABLE_DRAFTERS,
            default=("hybrid", "lookup"),
            key="tune.drafters",
            persist_state="session",
        )
        gammas = st.multiselect(
            _("γ, guesses at a time"),
            GAMMAS,
            default=(2, 4, 6),
            key="tune.gammas",
            persist_state="session",
        )
        first, second, third = st.columns(3)
        temperature = first.number_input(
            _("Temperature"), 0.0, 2.0, 0.0, 0.1, key="tune.t", persist_state="session"
        )
        tokens = second.number_input(
            _("Length, in tokens"),
            8,
            min(512, limits.max_new_tokens),
            48,
            8,
            key="tune.tokens",
            persist_state="session",
        )
        repeats = third.number_input(
            _("Repeats"),
            1,
            9,
            2,
            key="tune.repeats",
            persist_state="session",
            help=_(
                "Each pair of choices runs every prompt so many times. One that falls far behind "
                "is not repeated."
            ),
        )
    chosen = Workload(
        prompts,
        tuple(drafters),
        tuple(sorted(gammas)),
        Settings(temperature=temperature, max_new_tokens=int(tokens)),
        int(repeats),
    )
    st.caption(
        _("{prompts} prompts, up to {runs} runs").format(
            prompts=len(chosen.prompts), runs=chosen.runs
        )
    )
    return chosen


def _within(limits: Limits, prompts: Prompts) -> Prompts:
    """The prompts that are short enough; of the others it is said that they are left out."""
    short = tuple(one for one in prompts if len(one[0]) <= limits.max_prompt_chars)
    if len(short) < len(prompts):
        st.warning(
            _("{count} prompts are longer than {most} characters and are left out.").format(
                count=len(prompts) - len(short), most=f"{limits.max_prompt_chars:,}"
            )
        )
    return short


def _prompts() -> Prompts:
    own = st.segmented_control(
        _("Workload"),
        [False, True],
        default=False,
        required=True,
        format_func=lambda own: _("My own prompts") if own else _("Examples by kind"),
        key="tune.own",
        persist_state="session",
    )
    if not own:
        kinds = st.pills(
            _("Kinds"),
            [key for key, preset in PRESETS.items() if not preset.raw],
            selection_mode="multi",
            wrap=True,
            default=("rewrite", "explain", "story"),
            format_func=preset_name,
            key="tune.kinds",
            persist_state="session",
        )
        return tuple((PRESETS[kind].prompt, preset_name(kind)) for kind in kinds)
    text = st.text_area(
        _("Prompts"),
        height=180,
        key="tune.prompts",
        persist_state="session",
        help=_("Separate them by an empty line. At most {count} are taken.").format(
            count=MOST_PROMPTS
        ),
    )
    file = st.file_uploader(
        _("Or a file of prompts"),
        type=("txt", "jsonl"),
        help=_("Prompts with empty lines between, or JSON Lines, each with a “prompt”."),
        key="tune.file",
    )
    if file is not None:
        return _read(file.name, file.getvalue())
    return tuple((prompt, None) for prompt in _parted(text))


def _parted(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()][:MOST_PROMPTS]


def _read(name: str, data: bytes) -> Prompts:
    with importing:
        from specviz.bench import parse_prompts
    try:
        text = data.decode("utf-8-sig")
        if not name.lower().endswith(".jsonl"):
            return tuple((prompt, None) for prompt in _parted(text))
        prompts = parse_prompts(text, name)
        return tuple((one.prompt, one.category) for one in prompts[:MOST_PROMPTS])
    except UnicodeDecodeError:
        st.error(_("This file is not text in UTF-8: save it as such."))
    except UserError as error:
        st.error(str(error))
    return ()


def measure(model: Any, chosen: Workload, report: Report[BenchResult]) -> BenchResult:
    """In the worker's thread."""
    with importing:
        from specviz.bench import Prompt, bench
        from specviz.tuning import HOPELESS
    if not (chosen.prompts and chosen.drafters and chosen.gammas):
        raise UserError("There is nothing to measure: choose a prompt, a drafter and a γ.")
    if chosen.runs > MOST_RUNS:
        raise UserError(
            f"{chosen.runs:,} runs are too many for one measurement: choose fewer prompts, "
            f"drafters, γs or repeats, for at most {MOST_RUNS:,}."
        )
    return bench(
        model,
        [Prompt(prompt=prompt, category=category) for prompt, category in chosen.prompts],
        drafters=[PLAIN, *chosen.drafters],
        gammas=chosen.gammas,
        settings=chosen.settings,
        repeats=chosen.repeats,
        hopeless=HOPELESS,
        progress=report,
        keep=report.keep,
    )


def show(result: BenchResult) -> None:
    """The recommendation, then the grid behind it."""
    with importing:
        from specviz.tuning import prediction_error, recommend
    show_machine(
        result.environment,
        _("{prompts} prompts").format(prompts=result.environment.prompts),
        _("{repeats} repeats").format(repeats=result.environment.repeats),
        _("temperature {value}").format(value=f"{result.rows[0].temperature:g}"),
    )
    best = recommend(result)
    _recommendation(best)
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(
            _("Measured"),
            help=_(
                "The speedup against plain decoding, and under it how it might have been with "
                "other prompts of the kind (95 %). Below 1 it is slower."
            ),
        )
        words = {
            "gamma": _("γ, guesses at a time"),
            "hover": _("%{y}, γ = %{x}: %{z:.2f}×, %{customdata}"),
            "given_up": _("given up"),
        }
        show_figure(charts.speedups(result, words), key="tune.speedups")
    with right:
        error = prediction_error(result)
        st.subheader(
            _("Predicted and measured"),
            help=_(
                "The prediction: tokens a cycle, τ, as they were seen, divided by "
                "what the cycle costs, γ·c + v(γ + 1). Where it is right, points lie on the line."
            ),
        )
        if error is not None:
            words = {
                "equal": _("equal"),
                "predicted": _("predicted speedup"),
                "measured": _("measured speedup"),
                "hover": _("γ = %{customdata}: predicted %{x:.2f}×, measured %{y:.2f}×"),
            }
            show_figure(charts.predictions(result, words), key="tune.predictions")
            mean, worst = error
            st.caption(
                _("Off by {error} on average; most for {drafter} at γ = {gamma}.").format(
                    error=f"{mean:.0%}", drafter=worst.drafter, gamma=worst.gamma
                )
            )
    save_as_csv(table(result), "specviz-tuning.csv")
    if best.drafter != PLAIN:
        _take_it_along(result, best)


def _recommendation(best: Recommendation) -> None:
    if best.drafter == PLAIN:
        st.info(
            _("**Take plain decoding.** Nothing that was measured here is faster."),
            icon=":material/recommend:",
        )
        return
    text = _("**Take {drafter} with γ = {gamma}**: {speedup}× as fast as plain decoding here.")
    if best.next_survival is not None and best.next_cost is not None:
        text += " " + (
            _("One more guess would be kept {survival} of the time and cost {cost} of a pass.")
            if best.next_cost > 0
            else _("One more guess would be kept {survival} of the time and cost nothing.")
        )
    if not best.certain:
        text += " " + _("With other prompts it may be slower: measure more of them.")
    st.success(
        text.format(
            drafter=best.drafter,
            gamma=best.gamma,
            speedup=f"{best.speedup:.2f}",
            survival=f"{best.next_survival or 0:.0%}",
            cost=f"{best.next_cost or 0:.0%}",
        ),
        icon=":material/recommend:",
    )


def _take_it_along(result: BenchResult, best: Recommendation) -> None:
    st.subheader(
        _("Take it with you"),
        help=_("The setting in the words of other engines. Names are those of November 2026."),
    )
    rows = [row for row in result.rows if row.drafter != PLAIN]
    left, right = st.columns(2)
    row: Row = left.selectbox(
        _("Setting"),
        rows,
        index=next(
            i for i, r in enumerate(rows) if (r.drafter, r.gamma) == (best.drafter, best.gamma)
        ),
        format_func=lambda row: f"{row.drafter}, γ = {row.gamma}",
        key=f"tune.row.{best.drafter}.{best.gamma}",
    )
    engine = right.selectbox(_("For"), ENGINES, key="tune.engine")
    try:
        written = export(engine, target=DEFAULT_MODEL, drafter=row.drafter, gamma=row.gamma)
    except UserError as error:
        st.info(str(error))
        return
    st.code(written, language="python" if engine == "transformers" else "shell", wrap_lines=True)


def table(result: BenchResult) -> pd.DataFrame:
    """A row for each cell."""
    return pd.DataFrame(
        [
            {
                **row.model_dump(
                    include={
                        "drafter",
                        "gamma",
                        "temperature",
                        "repeats",
                        "tokens_per_s",
                        "speedup",
                        "speedup_low",
                        "speedup_high",
                        "predicted_speedup",
                        "mean_acceptance_length",
                        "draft_acceptance_rate",
                        "draft_cost",
                    }
                ),
                **{f"speedup: {name}": value for name, value in row.by_category.items()},
            }
            for row in result.rows
        ]
    )
