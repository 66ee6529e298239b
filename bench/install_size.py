"""What the base package takes on a node: the wheel with its dependencies in an empty environment, beside the goal.

python bench/install_size.py; needs the package index. Prints one JSON line and keeps it in bench/results/.
"""

import shutil
import subprocess
import tempfile
import time
import venv
from pathlib import Path

from measure import publish

ROOT = Path(__file__).resolve().parent.parent
GOAL_BYTES = 40e6
NOT_OURS = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "distutils-precedence.pth")


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        venv.create(home, with_pip=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", str(clean_copy(home / "source"))], check=True)
        packages = next(home.glob("lib/python*/site-packages"))
        parts = {part.name: size(part) for part in packages.iterdir() if not part.name.startswith(NOT_OURS)}
        whole = sum(parts.values())
        largest = dict(sorted(parts.items(), key=lambda part: -part[1])[:6])
        result = {"bytes": whole, "goal_bytes": GOAL_BYTES, "ratio": whole / GOAL_BYTES, "largest": largest}
        bare = quickest([home / "bin" / "python", "-c", "pass"])
        helped = quickest([home / "bin" / "holdfast", "--help"])
        publish("install_size", {**result, "help_seconds": helped, "help_to_interpreter": round(helped / bare, 2)})
    return 0


def clean_copy(place: Path) -> Path:
    """Without what earlier builds left behind, which setuptools would take along."""
    place.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    shutil.copytree(ROOT / "holdfast", place / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    return place


def size(part: Path) -> int:
    files = part.rglob("*") if part.is_dir() else [part]
    return sum(file.stat().st_size for file in files if file.is_file())


def quickest(command: list[Path | str]) -> float:
    """Of five, compiled by the first."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        found.append(time.perf_counter() - began)
    return min(found)


if __name__ == "__main__":
    raise SystemExit(main())
