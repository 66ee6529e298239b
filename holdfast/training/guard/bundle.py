"""Evidence bundle of a finding: one JSON file for the device vendor."""

import json
import logging
import math
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from holdfast.training.checkpoint.keeper.site import node_name
from holdfast.training.guard.finding import GuardFinding

LOG = logging.getLogger("holdfast.guard")


def write(folder: Path, finding: GuardFinding, rank: int, device: torch.device, product: dict[str, Any] | None) -> None:
    """Writes the evidence. A failure to write it is logged, and training continues."""
    name = f"step-{finding.step:08d}.rank-{rank:05d}.{str(finding.kind).replace(' ', '-')}.json"
    about = {
        **asdict(finding),
        "sentence": finding.sentence(),
        "rank": rank,
        "node": node_name(),
        "pid": os.getpid(),
        "device": describe(device),
        "torch": torch.__version__,
        "product": product,
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        beside = folder / f"{name}.part"
        beside.write_text(json.dumps(plain(about)) + "\n")
        beside.rename(folder / name)
    except OSError as error:
        LOG.warning("evidence of step %d was not written: %s", finding.step, error)


def describe(device: torch.device) -> dict[str, Any]:
    if device.type != "cuda":
        return {"type": device.type, "name": platform.processor() or platform.machine()}
    properties = torch.cuda.get_device_properties(device)
    known = {name: str(getattr(properties, name)) for name in ("uuid", "pci_bus_id") if hasattr(properties, name)}
    return {"type": "cuda", "index": device.index, "name": properties.name, **known}


def plain(value: Any) -> Any:
    """Values for JSON, in which infinity and NaN become text."""
    if isinstance(value, torch.Tensor):
        return plain(value.detach().double().cpu().tolist())
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
