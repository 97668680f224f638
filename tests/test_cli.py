"""The command line, over a tiny random model in a local folder."""

from __future__ import annotations

import json
import os
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from transformers import PreTrainedTokenizerFast

import tests.tiny
from specviz import trace
from specviz.cli import main
from specviz.events import (
    CacheLengths,
    Cycle,
    Emitted,
    Event,
    Prefilled,
    Proposal,
    RunFinished,
    Seconds,
)
from specviz.runtime import embedded
from specviz.runtime.conversion import CONVERTED_FILES
from specviz.terminal import StreamView, visible


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model that never ends a text, as `save_pretrained` writes it."""
    folder = tmp_path_factory.mktemp("tiny")
    model = tests.tiny.tiny(eos_token_id=None)
    model.model.save_pretrained(folder)
    endless = PreTrainedTokenizerFast(tokenizer_object=model.tokenizer.backend_tokenizer)
    endless.save_pretrained(folder)
    return str(folder)


def run_json(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    result = tmp_path / "result.json"
    assert main(["run", *arguments, "--json", str(result)]) == 0
    loaded: dict[str, Any] = json.loads(result.read_text())
    return loaded


def test_run(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "abcabc",
        "--raw",
        "--target",
        tiny,
        "--max-new-tokens",
        "20",
        "--dtype",
        "float32",
    ]
    file = tmp_path / "trace.jsonl"
    plain = run_json(tmp_path, *arguments, "--drafter", "none")
    result = run_json(tmp_path, *arguments, "--gamma", "3", "--trace", str(file))

    assert result.keys() >= {
        "text",
        "token_ids",
        "prompt_tokens",
        "cycles",
        "draft_acceptance_rate",
        "mean_acceptance_length",
        "conditional_acceptance",
        "acceptance_histogram",
        "tokens_per_s",
        "seconds",
        "target_passes",
    }
    assert result["seconds"].keys() == {"prefill", "draft", "verify", "sample", "bookkeeping"}
    assert result["token_ids"] == plain["token_ids"]
    assert len(result["token_ids"]) == 20
    assert result["prompt_tokens"] == 6
    assert result["target_passes"] == result["cycles"] + 1
    assert result["mean_acceptance_length"] == 19 / result["cycles"]
    assert sum(result["acceptance_histogram"]) == result["cycles"]
    assert plain["draft_acceptance_rate"] is None
    assert plain["acceptance_histogram"] == [19]
    recorded = trace.read(file)
    assert recorded.token_ids == result["token_ids"]
    assert recorded.text == result["text"]
    decoding = sum(result["seconds"].values()) - result["seconds"]["prefill"]
    assert result["tokens_per_s"] == pytest.approx(19 / decoding)
    assert visible(result["text"]) in capsys.readouterr().out


def test_run_passes_every_setting_on(tiny: str, tmp_path: Path) -> None:
    options = {"temperature": 0.7, "top_p": 0.9, "top_k": 40, "seed": 7, "gamma": 2}
    spelled = [
        part
        for name, value in options.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    common = ["hello", "--target", tiny, "--raw", "--max-new-tokens", "9", "--dtype", "float32"]
    result = run_json(tmp_path, *common, *spelled, "--drafter", "early-exit:1")
    settings = result["run"]["settings"]
    assert settings.items() >= {**options, "raw": True, "max_new_tokens": 9}.items()
    assert settings["drafter"] == "early-exit:1"
    assert result["run"]["dtype"] == "float32"


def test_ctrl_c_stops_and_prints_what_ran(
    tiny: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show = StreamView.show

    def show_then_interrupt(view: StreamView, event: Event) -> None:
        show(view, event)
        if isinstance(event, Cycle) and event.index == 1:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(StreamView, "show", show_then_interrupt)
    before = signal.getsignal(signal.SIGINT)
    result, file = tmp_path / "result.json", tmp_path / "trace.jsonl"
    arguments = ["abc", "--raw", "--target", tiny, "--max-new-tokens", "400"]
    code = main(["run", *arguments, "--json", str(result), "--trace", str(file)])
    assert code == 130
    assert signal.getsignal(signal.SIGINT) is before
    written = json.loads(result.read_text())
    assert (written["cycles"], written["finish_reason"]) == (2, "cancelled")
    recorded = trace.read(file)
    assert isinstance(recorded.ended, RunFinished)
    assert recorded.token_ids == written["token_ids"]
    assert "tokens per second" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "hi", "--gamma", "65"], "--gamma 65: input should be less than or equal to 64"),
        (["run", "hi", "--gamma", "x"], "'--gamma'"),
        (["run", "hi", "--top-p", "0"], "--top-p 0.0: input should be greater than 0"),
        (["run", "hi", "--temperature", "nan"], "--temperature nan"),
        (["run", "hi", "--seed", "-1"], "--seed -1"),
        (["run", "hi", "--dtype", "float8", "--target", "{tiny}"], "no dtype “float8”"),
        (["run", "hi", "--drafter", "magic", "--target", "{tiny}"], "no drafter “magic”"),
        (["run", "hi", "--target", "/no/such"], "There is no folder /no/such"),
        (["run", "x" * 600, "--raw", "--target", "{tiny}"], "600 tokens long"),
        (["run", "hi", "--json", "/no/such/file"], "Cannot write /no/such/file"),
        (["run", "hi", "--trace", "/no/such/file"], "Cannot write /no/such/file"),
        (["run", "hi", "--json", "/"], "it is a folder"),
        (["run"], "Missing argument"),
        (["run", "hi", "--no-such-option"], "--no-such-option"),
        (["nonsense"], "nonsense"),
        (["bench"], "--prompts"),
        (["bench", "--prompts", "/no/such"], "Cannot read the prompts file /no/such"),
        (["bench", "--prompts", "p", "--gammas", "2,x"], "--gammas 2,x: write numbers"),
        (["bench", "--prompts", "p", "--gammas", "2,99"], "--gamma 99"),
        (["bench", "--prompts", "p", "--drafters", ","], "a part between the commas is empty"),
        (["bench", "--prompts", "p", "--repeats", "0"], "'--repeats'"),
        (["prove", "--fault", "nonsense"], "no fault “nonsense”: choose q-without-processors"),
        (["prove", "--pairs", "3"], "pairs"),
        (["profile", "--target", "{tiny}", "--drafters", "none"], "none proposes nothing"),
        (["distill", "large"], "no kind “large” to train: choose mtp"),
        (["distill", "mtp", "--steps", "0"], "--steps 0"),
        (["serve", "--port", "70000"], "'--port'"),
    ],
)
def test_mistakes_end_in_one_line(
    arguments: list[str], complaint: str, tiny: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([argument.replace("{tiny}", tiny) for argument in arguments]) == 2
    said = capsys.readouterr().err.splitlines()
    errors = [line for line in said if line.startswith("error: ")]
    assert len(errors) == 1
    assert said[-1] == errors[0]
    assert complaint in errors[0]


def test_no_command_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("fetch", "models", "run", "bench", "profile", "distill"))


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which the default model seems to lie."""
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("specviz.runtime.registry.HF_HUB_CACHE", str(tmp_path / "none"))
    embedded.folder().mkdir(parents=True)
    for name in CONVERTED_FILES:
        (embedded.folder() / name).touch()
    return embedded.folder()


def test_models_and_fetch(fetched: Path, tmp_path: Path) -> None:
    expected = {
        "id": "smollm2-135m-instruct",
        "kind": "embedded",
        "path": str(fetched),
        "fetched": True,
    }
    file = tmp_path / "models.json"
    assert main(["models", "--json", str(file)]) == 0
    assert json.loads(file.read_text()) == [expected]
    assert main(["fetch", "--json", str(file)]) == 0
    assert json.loads(file.read_text()) == expected


def test_bench(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts, file = tmp_path / "prompts.jsonl", tmp_path / "bench.json"
    prompts.write_text('{"prompt": "abcabc", "id": 1, "category": "copy"}\n{"prompt": "hello"}\n')
    arguments = ["--prompts", str(prompts), "--drafters", "none,lookup", "--gammas", "2,4"]
    arguments += ["--max-new-tokens", "8", "--repeats", "1", "--dtype", "float32"]
    assert main(["bench", *arguments, "--target", tiny, "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert result.keys() == {"rows", "environment"}
    assert [(row["drafter"], row["gamma"]) for row in result["rows"]] == [
        ("none", 0),
        ("lookup", 2),
        ("lookup", 4),
    ]
    assert result["rows"][1].keys() >= {
        "drafter",
        "gamma",
        "temperature",
        "tokens_per_s",
        "speedup",
        "mean_acceptance_length",
        "draft_acceptance_rate",
        "conditional_acceptance",
        "predicted_speedup",
        "greedy_identical",
        "ties",
    }
    assert all(row["greedy_identical"] for row in result["rows"])
    assert result["rows"][0]["speedup"] == 1
    assert "lookup" in capsys.readouterr().out


def test_profile(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "costs.json"
    arguments = ["--drafters", "early-exit:1", "--target", tiny, "--dtype", "float32"]
    assert main(["profile", *arguments, "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert result.keys() == {"machine", "v", "c", "bandwidth_bytes_per_s", "flops_per_s"}
    assert [cost["tokens"] for cost in result["v"]] == [*range(1, 17), 20, 24, 28, 32]
    assert result["v"][0]["v"] == {"median": 1.0, "low": 1.0, "high": 1.0}
    assert [cost["drafter"] for cost in result["c"]] == ["early-exit:1"]
    assert "GB/s" in capsys.readouterr().out


@pytest.mark.slow
def test_distill_and_run_what_it_made(
    tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "distilled.json"
    options = "--prompts 48 --max-new-tokens 4 --vocabulary 64 --steps 3 --batch-tokens 1024"
    arguments = ["--target", tiny, "--folder", str(tmp_path / "made"), *options.split()]
    assert main(["distill", "mtp", *arguments, "--json", str(file)]) == 0
    result = json.loads(file.read_text())
    assert result["recipe"]["vocabulary"] == 64
    assert [report["step"] for report in result["held_out"]] == [3]
    spelled = f"mtp:{result['file']}"
    assert f"--drafter {spelled}" in capsys.readouterr().out.replace("\n", "")
    made = run_json(tmp_path, "abc", "--target", tiny, "--drafter", spelled, "--dtype", "float32")
    plain = run_json(tmp_path, "abc", "--target", tiny, "--drafter", "none", "--dtype", "float32")
    assert made["token_ids"] == plain["token_ids"]


def test_prove(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    assert main(["prove", "--pairs", "20000", "--json", str(file)]) == 0
    proof = json.loads(file.read_text())
    assert proof["passed"]
    assert proof["degrees_of_freedom"] == 24
    assert proof["statistic"] < proof["critical_value"] == pytest.approx(51.18, abs=0.01)
    assert proof["control_statistic"] > 1000
    assert all(proof["exercised"][name] > 0 for name in ("accepted", "rejected", "resampled"))
    assert "test-skipped" in proof["faults"]


def test_prove_fails_with_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    arguments = ["prove", "--pairs", "20000", "--fault", "test-skipped", "--json", str(file)]
    assert main(arguments) == 1
    assert not json.loads(file.read_text())["passed"]


def test_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[str, int]] = []
    monkeypatch.setattr(
        "specviz.server.alone.serve", lambda host, port: served.append((host, port))
    )
    assert main(["serve", "--host", "0.0.0.0", "--port", "9000"]) == 0
    assert served == [("0.0.0.0", 9000)]


def proposal(text: str, verdict: Any) -> Proposal:
    return Proposal(token=1, text=text, p=0.5, q=0.5, accept_probability=1, u=0.5, verdict=verdict)


HOSTILE = Cycle(
    index=0,
    gamma=3,
    drafted=3,
    tested=2,
    accepted=1,
    proposals=(
        proposal(" good", "accepted"),
        proposal("[red]bad\n", "rejected"),
        proposal("\x1b[2J\u202e", "discarded"),
    ),
    emitted=(
        Emitted(token=1, text=" good", source="accepted"),
        Emitted(token=2, text=" [b]better", source="resampled"),
    ),
    seconds=Seconds(),
    cache=CacheLengths(target_before=1, target_after=1),
)


def shown(console: Console) -> str:
    view = StreamView(console)
    first = Emitted(token=0, text="First", source="target")
    view.show(Prefilled(emitted=first, seconds=0))
    view.show(HOSTILE)
    view.end()
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_tokens_in_a_terminal() -> None:
    """Case 23: what a model wrote is text, whatever it holds."""
    out = shown(Console(file=StringIO(), force_terminal=True, color_system="standard", _environ={}))
    assert "\x1b[4;32m good\x1b[0m" in out
    assert "\x1b[9;33m[red]bad↵✕\x1b[0m" in out
    assert "\x1b[9;90m␛[2J⟨202E⟩·\x1b[0m" in out
    assert "\x1b[1;94m [b]better↻\x1b[0m" in out
    assert out.index("good") < out.index("bad") < out.index("better")


def test_no_color_keeps_the_other_cues() -> None:
    out = shown(
        Console(
            file=StringIO(),
            force_terminal=True,
            color_system="standard",
            _environ={"NO_COLOR": "1"},
        )
    )
    assert "\x1b[9m[red]bad↵✕\x1b[0m" in out
    assert "\x1b[4m good\x1b[0m" in out
    assert "\x1b[3" not in out
    assert "\x1b[9;" not in out


def test_outside_a_terminal_only_the_text() -> None:
    assert shown(Console(file=StringIO(), width=5)) == "First good [b]better\n"


def test_visible() -> None:
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("\0\x1b\x7f\x9b\u2066") == "␀␛␡⟨009B⟩⟨2066⟩"
    assert visible("👩‍🚀 é") == "👩‍🚀 é", "joiners hold an emoji together"
