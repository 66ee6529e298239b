"""NVRx's local checkpoint beside ours, where its package lies in a folder. It asks for CUDA tensors; ours are not."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LOCAL = "nvidia_resiliency_ext.checkpointing.local"


def saves(package: str, folder: Path, tensors: dict[str, Any]) -> dict[str, Callable[[int], None]]:
    """Blocking saves of all ranks together, alone and with one replica; its asynchronous one does not run on CPUs."""
    sys.path.insert(0, package)
    states: Any = import_module(f"{LOCAL}.basic_state_dict")
    managing: Any = import_module(f"{LOCAL}.ckpt_managers.local_manager")
    replicating: Any = import_module(f"{LOCAL}.replication.strategies")

    class OnCpu(states.BasicTensorAwareStateDict):  # type: ignore[misc]
        def __init__(self, state: dict[str, Any]) -> None:
            self.state_dict, self._is_hollow = state, False

        def copy_tensors_to_cpu(self, non_blocking: bool = False) -> None:
            """What lies on the CPU already has to be copied all the same."""
            self.state_dict = {name: tensor.clone() for name, tensor in self.state_dict.items()}

    replicated = replicating.CliqueReplicationStrategy.from_replication_params(1, 2)
    managers = {
        "nvrx": managing.LocalCheckpointManager(folder / "nvrx"),
        "nvrx_replica": managing.LocalCheckpointManager(folder / "nvrx_replica", repl_strategy=replicated),
    }

    def save(manager: Any) -> Callable[[int], None]:
        return lambda step: manager.save(OnCpu(dict(tensors)), step, is_async=False)

    return {name: save(manager) for name, manager in managers.items()}
