"""The cycle: draft → verify → commit. A run is a generator of events.

    prefill        the target passes over the prompt and gives the first token
    repeat         the drafter proposes up to γ tokens
                   the target passes over the last token and all proposals at once
                   the rule keeps some and adds one; the caches roll back to what was kept
    until          end of text, a stop string, the budget, the context's end, or Stop

The clock runs only in here: nothing that a reader of the events does is in a timing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import torch

import specviz
from specviz import draft_length
from specviz.drafters import create, no_draft
from specviz.errors import UserError
from specviz.events import (
    CacheLengths,
    Candidate,
    Cycle,
    Emitted,
    Event,
    FinishReason,
    Prefilled,
    RunFinished,
    RunStarted,
    Seconds,
    Source,
    Verdict,
)
from specviz.recording import Recorder
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.stopwatch import Stopwatch
from specviz.runtime.token_text import TextStream
from specviz.sampling import Sampler
from specviz.settings import Settings
from specviz.verification import verify


def decode(
    target: LanguageModel,
    prompt: str,
    settings: Settings,
    *,
    run_id: str | None = None,
    record: bool = True,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Event]:
    """Answer a prompt, one event at a time.

    Args:
        target: the model whose distribution comes out.
        settings: the drafter, γ, and how to sample.
        run_id: made up unless given.
        record: whether cycles carry their proposals with dice and top lists.
        cancelled: asked before every pass of a model; ends the run when true.

    Yields:
        `run_started`, `prefilled`, one `cycle` each, `run_finished`.

    Raises:
        UserError: before the first event, if the run cannot be made.
    """
    run = _Run(target, prompt, settings, record=record, cancelled=cancelled)
    yield run.started(run_id or secrets.token_urlsafe(12))
    try:
        if run.budget > 0:
            yield run.prefill()
        while run.finish_reason is None:
            yield run.cycle()
    except _CancelledError:
        run.finish_reason = "cancelled"
    yield run.finished()


_Origin = tuple[Source, float | None, tuple[Candidate, ...]]
"""Where a token came from, its probability there, and the largest probabilities there."""


class _CancelledError(Exception):
    """Somebody pressed Stop."""


class _Run:
    """The state of one run: context, caches, generator, text."""

    def __init__(
        self,
        target: LanguageModel,
        prompt: str,
        settings: Settings,
        *,
        record: bool,
        cancelled: Callable[[], bool],
    ) -> None:
        def stop_if_cancelled() -> None:
            if cancelled():
                raise _CancelledError

        self.target = target
        self.prompt = prompt
        self.settings = settings
        prompt_ids = _admit(target, prompt, settings)
        self.context = torch.tensor(prompt_ids, device=target.device)
        self.prompt_length = len(prompt_ids)
        self.budget = min(settings.max_new_tokens, target.context_length - len(prompt_ids))
        self.model = target.open(before_pass=stop_if_cancelled)
        self.drafter = create(settings.drafter, target, self.model)
        self.draft_length = draft_length.create(settings)
        self.sampler = Sampler(
            settings,
            vocabulary_size=target.vocabulary_size,
            prompt_length=self.prompt_length,
            end_ids=target.end_ids,
            device=target.device,
        )
        self.recorder = Recorder(target.pieces, greedy=settings.greedy) if record else None
        self.stream = TextStream(target.tokenizer, settings.stop)
        self.text = ""
        self.token_ids: list[int] = []
        self.cycles = self.drafted = self.accepted = self.target_passes = 0
        self.seconds = 0.0
        self.finish_reason: FinishReason | None = "length" if self.budget == 0 else None

    def started(self, run_id: str) -> RunStarted:
        return RunStarted(
            run_id=run_id,
            started_at=datetime.now(UTC).isoformat(timespec="seconds"),
            prompt=self.prompt,
            prompt_tokens=self.prompt_length,
            target=self.target.id,
            drafter=self.drafter.name,
            settings=self.settings,
            device=str(self.target.device),
            dtype=str(self.target.dtype).removeprefix("torch."),
            versions={
                "specviz": specviz.__version__,
                "torch": torch.__version__,
                "transformers": version("transformers"),
            },
            tokenizer_fingerprint=self.target.tokenizer_fingerprint,
            vocabulary_size=self.target.vocabulary_size,
        )

    @torch.inference_mode()
    def prefill(self) -> Prefilled:
        """The target's pass over the prompt, and the first token."""
        clock = Stopwatch(self.target.device)
        prompt_pass = self.model.forward(
            self.context, keep=1, hidden_states=self.drafter.reads_hidden_states
        )
        self.target_passes += 1
        scores = self.sampler.scores(self.context, prompt_pass.logits)
        p = self.sampler.distribution(scores)
        token = self.sampler.draw(p)
        self.context = torch.cat([self.context, token])
        top = self.recorder.top(scores, p)[0] if self.recorder else ()
        emitted = self._emit([int(token)], [("target", float(p[0, token]), top)])
        if self.finish_reason is None:
            self.drafter.begin(self.context, prompt_pass)
        clock.lap("prefill")
        seconds = sum(clock.seconds().values())
        self.seconds += seconds
        return Prefilled(emitted=emitted[0], seconds=seconds)

    @torch.inference_mode()
    def cycle(self) -> Cycle:
        """One draft, one verification pass, one commit."""
        clock = Stopwatch(self.target.device)
        committed = len(self.context)
        # The last token of the budget cannot be a proposal: the pass adds one to what it keeps.
        gamma = min(self.draft_length.choose(), self.budget - len(self.token_ids) - 1)
        draft = (
            self.drafter.propose(self.context, gamma, self.sampler)
            if gamma
            else no_draft(self.sampler, self.target.device)
        )
        drafted = len(draft)
        clock.lap("draft")

        sequence = torch.cat([self.context, draft.tokens])
        verify_pass = self.model.forward(
            sequence[self.model.length :], hidden_states=self.drafter.reads_hidden_states
        )
        self.target_passes += 1
        clock.lap("verify")

        scores = self.sampler.scores(sequence, verify_pass.logits)
        p = self.sampler.distribution(scores)
        u = self.sampler.uniform(drafted)
        verdict = verify(
            p[None], draft.q[None], draft.tokens[None], u[None], self.sampler.generator
        )
        # The one place where the host waits for the device: everything it must know, at once.
        head, tail = [verdict.accepted[0], verdict.token[0]], [draft.tokens]
        dice = [verdict.p[0], verdict.q[0], verdict.accept_probability[0], u]
        drawn = verdict.source[0, verdict.token[0]]
        read = torch.cat([x.double().reshape(-1) for x in (*head, drawn, *tail, *dice)]).tolist()
        clock.lap("sample")

        accepted, last, last_probability = int(read[0]), int(read[1]), read[2]
        proposed = [int(token) for token in read[3 : 3 + drafted]]
        columns = [read[3 + drafted * i : 3 + drafted * (i + 1)] for i in range(1, 5)]
        p_top: list[tuple[Candidate, ...]] = (
            self.recorder.top(scores, p) if self.recorder else [()] * (drafted + 1)
        )
        if not self.recorder:
            last_top: tuple[Candidate, ...] = ()
        elif accepted == drafted:
            last_top = p_top[drafted]
        else:
            last_top = self.recorder.top(scores[accepted : accepted + 1], verdict.source)[0]
        last_source: Source = (
            "target" if drafted == 0 else "bonus" if accepted == drafted else "resampled"
        )
        origins: list[_Origin] = [("accepted", None, ())] * accepted
        origins.append((last_source, last_probability, last_top))
        emitted = self._emit([*proposed[:accepted], last], origins)
        # What stands behind the text's end was tested, but is nobody's business any more.
        ended_early = len(emitted) <= accepted
        accepted = min(accepted, len(emitted))
        tested = accepted if ended_early else min(accepted + 1, drafted)
        verdicts = _verdicts(drafted, tested, accepted)

        before = self.model.length, self.drafter.cache_length
        kept = [token.token for token in emitted]
        self.context = torch.cat(
            [sequence[: committed + accepted], verdict.token[: len(kept) - accepted]]
        )
        self.model.roll_back(len(self.context) - 1)
        self.drafter.commit(self.context, accepted, verify_pass)
        proposals = (
            self.recorder.proposals(
                draft, proposed, p[:drafted], p_top, list(zip(*columns, strict=True)), verdicts
            )
            if self.recorder
            else ()
        )
        laps = clock.seconds()
        cycle = Cycle.model_construct(
            index=self.cycles,
            gamma=gamma,
            drafted=drafted,
            tested=tested,
            accepted=accepted,
            proposals=proposals,
            emitted=emitted,
            seconds=Seconds(
                draft=laps["draft"],
                verify=laps["verify"],
                sample=laps["sample"],
                bookkeeping=laps["rest"],
            ),
            cache=CacheLengths(
                target_before=before[0],
                target_after=self.model.length,
                drafter_before=before[1],
                drafter_after=self.drafter.cache_length,
            ),
        )
        self.draft_length.learn(cycle)
        self.cycles += 1
        self.drafted += drafted
        self.accepted += accepted
        self.seconds += cycle.seconds.total
        return cycle

    def finished(self) -> RunFinished:
        assert self.finish_reason is not None
        return RunFinished(
            reason=self.finish_reason,
            text=self.text + self.stream.finish(),
            token_ids=tuple(self.token_ids),
            cycles=self.cycles,
            drafted=self.drafted,
            accepted=self.accepted,
            target_passes=self.target_passes,
            seconds=self.seconds,
        )

    def _emit(self, tokens: Sequence[int], origins: Sequence[_Origin]) -> tuple[Emitted, ...]:
        """Add tokens to the text until it ends; what would come behind its end is left out."""
        emitted: list[Emitted] = []
        for token, (source, probability, top) in zip(tokens, origins, strict=True):
            self.token_ids.append(token)
            text = "" if token in self.target.end_ids else self.stream.push(token)
            self.finish_reason = self._reason_to_finish(token)
            if self.finish_reason is not None:
                text += self.stream.finish()
            self.text += text
            emitted.append(
                Emitted.model_construct(
                    token=token, text=text, source=source, probability=probability, top=top
                )
            )
            if self.finish_reason is not None:
                break
        return tuple(emitted)

    def _reason_to_finish(self, token: int) -> FinishReason | None:
        if token in self.target.end_ids:
            return "end_of_text"
        if self.stream.stopped:
            return "stop_string"
        if len(self.token_ids) == self.settings.max_new_tokens:
            return "length"
        if len(self.token_ids) == self.budget:
            return "context_full"
        return None


def _admit(target: LanguageModel, prompt: str, settings: Settings) -> list[int]:
    """The prompt's tokens, if there is room for an answer behind them.

    Raises:
        UserError: if the prompt, or a list of allowed tokens, leaves nothing to do.
    """
    ids = target.encode(prompt, raw=settings.raw)
    if len(ids) >= target.context_length:
        raise UserError(
            f"The prompt is {len(ids):,} tokens long and {target.id} reads at most "
            f"{target.context_length:,}: shorten it."
        )
    allowed = settings.allowed_token_ids
    if allowed is not None and not (
        allowed and all(0 <= token < target.vocabulary_size for token in allowed)
    ):
        raise UserError(
            f"Allowed token ids must be a list of ids from 0 to {target.vocabulary_size - 1}."
        )
    return ids


def _verdicts(drafted: int, tested: int, accepted: int) -> list[Verdict]:
    return [
        "accepted" if i < accepted else "rejected" if i < tested else "discarded"
        for i in range(drafted)
    ]
