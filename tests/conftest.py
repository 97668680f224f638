"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from specviz.runtime import loading
from specviz.runtime.language_model import LanguageModel


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tiny tensors gain nothing from a second thread, and on a busy machine lose much."""
    torch.set_num_threads(1)


@pytest.fixture
def known_models(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, LanguageModel], None]:
    """Makes a model loadable under a name, as `model:NAME` asks for it."""

    def know(name: str, model: LanguageModel) -> None:
        dtype = str(model.dtype).removeprefix("torch.")
        monkeypatch.setitem(loading._loaded, (name, dtype, str(model.device)), model)

    return know
