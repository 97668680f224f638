"""The default model's GGUF file turned into a folder that transformers loads in a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONVERTED_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
"""What a complete folder holds, at the least."""

_TOKENIZER_DONE = 0.3
_CONFIG_DONE = 0.55
_TENSORS_START = 0.85
"""Parts of the whole time, about. Reading the vocabulary, in pure Python, is most of each."""


def convert(gguf: Path, folder: Path, progress: Callable[[float], None]) -> None:
    """Store the model in `gguf` as float32 safetensors, with its tokenizer, in `folder`.

    float32 holds every value of a 4-bit block, so nothing is rounded a second time.

    Args:
        progress: called with the part that is done, from 0 to 1.
    """
    import torch
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # transformers reads this file's "smollm" splitting as GPT-2's, which keeps digits together.
    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    )
    progress(_TOKENIZER_DONE)
    config = AutoConfig.from_pretrained(gguf.parent, gguf_file=gguf.name)
    progress(_CONFIG_DONE)

    def tensors_progress(part: float) -> None:
        progress(_TENSORS_START + part * (1 - _TENSORS_START))

    with _reporting_to(tensors_progress):
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, config=config, gguf_file=gguf.name, dtype=torch.float32
        )
        # The weights are ordinary floats now: who loads them must not look for a dequantizer.
        del model.config.quantization_config
        vars(model).update(hf_quantizer=None, is_quantized=False)
        # The file's own name for the model ("Smollm2 135M 8k Lc100K …") says nothing to a reader.
        del model.config._model_name_or_path
        tokenizer.model_max_length = model.config.max_position_embeddings
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    progress(1.0)


@contextmanager
def _reporting_to(progress: Callable[[float], None]) -> Iterator[None]:
    """Send transformers' progress bars to `progress` instead of the terminal.

    Its switch for them does not reach the loop over a GGUF file's tensors.
    """
    from transformers import modeling_gguf_pytorch_utils as gguf_utils
    from transformers.utils import logging

    def counted(tensors: list[Any], **_: Any) -> Iterator[Any]:
        for done, tensor in enumerate(tensors):
            progress(done / len(tensors))
            yield tensor

    original, were_shown = gguf_utils.tqdm, logging.is_progress_bar_enabled()
    gguf_utils.tqdm = counted
    logging.disable_progress_bar()
    try:
        yield
    finally:
        gguf_utils.tqdm = original
        if were_shown:
            logging.enable_progress_bar()
