"""Products with weights of 16 bits."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from specviz.runtime.half_linear import HalfLinear, can_hold_half, hold_half
from tests.tiny import tiny

pytestmark = pytest.mark.skipif(
    not can_hold_half(torch.device("cpu")), reason="torch has such products for x86 only"
)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(1,), (2, 3), (40,), (0,)])
def test_it_equals_a_linear_layer_with_rounded_weights(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Linear(24, 40, bias=bias)
    half = HalfLinear(plain.weight, plain.bias)
    with torch.no_grad():
        plain.weight.copy_(plain.weight.half())
        if bias:
            plain.bias.copy_(plain.bias.half())
    x = torch.randn(*shape, 24)
    assert half(x).shape == (*shape, 40)
    assert torch.allclose(half(x), plain(x), atol=1e-5)
    assert half(x.bfloat16()).dtype == torch.bfloat16


def test_every_linear_layer_of_a_model_is_replaced_and_it_says_the_same() -> None:
    model = copy.deepcopy(tiny().model)
    before = model(torch.tensor([[1, 2, 3]])).logits
    hold_half(model)
    assert not any(isinstance(module, nn.Linear) for module in model.modules())
    after = model(torch.tensor([[1, 2, 3]])).logits
    assert not torch.equal(after, before)
    assert torch.allclose(after, before, atol=5e-3)
