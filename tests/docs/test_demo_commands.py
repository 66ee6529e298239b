"""The commands of README and quick start that ask a controller, against `holdfast up --demo`."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until

pytest.importorskip("litestar", reason="needs the extra [controller]")

from holdfast.cli.app import run

from .documented import HOW

pytestmark = pytest.mark.slow
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))
TIMEOUT_SECONDS = 120.0
PRICES = """[[supplier]]
name = "everybody"
price_per_gpu_hour = 1.95
gpus_per_node = 8
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A demo whose nodes have all been tested once."""
    home = tmp_path_factory.mktemp("demo")
    environ = {**os.environ, "HOLDFAST_STATE": str(home / "state"), "HOME": str(home)}
    with (home / "log").open("wb") as log:
        command = [HOLDFAST, "up", "--demo", "--nodes", "4", "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environ)
    try:
        log_text = (home / "log").read_text
        until(lambda: "Ctrl-C stops" in log_text(), log_text, TIMEOUT_SECONDS, lambda: process.poll() is None)
        yield home
    finally:
        process.terminate()
        process.wait(60)


def test_each_command_is_answered_in_the_order_of_the_table(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_STATE", str(home / "state"))
    (home / "prices.toml").write_text(PRICES)
    enrolled = lambda: run(["node", "show", "n[001-004]"]) == 0  # noqa: E731
    until(enrolled, (home / "log").read_text, TIMEOUT_SECONDS)
    for called, result in HOW["demo"].items():
        capfd.readouterr()
        words = (
            result.get("words", "")
            .format(prices=home / "prices.toml", month=time.strftime("%Y-%m", time.gmtime()))
            .split()
        )
        code = run([*called.split(), *words])
        output = capfd.readouterr()
        assert code in result.get("codes", [0]), f"{called}: {output.err}"
        assert output.out or output.err.count("\n") == 1, f"{called} said nothing"
