"""The command line: `python -m specviz …`.

A user's mistake ends in one line on standard error and exit code 2. torch is imported only by
the commands that need it, so that the others answer at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar

import typer
from pydantic import BaseModel, ValidationError
from rich.console import Console

import specviz
from specviz import progress
from specviz.distillation.recipe import Recipe
from specviz.errors import UserError
from specviz.export import DEFAULT_MODEL
from specviz.runtime import registry
from specviz.settings import Settings

if TYPE_CHECKING:
    from specviz.metrics import Summary
    from specviz.runtime.language_model import LanguageModel
    from specviz.trace import Trace

_Model = TypeVar("_Model", bound=BaseModel)

MISTAKE = 2
INTERRUPTED = 130
"""As the shell spells “ended by Ctrl-C”."""

_DEFAULTS = Settings()
_RECIPE = Recipe()

app = typer.Typer(
    help="See, understand, prove and tune speculative decoding.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the full result as JSON.")
]
Target = Annotated[
    str, typer.Option(help="The model: a name from `models`, a folder, or a Hugging Face id.")
]
Dtype = Annotated[
    str, typer.Option(help="auto, float32, bfloat16 or float16; auto is what is fast here.")
]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
DraftLengths = Annotated[
    str,
    typer.Option(help="fixed, auto (what pays, at most γ), schedule, or confidence (while sure)."),
]
MaxNewTokens = Annotated[int, typer.Option(help="Tokens to write, at most.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(
            list(arguments) or ["--help"], prog_name="python -m specviz", standalone_mode=False
        )
    except (UserError, typer.TyperException) as error:
        message = str(error) if isinstance(error, UserError) else error.format_message()
        print(f"error: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
        return MISTAKE
    except typer.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.")
    ] = False,
) -> None:
    if version:
        _console().print(f"specviz {specviz.__version__}", highlight=False)
        raise typer.Exit


@app.command()
def fetch(json_file: JsonFile = None) -> None:
    """Fetch the default model, once."""
    _check_writable(json_file)
    progress.fetch()
    (default, *_) = registry.models()
    _write_json(json_file, default.model_dump())
    _console().print(f"{default.id}: {default.path}", markup=False, highlight=False, soft_wrap=True)


@app.command()
def models(json_file: JsonFile = None) -> None:
    """List the models that are known by name."""
    from specviz.terminal import plain_table

    _check_writable(json_file)
    known = registry.models()
    _write_json(json_file, [model.model_dump() for model in known])
    rows = [(m.id, m.kind, "yes" if m.fetched else "no", m.path or "–") for m in known]
    _console().print(plain_table(("id", "kind", "fetched", "path"), rows))


@app.command()
def run(
    prompt: Annotated[str, typer.Argument(help="What to answer.")],
    target: Target = registry.DEFAULT_TARGET,
    drafter: Annotated[
        str | None,
        typer.Option(
            help="hybrid, mtp, lookup, small-N, early-exit:N, model:ID or none; by default hybrid "
            "where one was trained for the model, else lookup."
        ),
    ] = None,
    gamma: Annotated[int, typer.Option(help="γ: tokens proposed in a cycle.")] = _DEFAULTS.gamma,
    temperature: Temperature = _DEFAULTS.temperature,
    top_p: Annotated[float, typer.Option(help="1 keeps every token.")] = _DEFAULTS.top_p,
    top_k: Annotated[int, typer.Option(help="0 keeps every token.")] = _DEFAULTS.top_k,
    seed: Annotated[int, typer.Option(help="Same seed, same text.")] = _DEFAULTS.seed,
    max_new_tokens: MaxNewTokens = _DEFAULTS.max_new_tokens,
    dtype: Dtype = "auto",
    draft_length: DraftLengths = _DEFAULTS.draft_length,
    raw: Annotated[
        bool, typer.Option("--raw", help="Continue the prompt instead of answering it.")
    ] = False,
    trace_file: Annotated[
        Path | None, typer.Option("--trace", metavar="FILE", help="Record the run, as it happens.")
    ] = None,
    json_file: JsonFile = None,
) -> None:
    """Answer one prompt, and show what became of every proposed token."""
    settings = _settings(
        drafter=drafter or _DEFAULTS.drafter,
        gamma=gamma,
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
        max_new_tokens=max_new_tokens,
        draft_length=draft_length,
        raw=raw,
    )
    _check_writable(json_file)
    with _opened(trace_file) as record:
        model = _load(target, dtype)
        if drafter is None:
            from specviz.drafters import best_for

            settings = settings.model_copy(update={"drafter": best_for(model)})
        trace = _stream(model, prompt, settings, record)
    from specviz.events import RunFinished
    from specviz.metrics import summarize
    from specviz.terminal import summary_table

    summary = summarize(trace)
    _console().print(summary_table(summary))
    _write_json(json_file, _run_result(trace, summary))
    if isinstance(trace.ended, RunFinished) and trace.ended.reason == "cancelled":
        raise typer.Exit(INTERRUPTED)


@app.command()
def bench(
    prompts: Annotated[
        Path, typer.Option(metavar="FILE", help="JSON Lines, each with a “prompt”.")
    ],
    drafters: Annotated[str, typer.Option(help="Separated by commas.")] = "none,lookup",
    gammas: Annotated[str, typer.Option(help="Separated by commas.")] = "2,4,8",
    temperature: Temperature = _DEFAULTS.temperature,
    max_new_tokens: Annotated[int, typer.Option(min=2, help="Tokens to write, at most.")] = 64,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each; medians are shown.")] = 3,
    draft_length: DraftLengths = _DEFAULTS.draft_length,
    target: Target = registry.DEFAULT_TARGET,
    dtype: Dtype = "auto",
    json_file: JsonFile = None,
) -> None:
    """Measure drafters and draft lengths against plain decoding."""
    from specviz.bench import bench as measure
    from specviz.bench import read_prompts
    from specviz.terminal import bench_table

    chosen = [_settings(gamma=gamma).gamma for gamma in _integers(gammas, "--gammas")]
    names = _listed(drafters, "--drafters")
    settings = _settings(
        temperature=temperature, max_new_tokens=max_new_tokens, draft_length=draft_length
    )
    _check_writable(json_file)
    read = read_prompts(prompts)
    model = _load(target, dtype)
    with progress.steps("Measuring") as report:
        result = measure(
            model,
            read,
            drafters=names,
            gammas=chosen,
            settings=settings,
            repeats=repeats,
            progress=report,
        )
    _write_json(json_file, result.model_dump(mode="json"))
    _console().print(bench_table(result))


@app.command()
def profile(
    drafters: Annotated[str, typer.Option(help="Separated by commas.")] = "lookup,early-exit:8",
    target: Target = registry.DEFAULT_TARGET,
    dtype: Dtype = "auto",
    json_file: JsonFile = None,
) -> None:
    """Measure what passes and drafts cost on this machine."""
    from specviz.costs import measure_costs
    from specviz.terminal import costs_tables

    names = _listed(drafters, "--drafters")
    _check_writable(json_file)
    model = _load(target, dtype)
    with progress.steps("Measuring") as report:
        costs = measure_costs(model, names, progress=report)
    _write_json(json_file, costs.model_dump(mode="json"))
    for table in costs_tables(costs):
        _console().print(table)


@app.command()
def prove(
    pairs: Annotated[int, typer.Option(help="Pairs of tokens to draw.")] = 200_000,
    fault: Annotated[
        str | None, typer.Option(metavar="NAME", help="Break the rule in a known way first.")
    ] = None,
    seed: Annotated[int, typer.Option()] = 0,
    real: Annotated[
        bool, typer.Option("--real", help="Test the whole engine with the model instead.")
    ] = False,
    runs: Annotated[int, typer.Option(help="Of the engine, with --real.")] = 600,
    drafter: Annotated[str, typer.Option(help="With --real.")] = "early-exit:8",
    temperature: Annotated[float, typer.Option(help="With --real.")] = 1.0,
    top_p: Annotated[float, typer.Option(help="With --real.")] = 1.0,
    target: Target = registry.DEFAULT_TARGET,
    dtype: Dtype = "float32",
    json_file: JsonFile = None,
) -> None:
    """Test that the rule loses nothing; exit code 1 if the test fails."""
    from specviz.proof import prove as test
    from specviz.terminal import proof_table, real_proof_table

    _check_writable(json_file)
    if real:
        from specviz.real_proof import prove_real

        if fault is not None:
            raise UserError("A fault can be switched into the rule alone: leave out --real.")
        settings = _settings(drafter=drafter, temperature=temperature, top_p=top_p, seed=seed)
        model = _load(target, dtype)
        with progress.steps("Sampling") as report:
            engine = prove_real(model, settings, runs=runs, progress=report)
        _write_json(json_file, engine.model_dump(mode="json"))
        _console().print(real_proof_table(engine))
        raise typer.Exit(0 if engine.passed else 1)
    with progress.waiting("Drawing pairs"):
        proof = test(pairs, seed=_settings(seed=seed).seed, fault=fault)
    _write_json(json_file, proof.model_dump(mode="json"))
    _console().print(proof_table(proof))
    raise typer.Exit(0 if proof.passed else 1)


@app.command()
def export(
    to: Annotated[str, typer.Option(help="transformers, vllm, sglang or llama.cpp.")],
    drafter: Annotated[
        str, typer.Option(help="lookup, early-exit:N, model:ID or none.")
    ] = _DEFAULTS.drafter,
    gamma: Annotated[int, typer.Option(help="γ: tokens proposed in a cycle.")] = _DEFAULTS.gamma,
    target: Annotated[
        str, typer.Option(help="The model, by the name that the engine knows it by.")
    ] = DEFAULT_MODEL,
    json_file: JsonFile = None,
) -> None:
    """Print a setting as another engine wants it."""
    from specviz.export import export as write

    _check_writable(json_file)
    chosen = _settings(drafter=drafter, gamma=gamma)
    written = write(to, target=target, drafter=chosen.drafter, gamma=chosen.gamma)
    _write_json(json_file, {"to": to, "setting": written})
    _console().print(written, markup=False, soft_wrap=True)


@app.command()
def distill(
    kind: Annotated[str, typer.Argument(help="mtp, small-2 or small-4.")],
    folder: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where corpus, checkpoints and result go.")
    ] = Path("distilled"),
    target: Target = registry.DEFAULT_TARGET,
    prompts: Annotated[
        int, typer.Option(help="Prompts that the target answers.")
    ] = _RECIPE.prompts,
    max_new_tokens: Annotated[
        int, typer.Option(help="Tokens of an answer, at most.")
    ] = _RECIPE.max_new_tokens,
    vocabulary: Annotated[
        int, typer.Option(help="Tokens that it may propose.")
    ] = _RECIPE.vocabulary,
    steps: Annotated[int, typer.Option(help="Steps of the optimizer.")] = _RECIPE.steps,
    batch_tokens: Annotated[int, typer.Option(help="Tokens a step.")] = _RECIPE.batch_tokens,
    learning_rate: Annotated[float, typer.Option(help="At its peak.")] = _RECIPE.learning_rate,
    unroll: Annotated[
        int, typer.Option(help="Drafting steps that mtp is trained on.")
    ] = _RECIPE.unroll,
    single_steps: Annotated[
        int, typer.Option(help="Steps, from the first, on the first of them alone.")
    ] = _RECIPE.single_steps,
    seed: Annotated[int, typer.Option()] = _RECIPE.seed,
    dtype: Dtype = "float32",
    json_file: JsonFile = None,
) -> None:
    """Train a drafter from the target's own output; goes on where it was interrupted."""
    from specviz.distillation.distill import Progress
    from specviz.distillation.distill import distill as train
    from specviz.drafters.trained import KINDS

    if kind not in KINDS:
        raise UserError(f"There is no kind “{kind}” to train: choose {', '.join(KINDS)}.")
    recipe = _validated(
        Recipe,
        prompts=prompts,
        max_new_tokens=max_new_tokens,
        vocabulary=vocabulary,
        steps=steps,
        batch_tokens=batch_tokens,
        learning_rate=learning_rate,
        unroll=unroll,
        single_steps=single_steps,
        seed=seed,
    )
    _check_writable(json_file)
    model = _load(target, dtype)
    console = _console()
    reports: list[Progress] = []

    def report(now: Progress) -> None:
        reports.append(now)
        kept = ", ".join(f"{100 * rate:.1f} %" for rate in now.agreement)
        console.print(f"step {now.step}: loss {now.loss:.3f}, held out, by position: {kept} kept")

    with progress.steps("Training") as step:
        path = train(kind, model, folder, recipe, progress=step, report=report)
    _write_json(
        json_file,
        {
            "file": str(path),
            "recipe": recipe.model_dump(),
            "held_out": [asdict(r) for r in reports],
        },
    )
    console.print(f"Use it as --drafter {kind}:{path}", markup=False, soft_wrap=True)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8600,
) -> None:
    """Serve the runs without the page: a backend for a separate front end."""
    from specviz.server.alone import serve as serve_alone

    serve_alone(host, port)


def _settings(**chosen: Any) -> Settings:
    return _validated(Settings, **chosen)


def _validated(model: type[_Model], **chosen: Any) -> _Model:
    try:
        return model(**chosen)
    except ValidationError as error:
        first = error.errors()[0]
        option = f"--{first['loc'][0]}".replace("_", "-")
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise UserError(f"{option} {first['input']}: {reason}.") from error


def _integers(text: str, option: str) -> list[int]:
    try:
        return [int(part) for part in _listed(text, option)]
    except ValueError as error:
        raise UserError(
            f"{option} {text}: write numbers with commas between, as in 2,4,8."
        ) from error


def _listed(text: str, option: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise UserError(f"{option} {text}: a part between the commas is empty.")
    return list(dict.fromkeys(parts))


def _load(target: str, dtype: str) -> LanguageModel:
    if target == registry.DEFAULT_TARGET:
        progress.fetch()
    with progress.waiting(f"Loading {target}"):
        from specviz.runtime.loading import load

        return load(target, dtype)


def _stream(model: LanguageModel, prompt: str, settings: Settings, record: TextIO | None) -> Trace:
    """Run to the end or to Ctrl-C, each event on the screen (and on disk) as it comes."""
    from specviz import trace
    from specviz.engine import decode
    from specviz.terminal import StreamView

    view = StreamView(_console())
    with _stopped_by_ctrl_c() as pressed:
        events = decode(model, prompt, settings, cancelled=pressed)
        if record is not None:
            events = trace.write(events, record)
        view.legend()
        seen = []
        try:
            for event in events:
                view.show(event)
                seen.append(event)
        finally:
            view.end()
    return trace.collect(seen)


@contextmanager
def _stopped_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks the run to stop after its pass; a second one does not wait."""
    pressed = False

    def press(*_: object) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _run_result(trace: Trace, summary: Summary) -> dict[str, Any]:
    """What `run --json` writes; scripts rely on these keys."""
    numbers = summary.model_dump(
        mode="json",
        include={
            "prompt_tokens",
            "cycles",
            "draft_acceptance_rate",
            "mean_acceptance_length",
            "acceptance_histogram",
            "tokens_per_s",
            "seconds",
            "target_passes",
        },
    )
    return {
        "text": trace.text,
        "token_ids": trace.token_ids,
        **numbers,
        "conditional_acceptance": [at.rate for at in summary.conditional_acceptance],
        "conditional_acceptance_interval": [
            [at.low, at.high] for at in summary.conditional_acceptance
        ],
        "finish_reason": getattr(trace.ended, "reason", None),
        "run": trace.started.model_dump(mode="json"),
    }


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO | None]:
    if path is None:
        yield None
        return
    _check_writable(path)
    with path.open("w", encoding="utf-8") as file:
        yield file


def _check_writable(path: Path | None) -> None:
    """Refuse a result's place before the work, not after it."""
    if path is None:
        return
    if path.is_dir():
        raise UserError(f"Cannot write {path}: it is a folder; name a file.")
    place = path if path.exists() else path.absolute().parent
    if not os.access(place, os.W_OK):
        raise UserError(
            f"Cannot write {path}: {place} is missing or closed to you; name another file."
        )


def _write_json(path: Path | None, result: object) -> None:
    if path is None:
        return
    try:
        path.write_text(json.dumps(result, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"Cannot write {path} ({error.strerror}): name another file.") from error


def _console() -> Console:
    return Console(highlight=False)
