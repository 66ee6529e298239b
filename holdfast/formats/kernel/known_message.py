"""Kernel messages that the catalog lists, found in a line."""

from holdfast.catalog.kernel_messages import KernelMessageGroup
from holdfast.formats.kernel.line import KernelLine
from holdfast.formats.pci import address as pci_address
from holdfast.model.signal import Event


def find(group: KernelMessageGroup, line: KernelLine) -> Event | None:
    """The first message of a group that matches; the catalog lists special messages before general ones."""
    for message in group.messages:
        match = message.regex.match(line.text)
        if match is None:
            continue
        detail = {name: value for name, value in match.groupdict().items() if value is not None}
        device = pci_address.normal(detail.pop("device", ""))
        count = int(detail.pop("count", "1"))
        return line.event(
            group.kind,
            code=message.code,
            device=device,
            severity=message.severity,
            action=message.action,
            count=max(count, 1),
            detail=detail,
        )
    return None
