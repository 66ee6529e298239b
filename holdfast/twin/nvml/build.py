"""Compile the library once per content: the cache key is a hash of everything that goes into it."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path

from holdfast.twin.error import TwinError
from holdfast.twin.nvml.layout import c_header

SONAME = "libnvidia-ml.so.1"
SOURCES = ("core.c", "identity.c", "running.c", "memory_errors.c", "wires.c", "fields.c")
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden")


def library() -> Path:
    """A compiled library in the user's cache; compiled now if this content was never compiled before."""
    sources = _sources()
    key = hashlib.sha256()
    for name in sorted(sources):
        key.update(name.encode() + b"\0" + sources[name].encode() + b"\0")
    target = _cache() / key.hexdigest()[:20] / SONAME
    if not target.exists():
        _compile(sources, target)
    return target


def exported_functions() -> list[str]:
    """Every NVML function name the library answers to, if only with "not supported"."""
    text = files("holdfast.twin.nvml").joinpath("functions.txt").read_text(encoding="ascii")
    return text.split()


def _sources() -> dict[str, str]:
    room = files("holdfast.twin.nvml")
    texts = {name: room.joinpath(name).read_text(encoding="utf-8") for name in (*SOURCES, "abi.h")}
    texts["state.h"] = c_header()
    texts["stubs.c"] = _stubs(exported_functions())
    return texts


def _stubs(names: list[str]) -> str:
    """Functions nobody has simulated yet are present, so that clients link, and honest. Weak: a real one wins."""
    stub = "API __attribute__((weak)) result {}(void) {{ return NOT_SUPPORTED; }}\n"
    return '#include "abi.h"\n' + "".join(stub.format(name) for name in names)


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "holdfast" / "twin"


def _compile(sources: dict[str, str], target: Path) -> None:
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise TwinError(
            "the twin needs a C compiler to make its NVML library, and found none of cc, gcc, clang in PATH"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        for name, text in sources.items():
            Path(work, name).write_text(text, encoding="utf-8")
        made = Path(work, SONAME)
        units = [name for name in sources if name.endswith(".c")]
        command = [compiler, *_FLAGS, f"-Wl,-soname,{SONAME}", "-o", str(made), *units, "-ldl"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TwinError(f"{compiler} could not compile the twin's NVML library: {done.stderr.strip()[:400]}")
        os.replace(made, target)  # two processes may compile at once; both results are the same
