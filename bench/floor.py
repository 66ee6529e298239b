"""The bare loop that a Python agent cannot undercut: 200 NVML calls and 450 kept-open reads a second, nothing else."""

import ctypes
import os
import sys
import time
from pathlib import Path
from typing import Any

import pynvml as _nvml

nvml: Any = _nvml  # its functions carry no types


def main(library: str, sysfs: str) -> None:
    ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    nvml.nvmlInit()
    gpus = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    files = [str(path) for path in Path(sysfs, "class/infiniband").glob("*/ports/*/**/*") if path.is_file()][:450]
    descriptors = [os.open(path, os.O_RDONLY) for path in files]
    while True:
        started = time.monotonic()
        for gpu in gpus:
            for _ in range(25):
                nvml.nvmlDeviceGetPowerUsage(gpu)
        for descriptor in descriptors:
            os.pread(descriptor, 4096, 0)
        time.sleep(max(0.0, 1.0 - (time.monotonic() - started)))


if __name__ == "__main__":
    main(*sys.argv[1:3])
