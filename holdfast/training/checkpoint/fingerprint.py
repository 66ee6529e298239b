"""Fingerprints of batches and data sets, to recognise them after a load."""

from itertools import islice
from typing import Any

import numpy as np
import torch
import xxhash
from torch.utils.data import IterableDataset, Subset

FINGERPRINT_BYTES = 1 << 16  # bytes of each tensor: enough to tell two batches apart, cheap at every step


def fingerprint(value: object) -> str:
    """A hash of a batch, or of its first bytes if it is large; "" for values that cannot be hashed."""
    digest = xxhash.xxh3_64()
    return digest.hexdigest() if _feed(value, digest, 0) else ""


def _feed(value: object, digest: Any, depth: int) -> bool:
    if depth > 8:
        return False
    if isinstance(value, torch.Tensor):
        flat = value.detach().reshape(-1)[: FINGERPRINT_BYTES // max(value.element_size(), 1)]
        digest.update(repr((value.dtype, tuple(value.shape))).encode())
        if not value.is_cuda:  # never waits for a GPU
            digest.update(flat.contiguous().view(torch.uint8).numpy().tobytes())
        return True
    if isinstance(value, np.ndarray):
        digest.update(value.tobytes()[:FINGERPRINT_BYTES])
        return True
    if isinstance(value, dict):
        return all([_feed(key, digest, depth + 1) and _feed(one, digest, depth + 1) for key, one in value.items()])
    if isinstance(value, list | tuple):
        return all([_feed(one, digest, depth + 1) for one in value])
    if value is None or isinstance(value, str | bytes | int | float | bool):
        digest.update(repr(value).encode())
        return True
    return False


def data_fingerprint(loader: Any) -> str:
    """A hash of the samples that the loader can reach: their number, and the selection of a Subset; "" for a stream."""
    data: Any = getattr(loader, "dataset", None)
    if isinstance(data, IterableDataset) or not hasattr(data, "__len__"):
        return ""
    parts: list[object] = [len(data)]
    while isinstance(data, Subset):
        parts.append([len(data.indices), list(map(int, islice(data.indices, FINGERPRINT_BYTES)))])
        data = data.dataset
    return fingerprint(parts)
