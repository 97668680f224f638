"""What something was measured on."""

from __future__ import annotations

import platform

import torch
from pydantic import BaseModel, ConfigDict

from specviz.runtime.language_model import LanguageModel


class Machine(BaseModel):
    """The device, and the model on it."""

    model_config = ConfigDict(frozen=True)

    target: str
    device: str
    device_name: str
    dtype: str
    threads: int
    torch: str
    python: str


def this_machine(target: LanguageModel) -> Machine:
    return Machine(
        target=target.id,
        device=str(target.device),
        device_name=_device_name(target.device),
        dtype=str(target.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        torch=torch.__version__,
        python=platform.python_version(),
    )


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()
