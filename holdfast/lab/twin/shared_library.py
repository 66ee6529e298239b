"""Compiles a library once per content: the cache key is a hash of all inputs."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from holdfast.lab.twin.error import TwinError

_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread")


def compiled(sources: dict[str, str], soname: str, what: str) -> Path:
    """Path of a library in the user's cache; new content is compiled first."""
    key = hashlib.sha256()
    for name in sorted(sources):
        key.update(name.encode() + b"\0" + sources[name].encode() + b"\0")
    target = _cache() / key.hexdigest()[:20] / soname
    if not target.exists():
        _compile(sources, target, what)
    return target


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "holdfast" / "twin"


def _compile(sources: dict[str, str], target: Path, what: str) -> None:
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise TwinError(
            f"the twin needs a C compiler to make its {what} library, and found none of cc, gcc, clang in PATH"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        for name, text in sources.items():
            Path(work, name).write_text(text, encoding="utf-8")
        made = Path(work, target.name)
        units = [name for name in sources if name.endswith(".c")]
        command = [compiler, *_FLAGS, f"-Wl,-soname,{target.name}", "-o", str(made), *units, "-ldl"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TwinError(f"{compiler} could not compile the twin's {what} library: {done.stderr.strip()[:400]}")
        os.replace(made, target)  # two processes may compile at once; their results are equal
