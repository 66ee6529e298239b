"""torchrun, whose ranks are forks of it: torch is imported once for an attempt and not once more for each rank.

python forked_torchrun.py --nproc-per-node=4 /path/of/the/script.py ...
"""

import sys

import torch._dynamo  # noqa: F401  each rank would import it with its first optimizer
from torch.distributed import run

import holdfast.training  # noqa: F401

if __name__ == "__main__":
    run.main(["--run-path", "--start-method=fork", *sys.argv[1:]])
