"""Checks matrix products by their sums (algorithm-based fault tolerance), on some Linear layers and some steps.

The sum of a row of x·Wᵀ + b must be x·(sum of W's rows) + sum of b. Both are computed in FP32 on the device; what
remains is rounding, whose size follows from the values. An error that hides below this limit could also be rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.distributed.tensor import DTensor

WILD = 1e12  # from this multiple on, rounding cannot be the cause
MARGIN = 16.0  # multiple of the expected spread of rounding
SAMPLED_ROWS = 1024  # rows of one product that are checked; of a larger batch only these
FP8 = 6 * 2.0**-4  # e4m3 rounds an input by at most 2^-4 of it, and all products of the row with it


@dataclass(frozen=True, slots=True)
class ChecksumReading:
    name: str  # name of the layer
    shape: tuple[int, ...]  # shape of its weight: layers of one shape use one kernel
    error: float  # the largest error; 1: the most that rounding explains
    precision: str = ""  # coarsest type of the operands
    product: dict[str, Any] = field(default_factory=dict)  # the worst row: its factors, its result, and both sums


class Checksums:
    """Hooks on the layers; `begin` selects the layer for this step, `worst` returns the result."""

    def __init__(self, layers: Sequence[tuple[str, nn.Linear]]) -> None:
        self._layers = list(layers)
        self._chosen: nn.Linear | None = None
        self._name = ""
        self._next = 0
        self._seen: list[dict[str, torch.Tensor]] = []
        self._kind = torch.float32
        self.unknown = ""  # why a layer could not be checked
        self._hooks = [layer.register_forward_hook(self._sample) for _, layer in self._layers]

    def begin(self) -> None:
        """Selects the next layer for the coming step."""
        if self._layers:
            self._name, self._chosen = self._layers[self._next % len(self._layers)]
            self._next += 1

    def worst(self) -> ChecksumReading | None:
        """Result for the selected layer, None without one; waits for the device."""
        layer, seen = self._chosen, self._seen
        self._seen, self._chosen = [], None
        if layer is None or not seen:
            return None
        precision = "FP8" if may_be_fp8(layer, self._kind) else str(self._kind).removeprefix("torch.")
        worst = max(seen, key=lambda one: float(one["error"]))
        return ChecksumReading(self._name, tuple(layer.weight.shape), float(worst["error"]), precision, worst)

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()

    def _sample(self, layer: nn.Module, inputs: Any, output: Any) -> None:
        if layer is not self._chosen or not isinstance(layer, nn.Linear) or not isinstance(output, torch.Tensor):
            return
        if isinstance(layer.weight, DTensor):
            self.unknown = f"{self._name}: no rank holds the whole weight after the product, so its sum is unknown"
        else:
            with torch.no_grad(), torch.autocast(output.device.type, enabled=False):
                self._seen.append(worst_row(layer, inputs[0], output))
                self._kind = output.dtype


def linear_layers(model: nn.Module) -> list[tuple[str, nn.Linear]]:
    return [(name, part) for name, part in model.named_modules() if isinstance(part, nn.Linear)]


def worst_row(layer: nn.Linear, given: torch.Tensor, output: torch.Tensor) -> dict[str, torch.Tensor]:
    """The row with the largest difference of its two sums, and `error`, that difference relative to the most that
    rounding explains.

    All inputs for a second check stay on the device; nothing waits for them.
    """
    result = output.detach().reshape(-1, output.shape[-1])[:SAMPLED_ROWS].float()
    factor = given.detach().reshape(-1, given.shape[-1])[:SAMPLED_ROWS].float()
    weight = layer.weight.detach().float()
    sums = weight.sum(0)
    bias = layer.bias.detach().float().sum() if layer.bias is not None else torch.zeros((), device=weight.device)
    expected = factor @ sums + bias
    found = result.sum(-1)
    size = factor.norm(dim=-1) * weight.norm()
    # in FP64, because the norm of a row with one huge number must not become infinite and hide it
    spread = result.norm(dim=-1, dtype=torch.float64) + size
    allowed = MARGIN * (_precision(output, given) * spread + torch.finfo(torch.float32).tiny)
    if may_be_fp8(layer, output.dtype):
        allowed = allowed + FP8 * (factor * sums).norm(dim=-1)
    known = torch.isfinite(found) & torch.isfinite(expected)
    part = (found - expected).abs().double() / allowed
    part = torch.where(known, part, torch.zeros_like(part))
    part = torch.where(_out_of_nothing(layer, result, size, output.dtype), torch.full_like(part, WILD), part)
    row = part.argmax()
    return {
        "error": part[row], "row": row, "input": factor[row], "output": result[row], "weight_column_sums": sums,
        "bias_sum": bias, "expected_sum": expected[row], "found_sum": found[row], "allowed_difference": allowed[row],
    }  # fmt: skip


def error(layer: nn.Linear, given: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The largest difference of a row's two sums, relative to the most that rounding explains."""
    return worst_row(layer, given, output)["error"]


def may_be_fp8(layer: nn.Linear, output: torch.dtype) -> bool:
    """Whether the layer may compute in FP8: such layers take and return 16 bits, so only a custom forward or weight
    shows it."""
    plain = type(layer).forward is nn.Linear.forward and type(layer.weight) is nn.Parameter
    return not plain and output in (torch.bfloat16, torch.float16)


def _out_of_nothing(layer: nn.Linear, result: torch.Tensor, size: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """Rows with an infinite number or NaN whose factors are too small to produce one."""
    bias = layer.bias.detach().float().abs().max() if layer.bias is not None else 0.0
    return ~torch.isfinite(result).all(-1) & (size + bias < torch.finfo(kind).max)


def _precision(output: torch.Tensor, given: torch.Tensor) -> float:
    """Precision of the coarsest operand."""
    coarsest = max(torch.finfo(output.dtype).eps, torch.finfo(given.dtype).eps)
    if output.is_cuda and torch.backends.cuda.matmul.allow_tf32:
        return max(coarsest, 2.0**-10)
    return coarsest
