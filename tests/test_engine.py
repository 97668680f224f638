"""The cycle, against plain decoding and against transformers' own `generate`."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import torch

from specviz import engine
from specviz.draft_length import Fixed
from specviz.engine import decode
from specviz.errors import UserError
from specviz.events import Cycle, RunFinished
from specviz.runtime.language_model import LanguageModel
from specviz.settings import Settings
from specviz.trace import Trace, collect, line, parse
from tests.tiny import (
    END,
    FAMILIES,
    VOCABULARY,
    byte_tokenizer,
    run,
    target,
    tiny,
    with_end,
    without_end,
)
from tests.trained import write_trained

TRAINED = ("mtp", "hybrid", "small-2")
KnowModel = Callable[[str, LanguageModel], None]


@pytest.fixture
def drafters(known_models: KnowModel, tmp_path: Path) -> dict[str, str]:
    """Drafters by a short name for the tests, and as they are asked for.

    S is a copy of the target, D another random model. The trained ones have learned nothing,
    and lack every third token of the vocabulary.
    """
    known_models("S", tiny(seed=0))
    known_models("D", tiny(seed=1))
    some = torch.tensor([token for token in range(VOCABULARY) if token % 3])
    mtp = write_trained("mtp", target(), tmp_path, some)
    return {
        "S": "model:S",
        "D": "model:D",
        "mtp": mtp,
        "hybrid": mtp.replace("mtp:", "hybrid:"),
        "small-2": write_trained("small-2", target(), tmp_path, some),
    }


def prompts(count: int) -> list[str]:
    """Texts over few letters, so that some of them repeat themselves."""
    chance = random.Random(0)
    return ["".join(chance.choices("abcd ", k=chance.randint(1, 30))) for _ in range(count)]


def transformers_greedy(model: LanguageModel, prompt: str, tokens: int) -> list[int]:
    ids = torch.tensor([model.tokenizer.encode(prompt)])
    generate: Any = model.model.generate
    out = generate(
        ids,
        attention_mask=torch.ones_like(ids),
        do_sample=False,
        max_new_tokens=tokens,
        eos_token_id=sorted(model.end_ids) or None,
        pad_token_id=0,
    )
    return [int(token) for token in out[0, ids.shape[1] :]]


class TestGreedy:
    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["S", "D", "lookup", "early-exit:1", "early-exit:2", *TRAINED])
    def test_ids_equal_plain_decoding_at_every_gamma(
        self, kind: str, drafters: dict[str, str]
    ) -> None:
        """Case 1: 40 prompts, γ = 1…8."""
        for i, prompt in enumerate(prompts(40)):
            plain = run(target(), prompt, max_new_tokens=16)
            gamma = i % 8 + 1
            drafted = run(
                target(), prompt, max_new_tokens=16, drafter=drafters.get(kind, kind), gamma=gamma
            )
            assert drafted.token_ids == plain.token_ids, (prompt, gamma)

    @pytest.mark.parametrize("kind", ["D", "lookup", "early-exit:2", *TRAINED])
    def test_gamma_does_not_change_the_ids(self, kind: str, drafters: dict[str, str]) -> None:
        """Case 1: γ in {1, 2, 3, 5, 8, 16, 32} gives the same ids."""
        texts = {
            tuple(run(target(), drafter=drafters.get(kind, kind), gamma=gamma).token_ids)
            for gamma in (1, 2, 3, 5, 8, 16, 32)
        }
        assert texts == {tuple(run(target()).token_ids)}

    @pytest.mark.parametrize("family", FAMILIES)
    def test_ids_equal_those_of_transformers_for_every_family(self, family: str) -> None:
        """Also past a sliding window, which is 12 tokens wide in two of them (case 16)."""
        model = tiny(family)
        expected = transformers_greedy(model, "abcab", 40)
        for drafter in ("none", "lookup", "early-exit:1"):
            trace = run(model, drafter=drafter, max_new_tokens=40, gamma=3)
            assert trace.token_ids == expected, drafter

    @pytest.mark.parametrize(
        "settings",
        [
            {"repetition_penalty": 1.8},
            {"frequency_penalty": 3.0},
            {"presence_penalty": 5.0},
            {"no_repeat_ngram_size": 2},
            {"min_new_tokens": 20},
            {"allowed_token_ids": (65, 66, 67, END)},
            {"temperature": 1e-5},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("kind", ["S", "D", "lookup", "early-exit:2", *TRAINED])
    def test_processors_apply_at_every_position_of_a_draft(
        self, settings: dict[str, Any], kind: str, drafters: dict[str, str]
    ) -> None:
        """Cases 6 and 7: ids equal plain decoding's with the same settings."""
        plain = run(target(), "abcabcabc", **settings)
        drafted = run(target(), "abcabcabc", drafter=drafters.get(kind, kind), gamma=5, **settings)
        assert drafted.token_ids == plain.token_ids

    def test_a_penalty_changes_the_text_at_all(self) -> None:
        """Else the test above would show nothing."""
        plain = run(target()).token_ids
        assert run(target(), repetition_penalty=1.8).token_ids != plain
        assert run(target(), no_repeat_ngram_size=2).token_ids != plain


class TestSelfDrafting:
    @pytest.mark.slow
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    @pytest.mark.parametrize("gamma", [1, 2, 3, 5, 8, 16])
    def test_a_copy_of_the_target_is_always_accepted(
        self, gamma: int, temperature: float, drafters: dict[str, str]
    ) -> None:
        """Case 2: 200 tokens, 100 %; it catches every off-by-one in the draft's cache."""
        trace = run(
            without_end(target()),
            drafter=drafters["S"],
            gamma=gamma,
            temperature=temperature,
            max_new_tokens=200,
            seed=3,
        )
        ended = trace.ended
        assert isinstance(ended, RunFinished)
        assert len(ended.token_ids) == 200
        assert ended.drafted > 0
        assert ended.accepted == ended.drafted

    def test_also_when_gamma_varies(self, drafters: dict[str, str], monkeypatch: Any) -> None:
        """Cases 2 and 15: γ going 3, 0, 0, 3: the drafter's cache lags and catches up."""
        gammas = iter([3, 0, 0, 3, 1, 0, 5, 5])

        class Varying(engine._Run):
            def cycle(self) -> Cycle:
                self.draft_length = Fixed(next(gammas, 2))
                return super().cycle()

        monkeypatch.setattr(engine, "_Run", Varying)
        trace = run(without_end(target()), drafter=drafters["S"], max_new_tokens=40)
        assert [c.drafted for c in trace.cycles[:8]] == [3, 0, 0, 3, 1, 0, 5, 5]
        assert all(c.accepted == c.drafted for c in trace.cycles)
        assert trace.token_ids == run(without_end(target()), max_new_tokens=40).token_ids


SAMPLED: dict[str, Any] = {"temperature": 1.0, "drafter": "early-exit:2", "gamma": 3}


class TestSeeds:
    def test_same_seed_same_text_and_another_seed_another(self) -> None:
        """Case 8: twice, and after draws from torch's global generator in between."""
        once = run(target(), seed=5, **SAMPLED).token_ids
        torch.rand(7)
        assert run(target(), seed=5, **SAMPLED).token_ids == once
        assert run(target(), seed=6, **SAMPLED).token_ids != once

    def test_a_run_beside_it_changes_nothing(self) -> None:
        """Case 8: two runs, one event each in turn, equal the same runs alone."""
        alone = [run(target(), seed=seed, **SAMPLED) for seed in (1, 2)]
        settings = {"raw": True, "max_new_tokens": 24, **SAMPLED}
        runs = [decode(target(), "abcab", Settings(seed=s, **settings)) for s in (1, 2)]
        beside = [
            [event for event in pair if event] for pair in zip(*zip_longest(*runs), strict=True)
        ]
        for together, expected in zip(beside, alone, strict=True):
            assert collect(together).token_ids == expected.token_ids

    def test_recording_changes_nothing(self) -> None:
        settings = Settings(raw=True, max_new_tokens=24, seed=5, **SAMPLED)
        recorded, bare = (
            collect(decode(target(), "abcab", settings, record=record)) for record in (True, False)
        )
        assert recorded.token_ids == bare.token_ids
        assert recorded.cycles[0].proposals
        assert not bare.cycles[0].proposals


class TestEnds:
    @pytest.mark.slow
    def test_every_id_in_turn_as_the_end_of_text(self, drafters: dict[str, str]) -> None:
        """Case 9: the text equals plain decoding's, and nothing comes after the end."""
        ids = sorted(set(run(without_end(target()), max_new_tokens=16).token_ids))
        assert len(ids) > 5
        for end in ids:
            model = with_end(target(), (end,))
            plain = run(model, max_new_tokens=16)
            for drafter in (*drafters.values(), "lookup", "early-exit:2"):
                drafted = run(model, max_new_tokens=16, drafter=drafter, gamma=5)
                assert drafted.token_ids == plain.token_ids
                assert drafted.text == plain.text
                assert end not in drafted.token_ids[:-1]

    def test_an_end_inside_a_draft(self, drafters: dict[str, str]) -> None:
        """Case 9: an end at draft position 3 of 5 emits 3, and what stood behind is discarded."""
        free = run(without_end(target()), drafter=drafters["S"], gamma=5).token_ids
        end = free[3]
        assert free.index(end) == 3
        trace = run(with_end(target(), (end,)), drafter=drafters["S"], gamma=5)
        cycle = trace.cycles[0]
        assert cycle.drafted == 5
        assert (cycle.accepted, cycle.tested, len(cycle.emitted)) == (3, 3, 3)
        assert [p.verdict for p in cycle.proposals] == ["accepted"] * 3 + ["discarded"] * 2
        assert isinstance(trace.ended, RunFinished)
        assert trace.ended.reason == "end_of_text"

    def test_several_ids_that_end_a_text(self) -> None:
        """Case 9: the first of them to come ends it."""
        free = run(without_end(target())).token_ids
        model = with_end(target(), (free[10], free[5]))
        first = min(free.index(free[10]), free.index(free[5]))
        assert run(model, drafter="lookup").token_ids == free[: first + 1]

    def test_a_drafter_that_always_proposes_the_end_ends_nothing_by_itself(
        self, known_models: KnowModel
    ) -> None:
        """Case 9."""
        ender = tiny(seed=2)
        with torch.no_grad():
            head = ender.model.get_output_embeddings()
            head.weight.zero_()
            head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
            head.bias[END] = 50.0
        known_models("ender", ender)
        plain = run(target())
        drafted = run(target(), drafter="model:ender")
        assert all(p.token == END for c in drafted.cycles for p in c.proposals)
        assert drafted.token_ids == plain.token_ids
        assert len(drafted.token_ids) > 3

    @pytest.mark.parametrize("gamma", [1, 4])
    @pytest.mark.parametrize("kind", ["S", "lookup", "none", *TRAINED])
    def test_budgets_are_exact(self, gamma: int, kind: str, drafters: dict[str, str]) -> None:
        """Case 10: max_new_tokens 0, 1, 2, γ, γ + 1, γ + 2."""
        free = run(without_end(target()), max_new_tokens=10).token_ids
        for budget in (0, 1, 2, gamma, gamma + 1, gamma + 2):
            trace = run(
                without_end(target()),
                drafter=drafters.get(kind, kind),
                gamma=gamma,
                max_new_tokens=budget,
            )
            assert trace.token_ids == free[:budget]
            assert isinstance(trace.ended, RunFinished)
            assert trace.ended.reason == "length"
            left = budget - 1
            for cycle in trace.cycles:
                assert cycle.drafted < left or left == 1, "the pass adds a token to what it keeps"
                left -= len(cycle.emitted)
            assert list(trace.ended.token_ids) == trace.token_ids

    def test_token_id_0_is_an_ordinary_token(self, drafters: dict[str, str]) -> None:
        """Case 10."""
        settings: dict[str, Any] = {"allowed_token_ids": (0,), "max_new_tokens": 7}
        for drafter in ("none", "lookup", *drafters.values()):
            assert run(target(), drafter=drafter, **settings).token_ids == [0] * 7

    def test_a_drafter_asked_for_5_never_proposes_6(self, drafters: dict[str, str]) -> None:
        """Case 20."""
        for drafter in ("lookup", "early-exit:1", *drafters.values()):
            trace = run(target(), "abcabcabcabc", drafter=drafter, gamma=5)
            assert max(c.drafted for c in trace.cycles) == 5
            assert all(c.drafted <= c.gamma <= 5 for c in trace.cycles)


class TestStopStrings:
    def test_every_window_of_the_text_stops_it(self, drafters: dict[str, str]) -> None:
        """Case 11: every window of 1–3 characters, across token and cycle borders."""
        settings: dict[str, Any] = {
            "allowed_token_ids": tuple(byte_tokenizer().encode("abcdefgh")),
            "max_new_tokens": 20,
            "temperature": 1.0,
            "seed": 4,
        }
        model = without_end(target())
        for drafter in ("none", drafters["S"]):
            full = run(model, drafter=drafter, gamma=3, **settings).text
            assert len(full) == 20
            for size in (1, 2, 3):
                for at in range(len(full) - size + 1):
                    stop = full[at : at + size]
                    trace = run(model, drafter=drafter, gamma=3, stop=(stop,), **settings)
                    assert trace.text == full[: full.index(stop)]
                    assert isinstance(trace.ended, RunFinished)
                    assert trace.ended.reason == "stop_string"
                    assert trace.ended.text == trace.text

    def test_what_could_have_become_a_stop_string_is_shown_in_the_end(self) -> None:
        model = without_end(target())
        settings: dict[str, Any] = {"allowed_token_ids": tuple(byte_tokenizer().encode("a"))}
        trace = run(model, max_new_tokens=5, stop=("aaaaaaaaab",), **settings)
        assert trace.text == "aaaaa"


class TestLimits:
    def test_a_prompt_of_one_token(self) -> None:
        """Case 14."""
        expected = transformers_greedy(target(), "a", 12)
        for drafter in ("none", "lookup", "early-exit:1"):
            assert run(target(), "a", drafter=drafter, max_new_tokens=12).token_ids == expected

    def test_an_empty_prompt_is_refused_before_any_work(self) -> None:
        """Case 14: this tokenizer has no begin-of-text token to start from."""
        with pytest.raises(UserError, match="The prompt is empty"):
            run(target(), "")

    def test_a_prompt_longer_than_the_context_is_refused_before_any_work(self) -> None:
        """Case 14."""
        with pytest.raises(UserError, match=r"513 tokens long .* at most 512: shorten it"):
            run(target(), "a" * 513)

    @pytest.mark.parametrize("kind", ["none", "S", "lookup", "early-exit:1", *TRAINED])
    def test_a_run_to_the_context_s_end(self, kind: str, drafters: dict[str, str]) -> None:
        """Case 14: correct to the last position, then it ends."""
        model = without_end(tiny(seed=0, max_position_embeddings=40))
        drafter = drafters.get(kind, kind)
        trace = run(model, "a" * 30, drafter=drafter, max_new_tokens=99, gamma=4)
        assert isinstance(trace.ended, RunFinished)
        assert trace.ended.reason == "context_full"
        assert trace.token_ids == transformers_greedy(model, "a" * 30, 10)

    @pytest.mark.parametrize("length", [10, 25])
    def test_a_context_longer_than_the_drafter_s(
        self, length: int, known_models: KnowModel
    ) -> None:
        """Case 14: the drafter falls silent, the text stays right."""
        known_models("short", tiny(seed=0, max_position_embeddings=20))
        plain = run(without_end(target()), "a" * length)
        drafted = run(without_end(target()), "a" * length, drafter="model:short", gamma=4)
        assert drafted.token_ids == plain.token_ids
        assert drafted.cycles[-1].drafted == 0
        assert (drafted.cycles[0].drafted > 0) == (length == 10)

    @pytest.mark.parametrize("ids", [(), (-1,), (257,)])
    def test_impossible_allowed_tokens_are_refused(self, ids: tuple[int, ...]) -> None:
        with pytest.raises(UserError, match="Allowed token ids"):
            run(target(), allowed_token_ids=ids)


class TestVocabularies:
    @pytest.mark.parametrize("size", [257 + 7, 257 - 7])
    def test_a_drafter_s_head_of_another_size(self, size: int, known_models: KnowModel) -> None:
        """Case 13: padding ids are never proposed, ids that it lacks have q = 0."""
        known_models("odd", tiny(seed=1, vocab_size=size))
        for temperature in (0.0, 1.0):
            trace = run(
                target(), drafter="model:odd", temperature=temperature, max_new_tokens=60, gamma=3
            )
            assert all(p.token < min(size, 257) for c in trace.cycles for p in c.proposals)
            if temperature == 0.0:
                assert trace.token_ids == run(target(), max_new_tokens=60).token_ids

    def test_padding_of_the_target_s_head_is_never_emitted(self) -> None:
        """Case 13: though the padding rows would win by far."""
        padded = tiny(seed=0, vocab_size=300)
        with torch.no_grad():
            padded.model.get_output_embeddings().weight[257:] *= 1000
        for drafter in ("none", "early-exit:2"):
            trace = run(padded, drafter=drafter, temperature=1.0)
            assert max(trace.token_ids) < 257

    def test_another_tokenizer_is_refused(self, known_models: KnowModel) -> None:
        """Case 13: in one clear line."""
        other = LanguageModel("other", tiny(seed=1).model, byte_tokenizer(reverse=True))
        known_models("other", other)
        with pytest.raises(UserError, match="other has another tokenizer than tiny-llama-0"):
            run(target(), drafter="model:other")


class TestCaches:
    @pytest.mark.parametrize("kind", ["none", "S", "D", "lookup", "early-exit:2", *TRAINED])
    def test_after_each_cycle_the_caches_hold_the_committed_prefix(
        self, kind: str, drafters: dict[str, str]
    ) -> None:
        """Case 15: less the last token; one target pass a cycle, and one for the prompt.

        A drafting model that saw its every proposal kept lacks one token more: it proposed
        it without passing over it, and catches up in its next pass.
        """
        trace = run(
            target(), drafter=drafters.get(kind, kind), gamma=3, temperature=5.0, max_new_tokens=60
        )
        committed = trace.started.prompt_tokens + 1
        accepted = set()
        for cycle in trace.cycles:
            assert cycle.cache.target_before == committed + cycle.drafted
            seen, committed = committed, committed + len(cycle.emitted)
            accepted.add(cycle.accepted)
            assert cycle.cache.target_after == committed - 1
            if kind == "mtp" and cycle.drafted:
                # Its pairs (hᵢ, tᵢ₊₁), up to the last token that the draft began with.
                assert cycle.cache.drafter_after == seen - 1
            elif kind == "hybrid":
                assert (cycle.cache.drafter_after or 0) <= seen - 1
            elif kind in {"S", "D", "small-2"}:
                lag = cycle.accepted == cycle.drafted > 0
                ended = cycle is trace.cycles[-1]
                assert ended or cycle.cache.drafter_after == committed - 1 - lag
            elif kind != "mtp":
                assert cycle.cache.drafter_after is None
        assert isinstance(trace.ended, RunFinished)
        assert trace.ended.target_passes == len(trace.cycles) + 1
        if kind == "D":
            assert {0, 3} <= accepted, "both no proposal kept and all kept must occur"

    @pytest.mark.slow
    def test_200_runs_in_a_row_leave_nothing_behind(self, drafters: dict[str, str]) -> None:
        """Case 16: memory flat, and a repeated prompt keeps its τ."""

        def tensors() -> int:
            gc.collect()
            return sum(isinstance(o, torch.Tensor) for o in gc.get_objects())

        def once() -> tuple[int, int]:
            ended = run(target(), drafter=drafters["D"], max_new_tokens=4).ended
            assert isinstance(ended, RunFinished)
            return ended.cycles, len(ended.token_ids)

        first, before = once(), tensors()
        assert {once() for _ in range(200)} == {first}
        assert tensors() <= before


class TestEvents:
    def test_stop_is_obeyed_before_the_next_pass(self) -> None:
        """Between two passes of any model; what was committed stands."""
        passes = 0

        def cancelled() -> bool:
            nonlocal passes
            passes += 1
            return passes > 8

        settings = Settings(drafter="early-exit:2", gamma=3, raw=True, max_new_tokens=99)
        trace = collect(decode(without_end(target()), "ab", settings, cancelled=cancelled))
        assert isinstance(trace.ended, RunFinished)
        assert trace.ended.reason == "cancelled"
        assert passes == 9, "one for the prompt, four a cycle: the ninth is refused"
        assert len(trace.cycles) == 1
        assert trace.ended.target_passes == 2
        assert list(trace.ended.token_ids) == trace.token_ids

    def test_time_spent_by_the_reader_is_in_no_timing(self) -> None:
        """Case 18: half a second slept between events does not show."""

        def slow_reader() -> Trace:
            events = []
            for event in decode(target(), "ab", Settings(raw=True, max_new_tokens=6)):
                events.append(event)
                time.sleep(0.5)
            return collect(events)

        run(target(), "ab", max_new_tokens=6)
        ended = slow_reader().ended
        assert isinstance(ended, RunFinished)
        assert ended.seconds < 0.5

    def test_a_recorded_cycle_says_what_the_dice_did(self, drafters: dict[str, str]) -> None:
        """Every proposal can be judged again from what is written down."""
        trace = run(
            target(), drafter=drafters["D"], gamma=4, temperature=5.0, max_new_tokens=80, seed=2
        )
        seen = set()
        for cycle in trace.cycles:
            assert len(cycle.proposals) == cycle.drafted
            for i, proposal in enumerate(cycle.proposals):
                seen.add(proposal.verdict)
                assert proposal.accept_probability == pytest.approx(
                    min(1.0, proposal.p / proposal.q), rel=1e-5
                )
                if proposal.verdict == "discarded":
                    assert proposal.u is None
                    continue
                assert proposal.u is not None
                assert (proposal.u * proposal.q < proposal.p) == (proposal.verdict == "accepted")
                assert proposal.confidence == proposal.q_top[0][2]
                assert proposal.overlap is not None
                assert 0 < proposal.overlap <= 1.0001
                if proposal.verdict == "rejected":
                    assert cycle.emitted[i].source == "resampled"
                    assert cycle.emitted[i].top == proposal.residual_top
            sources = [e.source for e in cycle.emitted]
            assert sources[: cycle.accepted] == ["accepted"] * cycle.accepted
        assert seen == {"accepted", "rejected", "discarded"}
        assert all(len(c.proposals[0].p_top) == 8 for c in trace.cycles if c.proposals)

    def test_greedy_needs_no_dice(self, drafters: dict[str, str]) -> None:
        trace = run(target(), drafter=drafters["D"], gamma=4)
        proposals = [p for c in trace.cycles for p in c.proposals]
        assert proposals
        assert {p.u for p in proposals} == {None}
        assert {p.p for p in proposals} <= {0.0, 1.0}
        assert {p.q for p in proposals} == {1.0}
        for p in proposals:
            if p.verdict == "accepted":
                assert p.token == p.p_top[0][0], "the target's first choice"

    def test_plain_decoding_draws_every_token_from_the_target(self) -> None:
        trace = run(target())
        assert {e.source for c in trace.cycles for e in c.emitted} == {"target"}
        assert all(c.drafted == 0 and len(c.emitted) == 1 for c in trace.cycles)

    def test_a_trace_survives_json(self) -> None:
        trace = run(target(), drafter="early-exit:2", temperature=1.0)
        assert parse("".join(map(line, trace.events)).encode()) == trace
