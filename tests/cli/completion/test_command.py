"""Shell completion: the script names the variable that the command answers to, and the answer completes."""

import os
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from holdfast.cli import main; main()"]


def asked(words: str, place: int) -> list[str]:
    environment = {**os.environ, "_HOLDFAST_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(place)}
    return subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False).stdout.split()


def test_commands_of_both_levels_are_completed() -> None:
    assert set(asked("holdfast in", 1)) == {"inbox", "incident"}
    assert "acknowledge" in asked("holdfast inbox a", 2)


def test_every_shell_has_its_script() -> None:
    for shell in ("bash", "zsh", "fish"):
        made = subprocess.run([*COMMAND, "completion", shell], capture_output=True, text=True, check=True).stdout
        assert "_HOLDFAST_COMPLETE" in made and "holdfast" in made
