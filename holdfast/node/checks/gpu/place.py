"""Address of each GPU, also of one that was lost before the driver reported it, so that it counts once."""

from holdfast.model.signal import Event
from holdfast.model.subject import Subject, kind, pci
from holdfast.model.window import Window

LOST = "gpu_lost"
ADDRESS = "gpu_pci_address"


def subject_of(window: Window, event: Event) -> Subject:
    """The GPU of an event; the PCI device if its GPU is not known; the node if no device is named."""
    if event.subject:
        return event.subject
    if not event.device:
        return window.node
    by_device = {address.rsplit(".", 1)[0]: gpu for address, gpu in places(window).items()}
    return by_device.get(event.device.rsplit(".", 1)[0]) or pci(window.inventory.node, event.device)


def places(window: Window) -> dict[str, Subject]:
    """PCI address -> GPU: from the driver now or earlier, or from the manifest; the last one by elimination."""
    gpus = window.inventory.expected("gpu") or tuple(window.values(LOST))
    found = {str(address): gpu for gpu in gpus if (address := window.value(gpu, ADDRESS)) is not None}
    for address, gpu in window.inventory.by_device.items():
        if kind(gpu) == "gpu" and "." in address and gpu not in found.values():
            found.setdefault(address, gpu)
    for gpu in gpus:
        address = window.inventory.expect.get(gpu, {}).get(ADDRESS)
        if address and window.number(gpu, LOST) and gpu not in found.values():
            found.setdefault(str(address), gpu)
    homeless = [gpu for gpu in gpus if gpu not in found.values()]
    free = _free(window, found) if len(homeless) == 1 and window.number(homeless[0], LOST) else []
    if len(free) == 1:
        found[free[0]] = homeless[0]
    return found


def _free(window: Window, taken: dict[str, Subject]) -> list[str]:
    """Addresses of GPUs on the bus that are not assigned yet."""
    known = {*taken, *str(window.value(window.node, "gpu_excluded") or "").split(",")}
    on_bus = [device for device in window.inventory.expected("pci") if window.value(device, "pci_role") == "gpu"]
    addresses = [device.rsplit("/", 1)[1] for device in on_bus]
    return [address for address in addresses if address not in known]
