"""What a server's passes cost with several users at once, and what a drafter's guesses come to.

T(B, k): a pass over k tokens for each of B users, measured. Of the drafter: c, and for each
cycle of recorded runs how many of its guesses were kept and how sure it was of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from pydantic import BaseModel, ConfigDict

from specviz.costs import CONTEXT, Spread
from specviz.engine import decode
from specviz.events import Cycle
from specviz.load import Draft, LoadCosts
from specviz.machine import Machine, this_machine
from specviz.metrics import draft_cost, judged, speedup, summarize
from specviz.runtime.cache import roll_back, rollback_cache
from specviz.runtime.language_model import LanguageModel
from specviz.settings import Settings
from specviz.trace import Trace, collect

BATCHES = (1, 2, 4, 8, 16)
LENGTHS = (1, 2, 3, 5, 9)
LONGEST = 8
"""γ of the recorded runs; shorter drafts are read off them."""
_ROUNDS = 5


class MeasuredLoad(BaseModel):
    """Everything that a simulation needs, measured in one go."""

    model_config = ConfigDict(frozen=True)

    machine: Machine
    drafter: str
    costs: LoadCosts
    speedup: float
    """Of the recorded runs, γ = `LONGEST`, one user: what a simulation of one must reproduce."""


def measure_load(
    target: LanguageModel,
    drafter: str,
    prompts: Sequence[str],
    *,
    batches: Sequence[int] = BATCHES,
    max_new_tokens: int = 64,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> MeasuredLoad:
    """Measure batched passes, and record a drafter on some prompts.

    Raises:
        UserError: for a drafter that does not fit.
    """
    total = 2 * len(prompts) + (_ROUNDS + 1) * len(batches)
    settings = Settings(drafter=drafter, gamma=LONGEST, max_new_tokens=max_new_tokens)
    ours: list[Trace] = []
    plain: list[Trace] = []
    for prompt in prompts:
        for name, traces in ((drafter, ours), ("none", plain)):
            chosen = settings.model_copy(update={"drafter": name})
            traces.append(collect(decode(target, prompt, chosen)))
            progress(len(ours) + len(plain), total)
    done = 2 * len(prompts)
    passes = []
    for batch in batches:

        def report(rounds: int, done: int = done) -> None:
            progress(done + rounds, total)

        passes.append(_measure_batch(target, batch, report))
        done += _ROUNDS + 1
    with_drafter, alone = summarize(*ours), summarize(*plain)
    return MeasuredLoad(
        machine=this_machine(target),
        drafter=drafter,
        costs=LoadCosts(
            batches=tuple(batches),
            lengths=LENGTHS,
            seconds=tuple(passes),
            draft_cost=draft_cost(with_drafter, alone),
            overhead=alone.overhead,
            drafting_overhead=with_drafter.overhead,
            drafts=tuple(_draft(cycle) for trace in ours for cycle in trace.cycles),
        ),
        speedup=speedup(with_drafter, alone) or 1.0,
    )


def _draft(cycle: Cycle) -> Draft:
    """A cycle's guesses that could have been kept, and what became of them."""
    sure, confidence = 1.0, []
    for proposal in cycle.proposals[: judged(cycle)]:
        sure *= 1.0 if proposal.confidence is None else proposal.confidence
        confidence.append(max(sure, 1e-9))
    return Draft(accepted=cycle.accepted, confidence=tuple(confidence))


@torch.inference_mode()
def _measure_batch(
    target: LanguageModel, batch: int, report: Callable[[int], None]
) -> tuple[float, ...]:
    """T(B, k) for each of `LENGTHS`: seconds, the median of some rounds."""
    tokens = torch.arange(CONTEXT + max(LENGTHS), device=target.device) % target.vocabulary_size
    tokens = tokens.expand(batch, -1)
    cache = rollback_cache(target.model.config)

    def run(part: torch.Tensor) -> float:
        start = time.perf_counter()
        logits = target.model(
            input_ids=part, cache=cache, use_cache=True, logits_to_keep=max(LENGTHS)
        ).logits
        logits[0, 0, 0].item()  # reading a value back makes the host wait for a GPU's work
        return time.perf_counter() - start

    run(tokens[:, :CONTEXT])
    seconds: dict[int, list[float]] = {k: [] for k in LENGTHS}
    for rounds in range(_ROUNDS + 1):
        for k in LENGTHS if rounds % 2 else reversed(LENGTHS):
            took = run(tokens[:, CONTEXT : CONTEXT + k])
            roll_back(cache, CONTEXT)
            if rounds:  # the first round warms up
                seconds[k].append(took)
        report(rounds + 1)
    return tuple(Spread.of(seconds[k]).median for k in LENGTHS)
