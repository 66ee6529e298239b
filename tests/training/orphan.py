"""A rank that is killed and leaves a child behind, as those whose data is loaded by workers do."""

import os
import signal
import time
from pathlib import Path

import torch

from holdfast.training import Checkpoint


def leave_a_child(folder: str, expected: str) -> None:
    checkpoint = Checkpoint(folder, replicas=1)
    checkpoint.save(1, {"weights": torch.full((1000,), 1), "note": "step 1"})
    checkpoint.status()
    child = os.fork()
    if not child:
        time.sleep(600)
        os._exit(0)
    Path(expected).write_text(str(child))
    os.kill(os.getpid(), signal.SIGKILL)
