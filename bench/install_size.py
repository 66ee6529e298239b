"""What the base package takes on a node: the wheel with its dependencies in an empty environment, beside the goal.

python bench/install_size.py; needs the package index. Prints one JSON line.
"""

import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOAL_BYTES = 40e6
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", str(ROOT)], check=True)
        packages = next(home.glob("lib/python*/site-packages"))
        parts = {part.name: size(part) for part in packages.iterdir() if not part.name.startswith(NOT_OURS)}
        whole = sum(parts.values())
        largest = dict(sorted(parts.items(), key=lambda part: -part[1])[:6])
        told = {"bytes": whole, "goal_bytes": GOAL_BYTES, "ratio": whole / GOAL_BYTES, "largest": largest}
        sys.stdout.write(json.dumps({**told, "help_seconds": help_seconds(home)}) + "\n")
    return 0


def size(part: Path) -> int:
    files = part.rglob("*") if part.is_dir() else [part]
    return sum(file.stat().st_size for file in files if file.is_file())


def help_seconds(home: Path) -> float:
    """The quickest of five, compiled by the first."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run([home / "bin" / "holdfast", "--help"], check=True, stdout=subprocess.DEVNULL)
        found.append(time.perf_counter() - began)
    return min(found)


if __name__ == "__main__":
    raise SystemExit(main())
