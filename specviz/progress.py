"""Bars and spinners for long work, on standard error: standard output is for results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from specviz.runtime import embedded

_STAGES: dict[embedded.Stage, str] = {
    "wait": "Waiting for another specviz that is fetching the model",
    "download": "Downloading the default model (93 MB)",
    "unpack": "Unpacking it",
    "convert": "Converting it, once (about a minute)",
}


def fetch() -> None:
    """Fetch the default model if it is not there, with a bar that names the stage.

    Raises:
        UserError: as `embedded.fetch`.
    """
    if embedded.is_fetched():
        return
    console = Console(stderr=True)
    with _bar(console) as bar:
        task = bar.add_task(_STAGES["download"])

        def stage(stage: embedded.Stage) -> None:
            bar.update(task, description=_STAGES[stage])
            if not console.is_terminal:  # a log: no bar moves there
                console.print(f"{_STAGES[stage]} …")

        embedded.fetch(lambda done, total: bar.update(task, completed=done, total=total), stage)


@contextmanager
def steps(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar; gives the function to tell how many of how many steps are done."""
    with _bar(Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner, for work that cannot say how far it is."""
    with Console(stderr=True).status(Text(f"{what} …")):
        yield


def _bar(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
