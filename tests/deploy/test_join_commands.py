"""Commands in deploy/ and docs/ that create a join token for several nodes list the nodes or their network."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = re.compile(r"holdfast token create [^'`\n]*--join[^`\n]*")
FILES = [
    path
    for folder in ("deploy", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".txt", ".md", ".yaml", ".yml") and "--join" in path.read_text()
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_join_token_for_several_nodes_says_for_which(path: Path) -> None:
    for command in COMMAND.findall(path.read_text()):
        several = re.search(r"--uses (\d+)", command)
        if several and int(several.group(1)) > 1:
            assert "--nodes" in command or "--network" in command, command


def test_there_are_such_commands() -> None:
    found = [one for path in FILES for one in COMMAND.findall(path.read_text())]
    assert sum("--uses" in one for one in found) >= 2
