"""`holdfast twin` as a person types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.twin import app
from holdfast.lab.twin import all_faults, open_node
from holdfast.model.refusal import Refusal

pytestmark = pytest.mark.slow

RUN = CliRunner()


def test_a_node_is_made_broken_and_repaired(tmp_path: Path) -> None:
    home = str(tmp_path / "n07")
    made = RUN.invoke(app, ["node", home, "--name", "n07", "--json"])
    assert json.loads(made.stdout)["gpus"] == 8
    hurt = RUN.invoke(app, ["inject", home, "pcie_width", "--gpu", "2", "--value", "4", "--json"])
    assert json.loads(hurt.stdout)["injected"] == ["pcie_width@gpu2"]
    assert open_node(home).state.gpu[2].pcie_width == 4
    repaired = RUN.invoke(app, ["inject", home, "pcie_width", "--gpu", "2", "--clear", "--json"])
    assert json.loads(repaired.stdout)["injected"] == []
    assert open_node(home).state.gpu[2].pcie_width == 16


def test_a_fault_that_one_look_does_not_show_says_what_it_needs(tmp_path: Path) -> None:
    home = str(tmp_path / "n01")
    RUN.invoke(app, ["node", home])
    assert "needs an agent that runs three minutes" in RUN.invoke(app, ["inject", home, "power_brake"]).stdout
    assert "needs" not in RUN.invoke(app, ["inject", home, "gpu_lost"]).stdout
    listed = {row["fault"]: row for row in json.loads(RUN.invoke(app, ["faults", "--json"]).stdout)}
    assert "a manifest that lists it" in listed["port_missing"]["needs"]
    assert "an agent that runs five minutes" in RUN.invoke(app, ["faults"], env={"COLUMNS": "350"}).stdout


def test_time_passes_by_command(tmp_path: Path) -> None:
    home = str(tmp_path / "n01")
    RUN.invoke(app, ["node", home])
    assert RUN.invoke(app, ["tick", home, "--seconds", "60"]).exit_code == 0
    assert open_node(home).state.gpu[0].energy_millijoules > 0
    output = json.loads(RUN.invoke(app, ["tick", home, "--seconds", "5", "--json"]).stdout)
    assert output == {"node": "n01", "seconds": 5.0}
    assert isinstance(RUN.invoke(app, ["tick", home, "--live", "--json"]).exception, Refusal)


def test_the_list_of_faults_says_what_each_breaks_and_turns() -> None:
    listed = {row["fault"]: row for row in json.loads(RUN.invoke(app, ["faults", "--json"]).stdout)}
    assert listed.keys() == all_faults().keys()
    assert listed["port_down"]["expects"] == ["fabric.port_down"]
    assert "gpu.thermal_gradient" in RUN.invoke(app, ["faults"], env={"COLUMNS": "250"}).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [(["inject", "{home}", "gpu_lost"], "not a twin node"), (["node", "{home}", "--model", "k80"], "h100")],
)
def test_bad_input_is_one_sentence_and_the_usage_exit_code(tmp_path: Path, words: list[str], says: str) -> None:
    command = [word.format(home=tmp_path / "nothing") for word in words]
    done = subprocess.run(
        [sys.executable, "-c", "from holdfast.cli import main; main()", "twin", *command],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 64 and says in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and not (tmp_path / "nothing").exists()
