"""The wheel in an empty environment: the demo serves its page without Node."""

import re
import subprocess
import sys
import time
import venv
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 120.0
pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


def installed(home: Path, extra: str) -> Path:
    """A new environment with the wheel of this tree in it."""
    subprocess.run([ROOT / "scripts" / "build-console"], check=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", str(ROOT), "--wheel-dir", str(home / "dist")], check=True)
    [wheel] = (home / "dist").glob("*.whl")
    venv.create(home / "venv", with_pip=True)
    python = home / "venv" / "bin" / "python"
    subprocess.run([python, *pip[1:], "install", f"{wheel}{extra}"], check=True)
    return home / "venv"


def test_the_demo_serves_the_page_without_node(tmp_path: Path) -> None:
    home = installed(tmp_path, "[controller]")
    log = tmp_path / "log"
    environ = {"PATH": f"{home}/bin", "HOME": str(tmp_path), "HOLDFAST_STATE": str(tmp_path / "state")}
    command = [home / "bin" / "holdfast", "up", "--demo", "--nodes", "8", "--listen", "127.0.0.1:0"]
    with log.open("wb") as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, cwd=tmp_path, env=environ)
    try:
        end = time.monotonic() + PATIENCE_SECONDS
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
