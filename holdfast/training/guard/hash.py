"""8-byte hash of a rank's state: one read of memory, on its device.

It is the wrapping sum of all 8-byte words. Words of one tensor have the same weight; tensors differ. One flipped bit
always changes the sum. Two flips within one tensor that cancel out are not detected, which is too improbable to matter.
"""

from collections.abc import Iterable, Iterator

import torch
from torch.distributed.tensor import DTensor, Shard

WORD = 8
ODD = 0x9E3779B97F4A7C15  # odd: a product with an odd number is zero only for zero
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
WHOLE = "whole"

Named = tuple[str, torch.Tensor]  # bucket, and its parts


def held(model: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> Iterator[Named]:
    """Parameters and optimizer state, each with the name of its shard: equal names must have equal bits."""
    for parameter in model.parameters():
        yield f"parameters {shard_of(parameter)}", parameter
    if optimizer is None:
        return
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    owned = [at for at, parameter in enumerate(parameters) if optimizer.state.get(parameter)]
    ours = "all" if len(owned) == len(parameters) else str(hash(tuple(owned)))  # ZeRO: each rank has some
    for at in owned:
        state = optimizer.state[parameters[at]]
        for name in sorted(state):
            if isinstance(state[name], torch.Tensor):
                yield f"optimizer of {ours} {shard_of(state[name])}", state[name]


def shard_of(tensor: torch.Tensor) -> str:
    """The piece of a distributed tensor that this rank holds; ranks along the other dimensions hold the same."""
    if not isinstance(tensor, DTensor):
        return WHOLE
    place = tensor.device_mesh.get_coordinate()
    if place is None:
        return WHOLE
    cut = [
        f"{at}:{where} of {tensor.device_mesh.size(at)}"
        for at, (where, kind) in enumerate(zip(place, tensor.placements, strict=True))
        if isinstance(kind, Shard)
    ]
    return ", ".join(cut) or WHOLE


def digests(tensors: Iterable[Named]) -> dict[str, int]:
    """One number per bucket. Waits for the device once, at the end."""
    sums: dict[str, list[torch.Tensor]] = {}
    for bucket, tensor in tensors:
        local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        sums.setdefault(bucket, []).append(word_sum(local.detach()))
    return {bucket: _mixed(parts) for bucket, parts in sums.items()}


def word_sum(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() == 0:
        return torch.zeros((), dtype=torch.int64, device=tensor.device)
    if tensor.numel() == 1 and tensor.element_size() in WORDS:  # the optimizer's counters, one per parameter
        return tensor.view(WORDS[tensor.element_size()]).to(torch.int64).reshape(())
    if _is_words(tensor):
        return tensor.view(torch.int64).sum()
    flat = _flat(tensor).view(torch.uint8)
    whole = flat.numel() // WORD * WORD
    total = flat[:whole].view(torch.int64).sum()
    if whole == flat.numel():
        return total
    shifts = torch.arange(flat.numel() - whole, device=flat.device) * 8
    return total + (flat[whole:].to(torch.int64) << shifts).sum()


def _is_words(tensor: torch.Tensor) -> bool:
    """Whether the tensor can be read as words: contiguous, aligned, in rows of whole words. Most can."""
    size = tensor.element_size()
    rows = tensor.shape[-1] * size % WORD == 0 and tensor.storage_offset() * size % WORD == 0
    return rows and not tensor.is_complex() and tensor.is_contiguous()


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in memory order, without a copy if they are contiguous and aligned."""
    if not tensor.is_contiguous():
        strides = tensor.stride()
        tensor = tensor.permute(sorted(range(tensor.dim()), key=lambda at: -strides[at]))
    flat = tensor.reshape(-1)
    return flat if flat.storage_offset() * flat.element_size() % WORD == 0 else flat.clone()


def _mixed(parts: list[torch.Tensor]) -> int:
    """Combines the sums; waits for the device once."""
    words: list[int] = torch.stack([part.to(parts[0].device) for part in parts]).tolist()
    total = sum(word * pow(ODD, at, 1 << 64) for at, word in enumerate(words, 1)) % (1 << 64)
    return total - (1 << 64) if total >= 1 << 63 else total
