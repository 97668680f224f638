"""Loading a model once, for everyone in the process."""

from __future__ import annotations

import threading

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from specviz.errors import UserError
from specviz.runtime.cpu_linear import speed_up_linear_layers
from specviz.runtime.language_model import LanguageModel
from specviz.runtime.registry import DEFAULT_TARGET, resolve

DTYPES = ("auto", "float32", "bfloat16", "float16")

_loaded: dict[tuple[str, str, str], LanguageModel] = {}
_loading = threading.Lock()


def load(target: str = DEFAULT_TARGET, dtype: str = "auto", device: str = "auto") -> LanguageModel:
    """A model and its tokenizer, ready to run; loaded at the first call, kept for the next.

    Args:
        target: a name that `python -m specviz models` lists, a local folder, or a Hugging
            Face id.
        dtype: one of `DTYPES`; `auto` is bfloat16 where the device is fast at it.
        device: as torch spells it; `auto` is a GPU if there is one.

    Raises:
        UserError: if it cannot be had or cannot be run, in one sentence.
    """
    device = _device(device)
    dtype = _dtype(dtype, device)
    key = (target, dtype, device)
    with _loading:
        if key not in _loaded:
            _loaded[key] = _load(target, dtype, device)
        return _loaded[key]


def fast_at_bfloat16(device: str) -> bool:
    """Whether the device multiplies bfloat16 matrices faster than float32 ones."""
    if device.startswith("cuda"):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())


def _device(device: str) -> str:
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise UserError(f"There is no device {device} here: choose cpu.")
    return device


def _dtype(dtype: str, device: str) -> str:
    if dtype not in DTYPES:
        raise UserError(f"There is no dtype “{dtype}”: choose {', '.join(DTYPES)}.")
    if dtype == "auto":
        return "bfloat16" if fast_at_bfloat16(device) else "float32"
    return dtype


def _load(target: str, dtype: str, device: str) -> LanguageModel:
    source = resolve(target)
    transformers_logging.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=getattr(torch, dtype), trust_remote_code=False
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise UserError(
            f"The model {target} cannot be loaded ({reason}): "
            "give the Hugging Face id or the folder of a causal language model."
        ) from error
    model.eval().to(torch.device(device))
    speed_up_linear_layers(model, multiplies_bfloat16=fast_at_bfloat16(device))
    return LanguageModel(target, model, tokenizer)
