"""Matrix products on a CPU with weights of 16 bits: for drafters, whose rounding the rule corrects.

A draft step multiplies a single row, and waits for its weights. In float16 they are half of what
float32 takes to read, and torch's product of that kind, which converts them as they arrive, takes
half the time for one row, and less for any number. What is multiplied and added stays float32.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class HalfLinear(nn.Module):
    """A linear layer that was trained, with its weights rounded to float16."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self._packed = torch.ops.quantized.linear_prepack_fp16(
            weight.detach().float(), None if bias is None else bias.detach().float()
        )

    def forward(self, input: Tensor) -> Tensor:
        """[..., in] → [..., out], in the precision of what came in."""
        product: Tensor = torch.ops.quantized.linear_dynamic_fp16(
            input.float().contiguous(), self._packed
        )
        return product.to(input.dtype)


def can_hold_half(device: torch.device) -> bool:
    """Whether torch has such products for this device."""
    return device.type == "cpu" and "fbgemm" in torch.backends.quantized.supported_engines


def hold_half(module: nn.Module) -> None:
    """Replace every linear layer inside a module on a CPU."""
    for name, child in list(module.named_modules()):
        if isinstance(child, nn.Linear):
            module.set_submodule(name, HalfLinear(child.weight, child.bias))
