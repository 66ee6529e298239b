"""8-byte hash of a rank's state: one read of memory, on its device.

The sum of all 8-byte words, wrapping; words of one tensor weigh the same, tensors differ. One flipped bit always gives
another number. Two flips that cancel each other within one tensor would not, and need not be feared.
"""

from collections.abc import Iterable, Iterator

import torch
from torch.distributed.tensor import DTensor, Shard

WORD = 8
ODD = 0x9E3779B97F4A7C15  # odd: times an odd number nothing but zero becomes zero
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
WHOLE = "whole"

Named = tuple[str, torch.Tensor]  # which bucket, and what belongs into it


def held(model: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> Iterator[Named]:
    """Parameters and optimizer memory, each with the name of the shard it is: equal names must be equal bits."""
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
    """Which piece this rank holds of a distributed tensor; ranks along the other dimensions hold the same."""
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
    """One number per bucket. The device is waited for once, at the end."""
    sums: dict[str, list[torch.Tensor]] = {}
    for bucket, tensor in tensors:
        local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
        sums.setdefault(bucket, []).append(word_sum(local.detach()))
    return {bucket: _mixed(parts) for bucket, parts in sums.items()}


def word_sum(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.numel() == 0:
        return torch.zeros((), dtype=torch.int64, device=tensor.device)
    if tensor.numel() == 1 and tensor.element_size() in WORDS:  # the optimizer's counters, one for each parameter
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
    """Most tensors can be read as they are: in order, from a whole word on, in rows of whole words."""
    size = tensor.element_size()
    rows = tensor.shape[-1] * size % WORD == 0 and tensor.storage_offset() * size % WORD == 0
    return rows and not tensor.is_complex() and tensor.is_contiguous()


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements in the order of memory, without a copy where they lie together and start at a whole word."""
    if not tensor.is_contiguous():
        strides = tensor.stride()
        tensor = tensor.permute(sorted(range(tensor.dim()), key=lambda at: -strides[at]))
    flat = tensor.reshape(-1)
    return flat if flat.storage_offset() * flat.element_size() % WORD == 0 else flat.clone()


def _mixed(parts: list[torch.Tensor]) -> int:
    """Waits for the device, once."""
    words: list[int] = torch.stack([part.to(parts[0].device) for part in parts]).tolist()
    total = sum(word * pow(ODD, at, 1 << 64) for at, word in enumerate(words, 1)) % (1 << 64)
    return total - (1 << 64) if total >= 1 << 63 else total
