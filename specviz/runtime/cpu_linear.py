"""Matrix products on a CPU, done well for as many rows as a pass has tokens.

torch's own way is slow in two places, both measured on processors with AVX2:

- Float32, 2 to 32 rows, as a verification pass has: the BLAS first rearranges the large matrix,
  as if it were the small operand, and a pass over 2 to 5 tokens costs twice as much as one over
  a single token. With the operands exchanged, y = (W xᵀ)ᵀ, the matrix is read once, and such a
  pass costs little more than one over a single token.
- Bfloat16 where the processor cannot multiply it: every row costs the conversion of the whole
  matrix anew. Converted once, a prompt's pass takes a fifth of the time.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

FEW_ROWS = range(2, 33)
"""With more rows in float32 the two ways cost the same."""

MANY_ROWS = 8
"""From so many rows on one conversion is cheaper than one a row."""


class Float32Linear(nn.Linear):
    """Exchanges the operands for a few rows."""

    def forward(self, input: Tensor) -> Tensor:
        rows = input.numel() // self.in_features
        if rows not in FEW_ROWS:
            return super().forward(input)
        columns = input.reshape(rows, self.in_features).t()
        if self.bias is None:
            product = torch.mm(self.weight, columns)
        else:
            product = torch.addmm(self.bias[:, None], self.weight, columns)
        return product.t().contiguous().view(*input.shape[:-1], self.out_features)


class Bfloat16Linear(nn.Linear):
    """Multiplies many rows in float32, and rounds the result."""

    def forward(self, input: Tensor) -> Tensor:
        if input.numel() // self.in_features < MANY_ROWS:
            return super().forward(input)
        bias = None if self.bias is None else self.bias.float()
        product = nn.functional.linear(input.float(), self.weight.float(), bias)
        return product.to(input.dtype)


def speed_up_linear_layers(model: nn.Module, *, multiplies_bfloat16: bool) -> None:
    """Let every linear layer of a model on a CPU do so; on a GPU nothing changes."""
    for module in model.modules():
        if type(module) is not nn.Linear or module.weight.device.type != "cpu":
            continue
        if module.weight.dtype == torch.float32:
            module.__class__ = Float32Linear
        elif module.weight.dtype == torch.bfloat16 and not multiplies_bfloat16:
            module.__class__ = Bfloat16Linear
