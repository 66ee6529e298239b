"""Whether the NVSwitch fabric manager runs. Without it no new CUDA program starts on an NVSwitch baseboard."""

import os

from holdfast.formats.host.proc import same_command
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.node.sources.small_file import text_or_nothing
from holdfast.runtime.source import ReadingBuilder

PROGRAM = "nv-fabricmanager"


class FabricManagerSource:
    name = "fabric_manager"
    every = 60.0
    deadline = 10.0
    carries: tuple[str, ...] = ("fabric_manager_running", "nvswitch_devices")

    def __init__(self, node: str, proc: str = "/proc") -> None:
        self._node = subject.node(node)
        self._proc = proc
        self._pid = ""  # its last process id, so that a healthy node needs one file read

    def read(self, now: float) -> Reading:
        try:
            running = self._is_it(self._pid) or self._find()
        except OSError as error:
            return Reading(source=self.name, at=now, blind=f"{self._proc} cannot be listed: {error.strerror}")
        builder = ReadingBuilder()
        builder.add(self._node, "fabric_manager_running", float(running))
        builder.add(self._node, "nvswitch_devices", float(self._switches()))
        return builder.build(self.name, now, [self._node])

    def _is_it(self, pid: str) -> bool:
        return bool(pid) and same_command(text_or_nothing(f"{self._proc}/{pid}/comm"), PROGRAM)

    def _find(self) -> bool:
        pids = (name for name in os.listdir(self._proc) if name.isdecimal())
        self._pid = next((pid for pid in pids if self._is_it(pid)), "")
        return bool(self._pid)

    def _switches(self) -> int:
        """NVSwitches of this machine's driver (none for generations whose switches are behind a NIC)."""
        try:
            return len(os.listdir(f"{self._proc}/driver/nvidia-nvswitch/devices"))
        except OSError:
            return 0
