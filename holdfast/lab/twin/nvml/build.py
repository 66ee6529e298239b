"""Builds the NVML library: our sources, and a "not supported" stub for every other function."""

from importlib.resources import files
from pathlib import Path

from holdfast.lab.twin.nvml.layout import c_header
from holdfast.lab.twin.shared_library import compiled

SONAME = "libnvidia-ml.so.1"
SOURCES = ("core.c", "identity.c", "running.c", "memory_errors.c", "wires.c", "fields.c")


def library() -> Path:
    """Path of the compiled library in the user's cache; new content is compiled first."""
    return compiled(_sources(), SONAME, "NVML")


def exported_functions() -> list[str]:
    """All NVML functions that the library exports, including those that return "not supported"."""
    text = files("holdfast.lab.twin.nvml").joinpath("functions.txt").read_text(encoding="ascii")
    return text.split()


def _sources() -> dict[str, str]:
    room = files("holdfast.lab.twin.nvml")
    texts = {name: room.joinpath(name).read_text(encoding="utf-8") for name in (*SOURCES, "abi.h")}
    texts["state.h"] = c_header()
    texts["stubs.c"] = _stubs(exported_functions())
    return texts


def _stubs(names: list[str]) -> str:
    """Weak stubs for functions that are not simulated: clients can link, and get "not supported". A real definition
    overrides its stub."""
    stub = "API __attribute__((weak)) result {}(void) {{ return NOT_SUPPORTED; }}\n"
    return '#include "abi.h"\n' + "".join(stub.format(name) for name in names)
