"""Starts a training script on this node and keeps its processes when one of them dies.

    holdfast run -- python -m holdfast.training.launch --nproc-per-node 8 train.py --dir /checkpoints/llama

It accepts the torchrun options listed here, and their PET_ variables. docs/recovery.md lists the failures that it
recovers from.
"""

import argparse
import os
import sys
from pathlib import Path

from holdfast.config.printable import printable
from holdfast.training.launch.launcher import Launcher, Options
from holdfast.training.launch.nodes import LauncherNodes

USAGE_ERROR = 64


def main() -> int:
    given = _parse()
    if not Path(given.script).is_file():
        sys.stderr.write(f"holdfast: {given.script}: no such file; expected a Python script\n")
        return USAGE_ERROR
    options = Options(
        command=(given.script, *given.arguments), ranks=given.nproc_per_node, standbys=given.standbys,
        leave_seconds=given.leave_seconds,
    )  # fmt: skip
    nodes = LauncherNodes(
        given.nnodes, given.node_rank, given.master_addr, given.master_port if given.nnodes > 1 else 0
    )
    return Launcher(options, nodes, _notify).run()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m holdfast.training.launch", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--nproc-per-node", "--nproc_per_node", default=_pet("NPROC_PER_NODE", "1"), type=int, metavar="N"
    )
    parser.add_argument("--nnodes", default=_pet("NNODES", "1"), type=int, metavar="N")
    parser.add_argument("--node-rank", "--node_rank", default=_pet("NODE_RANK", "0"), type=int, metavar="N")
    parser.add_argument("--master-addr", "--master_addr", default=_pet("MASTER_ADDR", "127.0.0.1"))
    parser.add_argument("--master-port", "--master_port", default=_pet("MASTER_PORT", "29500"), type=int, metavar="N")
    parser.add_argument(
        "--standbys", default=1, help="processes that wait to take a rank's place", type=int, metavar="N"
    )
    parser.add_argument(
        "--leave-seconds", type=float, default=20.0, metavar="S",
        help="a process that does not leave the script within this time after a death is replaced too",
    )  # fmt: skip
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def _pet(name: str, default: str) -> str:
    return os.environ.get(f"PET_{name}", default)


def _notify(sentence: str) -> None:
    """The sentence may quote another node's launcher, which nothing authenticates."""
    sys.stderr.write(f"holdfast: {' '.join(printable(sentence).split())}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
