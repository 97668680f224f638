"""What passes and drafts cost on this machine, and what the machine could do.

v(k) = T(k) / T(1), the target's pass over k tokens against one over a single token, says how
nearly free checking is; c, a draft step against T(1), how cheap guessing is. Bandwidth and
arithmetic rate of the device say why: a pass over few tokens waits for its weights to arrive.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from specviz.engine import decode
from specviz.errors import UserError
from specviz.machine import Machine, this_machine
from specviz.runtime.cache import roll_back, rollback_cache
from specviz.runtime.language_model import LanguageModel
from specviz.settings import PLAIN, Settings
from specviz.trace import Trace, abreast

PASS_LENGTHS = (*range(1, 17), 20, 24, 28, 32)
CONTEXT = 128
"""Tokens in the cache before each pass."""

_ROUNDS = 15
_DRAFTED = 4
"""Tokens of each draft that is timed."""
_DRAFT_TOKENS = 48
_PROMPT = "Write a story about a lighthouse keeper who finds a letter in a bottle."

_STREAMED_BYTES = 256 * 2**20
_MATRIX = {"cpu": 1024, "cuda": 8192}


class Spread(BaseModel):
    """A median and its quartiles."""

    model_config = ConfigDict(frozen=True)

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if len(values) == 1:
            return cls(median=values[0], low=values[0], high=values[0])
        low, median, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(median=median, low=low, high=high)


class PassCost(BaseModel):
    """The target's pass over k tokens."""

    model_config = ConfigDict(frozen=True)

    tokens: int
    """k"""
    seconds: Spread
    v: Spread
    """T(k) / T(1), of passes over one token just before and after."""
    bytes: int
    """Weights and cached keys and values that it reads."""
    operations: int
    """Multiplications and additions."""


class DraftCost(BaseModel):
    """A drafter's step."""

    model_config = ConfigDict(frozen=True)

    drafter: str
    seconds: Spread
    """A proposed token."""
    c: Spread
    """The same in units of T(1), of plain decoding's cycles between."""


class Costs(BaseModel):
    """Everything, measured in one go."""

    model_config = ConfigDict(frozen=True)

    machine: Machine
    v: tuple[PassCost, ...]
    c: tuple[DraftCost, ...]
    bandwidth_bytes_per_s: float
    flops_per_s: float


def measure_costs(
    target: LanguageModel,
    drafters: Sequence[str],
    *,
    lengths: Sequence[int] = PASS_LENGTHS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Costs:
    """Measure v, c and the device.

    Raises:
        UserError: for a drafter that does not fit.
    """
    total = _ROUNDS + len(drafters) + 2
    passes = measure_passes(target, lengths, progress=lambda done, _: progress(done, total))
    drafts = []
    for done, drafter in enumerate(drafters, start=_ROUNDS + 1):
        drafts.append(_measure_draft(target, drafter))
        progress(done, total)
    bandwidth = _bandwidth(target.device)
    progress(total - 1, total)
    flops = _arithmetic_rate(target.device, target.dtype)
    progress(total, total)
    return Costs(
        machine=this_machine(target),
        v=tuple(passes),
        c=tuple(drafts),
        bandwidth_bytes_per_s=bandwidth,
        flops_per_s=flops,
    )


def measure_passes(
    target: LanguageModel,
    lengths: Sequence[int],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[PassCost]:
    """T(k) and v(k) for 1 and each of `lengths`, in rounds that go through all of them.

    Before and after each pass one over a single token is timed: some machines change their speed
    within a round, and to all of them alike.
    """
    longer = sorted({*lengths} - {1})
    lengths = [1, *longer]
    seconds: dict[int, list[float]] = {k: [] for k in lengths}
    ratios: dict[int, list[float]] = {1: [1.0], **{k: [] for k in longer}}
    passes = TimedPasses(target, max(lengths))
    for done in range(_ROUNDS + 1):
        before = passes.seconds(1)
        taken = [before]
        for k in longer if done % 2 else reversed(longer):
            took, after = passes.seconds(k), passes.seconds(1)
            taken.append(after)
            if done:  # the first round warms up
                seconds[k].append(took)
                ratios[k].append(2 * took / (before + after))
            before = after
        if done:
            seconds[1] += taken
        progress(done, _ROUNDS)
    return [
        PassCost(
            tokens=k,
            seconds=Spread.of(seconds[k]),
            v=Spread.of(ratios[k]),
            bytes=_bytes_of_a_pass(target, k),
            operations=_operations_of_a_pass(target, k),
        )
        for k in lengths
    ]


class TimedPasses:
    """Passes of the target for B users, each behind `CONTEXT` tokens of theirs."""

    def __init__(self, target: LanguageModel, longest: int, batch: int = 1) -> None:
        tokens = torch.arange(CONTEXT + longest, device=target.device)
        self._tokens = (tokens % target.vocabulary_size).expand(batch, -1)
        self._model = target.model
        self._cache = rollback_cache(target.model.config)

    def seconds(self, k: int) -> float:
        """T(B, k): one pass over k tokens of each."""
        if not self._cache.get_seq_length():
            self._pass(0, CONTEXT)
        start = time.perf_counter()
        # Reading a value back makes the host wait for a GPU's work.
        self._pass(CONTEXT, CONTEXT + k)[0, 0, 0].item()
        took = time.perf_counter() - start
        roll_back(self._cache, CONTEXT)
        return took

    @torch.inference_mode()
    def _pass(self, start: int, end: int) -> Tensor:
        logits: Tensor = self._model(
            input_ids=self._tokens[:, start:end],
            cache=self._cache,
            use_cache=True,
            logits_to_keep=0 if start else 1,
        ).logits
        return logits


def beside_plain(
    target: LanguageModel,
    prompt: str,
    settings: Settings,
    *,
    record: bool,
    between: Callable[[], None] = lambda: None,
) -> tuple[Trace, Trace]:
    """A run and plain decoding of the same prompt, abreast."""
    plain = settings.model_copy(update={"drafter": PLAIN})
    runs = [decode(target, prompt, each, record=record) for each in (settings, plain)]
    ours, alone = abreast(runs, between)
    return ours, alone


def _measure_draft(target: LanguageModel, drafter: str) -> DraftCost:
    """From real cycles, with plain decoding's between."""
    settings = Settings(drafter=drafter, gamma=_DRAFTED, max_new_tokens=_DRAFT_TOKENS)
    ours, plain = beside_plain(target, _PROMPT, settings, record=False)
    steps = [cycle.seconds.draft / cycle.drafted for cycle in ours.cycles[1:] if cycle.drafted]
    if not steps:
        raise UserError(
            f"The drafter {drafter} proposes nothing, so it has no cost: choose another."
        )
    seconds = Spread.of(steps)
    single = Spread.of([cycle.seconds.verify for cycle in plain.cycles]).median
    return DraftCost(
        drafter=drafter,
        seconds=seconds,
        c=Spread(**{name: value / single for name, value in seconds}),
    )


def _bytes_of_a_pass(target: LanguageModel, tokens: int) -> int:
    weights = sum(p.numel() * p.element_size() for p in target.model.parameters())
    return weights + 2 * _cached_numbers(target) * (CONTEXT + tokens) * target.dtype.itemsize


def _operations_of_a_pass(target: LanguageModel, tokens: int) -> int:
    """Two a weight and token, and two a cached number of every query head."""
    config = target.model.config.get_text_config(decoder=True)
    heads = config.num_attention_heads
    shared = heads // (getattr(config, "num_key_value_heads", None) or heads)
    head: Any = target.model.get_output_embeddings()
    embeddings: Any = target.model.get_input_embeddings()
    weights = sum(parameter.numel() for parameter in target.model.parameters())
    if embeddings.weight is not head.weight:  # looked up, not multiplied
        weights -= embeddings.weight.numel()
    attention = 2 * _cached_numbers(target) * shared * (CONTEXT + tokens)
    return int(2 * tokens * (weights + attention))


def _cached_numbers(target: LanguageModel) -> int:
    """Numbers of the keys (or of the values) of one token, in all layers."""
    config = target.model.config.get_text_config(decoder=True)
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    return int(target.layers * (getattr(config, "num_key_value_heads", None) or heads) * width)


def _bandwidth(device: torch.device) -> float:
    """Bytes a second that the device reads from its memory."""
    data = torch.ones(_STREAMED_BYTES // 4, device=device)
    return _STREAMED_BYTES / _best(lambda: data.sum().item())


def _arithmetic_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Operations a second in a product of large matrices."""
    size = _MATRIX[device.type]
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    return 2 * size**3 / _best(lambda: (matrix @ matrix)[0, 0].item())


def _best(work: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of the fastest of some repeats: what the device can do at its best."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])
