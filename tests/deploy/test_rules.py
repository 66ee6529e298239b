"""The rules for Prometheus hold in its own checker, and fire on what they are for."""

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
pytestmark = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool (package prometheus) is not installed"
)


@pytest.mark.parametrize(
    "asked",
    [
        ("check", "rules", "holdfast.rules.yml"),
        ("test", "rules", "holdfast.test.yml"),
        ("check", "config", "--syntax-only", "prometheus.example.yml"),
    ],
)
def test_promtool_agrees(asked: tuple[str, ...]) -> None:
    output = subprocess.run(["promtool", *asked], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert output.returncode == 0, output.stdout + output.stderr
