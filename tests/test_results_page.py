"""The document of measurements: that it says what was measured."""

from __future__ import annotations

from scripts.results import _of_each, page
from specviz.bench import Prompt
from tests.grid_by_hand import PLAIN, grid, row

RESULT = grid(
    PLAIN,
    row("mtp", 2, 1.5, (0.7, 0.5), predicted_speedup=1.65, by_category={"math": 1.8, "qa": 1.2}),
    row("mtp", 4, 1.3, (0.7, 0.5, 0.4), predicted_speedup=1.3, mean_acceptance_length=2.25),
    row("lookup", 2, 1.1, predicted_speedup=None),
    row("lookup", 4, 1.0, (0.9,)),
)


def test_the_page_by_hand() -> None:
    text = page([RESULT], "some.jsonl")
    assert "toy in float32 on abacus (cpu), 2 threads" in text
    assert "## Greedy" in text
    assert "| `mtp` | **1.50** (1.65) | 1.30 (1.30) |" in text
    assert "| `lookup` | 1.10 (–) | 1.00 (1.00) |" in text
    assert "Predictions are off by 3 % on average, most for `mtp` at γ = 2" in text
    assert "`mtp` at γ = 2: 1.50× (1.35 to 1.65" in text
    assert "math 1.80×, qa 1.20×." in text
    assert "| `mtp` | 0.050 | 70 % | 50 % | 40 % | – | 2.25 |" in text
    assert "v(2) = 1.10" in text
    assert "the prompts are of `some.jsonl`" in text


def test_so_many_prompts_of_each_category() -> None:
    prompts = [Prompt(prompt=str(n), category="ab"[n % 2]) for n in range(6)]
    assert [prompt.prompt for prompt in _of_each(prompts, 2)] == ["0", "2", "1", "3"]
    assert _of_each(prompts, 0) == prompts
