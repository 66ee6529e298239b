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

    def on_cpu() -> Any:
        """Past its question for CUDA; the copy that it would make from the device is made here."""
        made = states.BasicTensorAwareStateDict.__new__(states.BasicTensorAwareStateDict)
        made.state_dict, made._is_hollow = {name: tensor.clone() for name, tensor in tensors.items()}, False
        return made

    replicated = replicating.CliqueReplicationStrategy.from_replication_params(1, 2)
    managers = {
        "nvrx": managing.LocalCheckpointManager(folder / "nvrx"),
        "nvrx_replica": managing.LocalCheckpointManager(folder / "nvrx_replica", repl_strategy=replicated),
    }

    def save(manager: Any) -> Callable[[int], None]:
        return lambda step: manager.save(on_cpu(), step, is_async=False)

    return {name: save(manager) for name, manager in managers.items()}
