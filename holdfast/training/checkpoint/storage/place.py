"""Where a shard lies in storage; known without torch."""

from pathlib import Path

INDEX = "holdfast.index"


def rank_folder(folder: Path, step: int, rank: int) -> Path:
    return folder / f"step-{step:08}" / f"rank-{rank:05}"
