"""A copy of `/sys` in a folder: its RDMA ports are read by the source that reads a live node's."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from holdfast.formats.tool_output import ToolOutput
from holdfast.node.sources.fabric.infiniband import InfinibandSource

_NODE = "captured"
_HERE = f"node/{_NODE}/"


def outputs(folder: Path) -> Iterator[ToolOutput]:
    """The folder is `/sys`, `/sys/class/infiniband`, or holds one of them further down."""
    states = next(iter(sorted(folder.rglob("ports/*/state"))), None) if folder.is_dir() else None
    if states is None:
        return
    devices = states.parents[3]
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "class").mkdir()
        os.symlink(devices.resolve(), Path(root) / "class" / "infiniband")
        reading = InfinibandSource(_NODE, sys=root).read(1.0)
    output = ToolOutput("sysfs infiniband")
    for signal in reading.signals:
        output.add(signal.subject.removeprefix(_HERE), signal.name, signal.value)
    for (subject, name), why in reading.absent.items():
        output.miss(subject.removeprefix(_HERE), name, why)
    for subject in reading.present:
        output.see(subject.removeprefix(_HERE))
    if output.present:
        yield output
