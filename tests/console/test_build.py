"""The page is built by one command, ships in the wheel, and says what it needs."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from holdfast.fleet.console import static_directory

from .conftest import ROOT

BUILD = ROOT / "scripts" / "build-console"


def test_the_lock_file_names_no_host() -> None:
    assert '"resolved"' not in (ROOT / "console" / "package-lock.json").read_text()


def _copy_of_the_sources(tmp_path: Path) -> Path:
    """A tree of its own: a test must not spoil the page that others look at."""
    shutil.copytree(ROOT / "console", tmp_path / "console", ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / "scripts").mkdir()
    shutil.copy(BUILD, tmp_path / "scripts")
    (tmp_path / "holdfast" / "fleet" / "console").mkdir(parents=True)
    return tmp_path


def _tools_without_node(tmp_path: Path) -> str:
    """A PATH with what the script itself uses and nothing else."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("sh", "dirname", "find", "sort", "xargs", "sha256sum", "cut", "cat"):
        found = shutil.which(tool)
        assert found is not None
        (tools / tool).symlink_to(found)
    return str(tools)


def test_without_node_it_says_what_is_missing_and_what_works_all_the_same(tmp_path: Path) -> None:
    tree = _copy_of_the_sources(tmp_path)
    environment = {**os.environ, "PATH": _tools_without_node(tmp_path)}
    built = subprocess.run([tree / "scripts" / "build-console"], env=environment, capture_output=True, text=True)
    assert built.returncode == 1
    assert "Node.js 20.19 or newer and npm are needed" in built.stderr
    assert "holdfast node list" in built.stderr


def test_a_node_in_the_environment_stands_in_for_one_that_is_missing_or_too_old(tmp_path: Path) -> None:
    tree = _copy_of_the_sources(tmp_path)
    tools = Path(_tools_without_node(tmp_path))

    def put(folder: Path, status: int) -> None:
        """A stand-in that answers the script's question for its version."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("node", "npm"):
            (folder / name).write_text(f"#!/bin/sh\nexit {status}\n")
            (folder / name).chmod(0o755)

    def has_node() -> bool:
        asked = [tree / "scripts" / "build-console", "--has-node"]
        return subprocess.run(asked, env={"PATH": str(tools)}, check=False).returncode == 0

    assert not has_node()
    put(tools, 1)
    assert not has_node()
    put(tree / ".venv" / "bin", 0)
    assert has_node()


@pytest.mark.slow
def test_a_second_build_has_nothing_to_do(static: Path) -> None:
    again = subprocess.run([BUILD], capture_output=True, text=True, check=True)
    assert again.stdout == "build-console: the page is up to date\n"
    assert static_directory() == static


@pytest.mark.slow
def test_the_page_is_small_before_any_chart(static: Path) -> None:
    packed = {file: len(zipped(file)) for file in static.rglob("*") if file.is_file()}
    fonts = sum(size for file, size in packed.items() if file.suffix == ".woff2")  # comes beside the page, and is kept
    assert sum(packed.values()) - fonts < 100_000
    assert fonts < 50_000


def zipped(file: Path) -> bytes:
    return subprocess.run(["gzip", "-c", file], capture_output=True, check=True).stdout


@pytest.mark.slow
def test_the_types_are_those_of_the_api(static: Path) -> None:
    pytest.importorskip("litestar", reason="the controller's libraries are not installed")
    command = [sys.executable, ROOT / "scripts" / "generate_console_types.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
def test_the_parts_of_the_page_do_what_their_own_tests_say(static: Path) -> None:
    # `make node` puts one into .venv only where the machine's own is missing or too old.
    environ = {**os.environ, "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}"}
    ran = subprocess.run(["npm", "test", "--silent"], cwd=ROOT / "console", env=environ, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_the_wheel_brings_the_page(static: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "holdfast", tree / "holdfast", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, tree]
    subprocess.run(command, check=True)
    with zipfile.ZipFile(next(tmp_path.glob("holdfast-*.whl"))) as wheel:
        shipped = {name for name in wheel.namelist() if name.startswith("holdfast/fleet/console/")}
    assert {
        f"holdfast/fleet/console/static/{file.relative_to(static)}" for file in static.rglob("*.*") if file.is_file()
    } - {"holdfast/fleet/console/static/.built-from"} <= shipped
