"""How well the token stream keeps up: `python -m tests.browser.measure_stream`.

A synthetic race of 2,000 tokens is sent at 50 events a second to a page in Chromium. Measured
are the frames that were painted, the time from the server's sending an event to the paint that
shows it, the bytes an event took, and how long the playhead takes from one end to the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.table import Table

from tests.browser.conftest import CHROMIUM_FLAGS, chromium
from tests.browser.synthetic import LaneName, SyntheticJob, SyntheticRun, numbered, serving

WATCH = """() => {
  const root = document.querySelector("#host").shadowRoot;
  window.painted = [];
  window.frames = [];
  window.longTasks = [];
  const channel = new MessageChannel();
  let waiting = [];
  const known = new WeakSet();
  const isNew = (node) => node.classList?.contains("pass") && !known.has(node) && known.add(node);
  // A message posted in a frame's callbacks is handled after that frame's paint.
  channel.port1.onmessage = () => {
    const now = performance.timeOrigin + performance.now();
    for (const node of waiting) {
      const lane = node.closest("[data-lane]").dataset.lane;
      window.painted.push([lane, Number(node.dataset.pass), now]);
    }
    waiting = [];
  };
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      waiting.push(...[...addedNodes].filter(isNew));
    if (waiting.length) channel.port2.postMessage(null);
  }).observe(root, { subtree: true, childList: true });
  const frame = (now) => { window.frames.push(now); requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
  const tasks = (list) => window.longTasks.push(...list.getEntries().map((task) => task.duration));
  new PerformanceObserver(tasks).observe({ entryTypes: ["longtask"] });
}"""

SCRUB = """() => {
  const root = document.querySelector("#host").shadowRoot;
  const scrubber = root.querySelector(".scrubber");
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return (async () => {
    const times = [];
    for (const share of [0, 1, 0.5, 0.25, 0.75, 0.1, 0.9, 0.5, 0.51]) {
      const began = performance.now();
      scrubber.value = Math.round(share * scrubber.max);
      scrubber.dispatchEvent(new Event("input"));
      await painted();
      times.push(performance.now() - began);
    }
    return times;
  })();
}"""


def measure(tokens: int, rate: float, lanes: list[LaneName]) -> dict[str, Any]:
    """All figures of one run."""
    run = SyntheticRun(tokens=tokens)
    messages = numbered({lane: run.events(lane) for lane in lanes})
    job = SyntheticJob(messages)
    with serving() as server, sync_playwright() as playwright:
        server.add("run", job)
        browser = playwright.chromium.launch(executable_path=chromium(), args=CHROMIUM_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{server.url}/?job=run")
        page.wait_for_selector("body[data-mounted]")
        page.wait_for_function("window.Plotly")
        page.evaluate(WATCH)
        job.rate = rate
        page.wait_for_selector(
            ".specviz[data-phase=finished]", timeout=1000 * (len(messages) / rate + 60)
        )
        figures = _figures(page, job)
        jumps = page.evaluate(SCRUB)
        figures["scrub_ms_p50"] = statistics.median(jumps)
        figures["scrub_ms_max"] = max(jumps)
        browser.close()
    return {"tokens": tokens, "rate": rate, "lanes": lanes, "events": len(messages), **figures}


def _figures(page: Page, job: SyntheticJob) -> dict[str, Any]:
    delays = [1000 * (seen / 1000 - sent) for seen, sent in _seen_and_sent(page, job)]
    frames = page.evaluate("window.frames")
    per_second = [0] * (int((frames[-1] - frames[0]) / 1000) + 1)
    for moment in frames:
        per_second[int((moment - frames[0]) / 1000)] += 1
    whole_seconds = per_second[:-1]
    cycles = [
        len(json.dumps(message).encode())
        for message in job.messages
        if message.get("lane") == job.messages[1]["lane"] and message["event"]["type"] == "cycle"
    ]
    quarter = len(cycles) // 4
    long_tasks = page.evaluate("window.longTasks")
    return {
        "frames_per_s": len(frames) / ((frames[-1] - frames[0]) / 1000),
        "frames_per_s_worst_second": min(whole_seconds),
        "frames_per_s_last_quarter": statistics.mean(whole_seconds[-len(whole_seconds) // 4 :]),
        "event_to_paint_ms_p50": statistics.median(delays),
        "event_to_paint_ms_p95": statistics.quantiles(delays, n=20)[-1],
        "event_to_paint_ms_max": max(delays),
        "events_painted": len(delays),
        "long_tasks": len(long_tasks),
        "long_tasks_ms": sum(long_tasks),
        "bytes_per_cycle_first_quarter": statistics.mean(cycles[:quarter]),
        "bytes_per_cycle_last_quarter": statistics.mean(cycles[-quarter:]),
        "bytes": sum(job.bytes_sent),
    }


def _seen_and_sent(page: Page, job: SyntheticJob) -> list[tuple[float, float]]:
    """For every pass: when it was painted, in milliseconds, and sent, in seconds."""
    sent: dict[tuple[str, int], float] = {}
    passes: dict[str, int] = {}
    for message in job.messages:
        if message.get("event", {}).get("type") not in ("prefilled", "cycle"):
            continue
        lane = message["lane"]
        number = passes.get(lane, 0)
        passes[lane] = number + 1
        sent[lane, number] = job.sent_at[message["seq"]]
    painted = page.evaluate("window.painted")
    return [(seen, sent[lane, number]) for lane, number, seen in painted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--rate", type=float, default=50.0, help="events a second")
    parser.add_argument("--lane", choices=["both", "speculative", "plain"], default="both")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    lanes: list[LaneName] = ["speculative", "plain"] if options.lane == "both" else [options.lane]
    figures = measure(options.tokens, options.rate, lanes)
    table = Table("figure", "value", title="The token stream, synthetic events")
    for name, value in figures.items():
        table.add_row(name, f"{value:.1f}" if isinstance(value, float) else str(value))
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
