"""However it is multiplied, the product is the same."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from specviz.runtime.cpu_linear import Bfloat16Linear, Float32Linear, speed_up_linear_layers
from tests.tiny import tiny

SHAPES = [(1,), (2,), (1, 2), (1, 5), (3, 4), (32,), (40,), (0,)]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_it_equals_a_linear_layer(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    plain = nn.Linear(24, 40, bias=bias)
    x = torch.randn(*shape, 24)
    expected = plain(x)
    exchanged = Float32Linear(24, 40, bias=bias)
    exchanged.load_state_dict(plain.state_dict())
    assert exchanged(x).shape == expected.shape
    assert torch.allclose(exchanged(x), expected, atol=1e-6)
    assert exchanged(x).is_contiguous()

    converted = Bfloat16Linear(24, 40, bias=bias, dtype=torch.bfloat16)
    converted.load_state_dict(plain.state_dict())
    product = converted(x.bfloat16())
    assert product.dtype == torch.bfloat16
    assert torch.allclose(product.float(), plain.bfloat16()(x.bfloat16()).float(), atol=0.02)
    assert torch.allclose(product.float(), expected, atol=0.05)


def kinds(model: nn.Module) -> set[type]:
    return {type(module) for module in model.modules() if isinstance(module, nn.Linear)}


def test_which_layers_are_changed() -> None:
    model = tiny().model
    before = model(torch.tensor([[1, 2, 3]])).logits
    speed_up_linear_layers(model, multiplies_bfloat16=False)
    assert kinds(model) == {Float32Linear}
    assert torch.allclose(model(torch.tensor([[1, 2, 3]])).logits, before, atol=1e-4)

    for able, kind in ((True, nn.Linear), (False, Bfloat16Linear)):
        half = tiny().model.bfloat16()
        speed_up_linear_layers(half, multiplies_bfloat16=able)
        assert kinds(half) == {kind}
