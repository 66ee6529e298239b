"""Shared code of the small examples: options, a kill on request, and a fingerprint of the final state."""

import argparse
import json
import os
import signal
from pathlib import Path

import torch
import xxhash


def arguments(description: str | None) -> argparse.Namespace:
    return parser(description).parse_args()


def parser(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", required=True, help="the job's folder; on several nodes one that all of them share")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--replicas", type=int, default=1, help="nodes that hold each copy; 2 survives the loss of one")
    parser.add_argument("--die-at", type=int, default=0, help="kill this process after so many steps, to try a restart")
    return parser


def maybe_die(options: argparse.Namespace, step: int) -> None:
    if step == options.die_at:
        os.kill(os.getpid(), signal.SIGKILL)


def finish(options: argparse.Namespace, model: torch.nn.Module, step: int) -> None:
    digest = xxhash.xxh3_128()
    for tensor in model.state_dict().values():
        tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    result = {"step": step, "fingerprint": digest.hexdigest()}
    (Path(options.dir) / "result.json").write_text(json.dumps(result) + "\n")
    print(json.dumps(result))
