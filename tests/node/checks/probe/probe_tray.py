"""A window as a run of the active probes leaves it."""

from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal
from holdfast.model.window import Window

NODE = "node/n1"
H100 = "NVIDIA H100 80GB HBM3"


def gpu(index: int) -> str:
    return f"{NODE}/gpu/{index}"


def window(values: dict[str, dict[str, float | str]], gpus: int = 0, device: str = "cuda") -> Window:
    """Signals by subject; so many H100s in the inventory."""
    history = History("n1")
    subjects = {*(gpu(index) for index in range(gpus)), *(one for one in values if one != NODE)}
    history.inventory = Inventory(node="n1", subjects=frozenset(subjects))
    signals = [Signal(NODE, "probe_device", device)]
    signals += [Signal(gpu(index), "gpu_model", H100) for index in range(gpus)]
    signals += [Signal(subject, name, value) for subject, named in values.items() for name, value in named.items()]
    history.add(Reading(source="probes", at=0.0, signals=signals))
    return history.window(0.0, 14400.0)
