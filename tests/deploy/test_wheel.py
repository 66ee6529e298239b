"""The wheels in an empty environment: `pip install dist/*.whl`, and the demo serves its page without Node."""

import os
import re
import subprocess
import sys
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from holdfast import __version__

from .chart import CHART

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 120.0
LINE = "pip install dist/*.whl"  # as docs/install.md has it
BARE = "/usr/bin:/bin"


def test_every_package_names_the_same_version() -> None:
    whole, controller = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())["project"]
        for folder in (".", "deploy/controller-wheel")
    )
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert {whole["version"], controller["version"], chart["appVersion"]} == {__version__}
    assert controller["dependencies"] == [f"holdfast[controller]=={__version__}"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with dist/ as `make dist` fills it."""
    home = tmp_path_factory.mktemp("wheel")
    subprocess.run([ROOT / "scripts" / "build-console"], check=True)
    subprocess.run(
        [ROOT / "scripts" / "build-wheels", home / "dist"], check=True, env={**os.environ, "PYTHON": sys.executable}
    )
    return home


@pytest.mark.soak
def test_a_wheel_has_what_the_tree_has_and_nothing_of_an_earlier_build(home: Path) -> None:
    [wheel] = (home / "dist").glob("holdfast-*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".py")}
    assert packed == {str(file.relative_to(ROOT)) for file in (ROOT / "holdfast").rglob("*.py")}


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_the_demo_serves_the_page_without_node(home: Path) -> None:
    venv.create(home / "venv", with_pip=True)
    environ = {"PATH": f"{home}/venv/bin", "HOME": str(home), "HOLDFAST_STATE": str(home / "state")}
    subprocess.run(LINE, shell=True, cwd=home, check=True, env={**os.environ, "PATH": f"{home}/venv/bin:{BARE}"})
    log = home / "log"
    command = [home / "venv" / "bin" / "holdfast", "up", "--demo", "--nodes", "8", "--listen", "127.0.0.1:0"]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=home, env=environ)
    try:
        end = time.monotonic() + TIMEOUT_SECONDS
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        page = urlopen(found[0] + "/", timeout=30).read().decode()
        assert "<title>Holdfast</title>" in page
        [script] = re.findall(r'src="\./(assets/[^"]+\.js)"', page)
        assert len(urlopen(f"{found[0]}/{script}", timeout=30).read()) > 10_000
    finally:
        process.terminate()
        process.wait(30)
