"""The Containerfile, as far as it can be looked at without a container engine: stages, sources, targets, commands."""

import json
import re
from pathlib import Path

import yaml

from .chart import CHART

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "deploy" / "Containerfile"
LINES = [line for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
STAGES = {match[2]: match[1] for line in LINES if (match := re.fullmatch(r"FROM (\S+) AS (\S+)", line))}
IMAGES = {"${PYTHON}", "${NODE}"}


def test_every_stage_stands_on_an_image_or_a_stage_before_it() -> None:
    known: set[str] = set()
    for stage, base in STAGES.items():
        assert base in IMAGES | known
        known.add(stage)
    assert {"agent", "controller"} <= known


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = (FILE.parent / "Containerfile.dockerignore").read_text().split()
    for line in LINES:
        if not line.startswith("COPY"):
            continue
        *sources, _ = line.split()[1:]
        if sources[0].startswith("--from="):
            assert sources[0].removeprefix("--from=") in STAGES
            continue
        for source in sources:
            assert (ROOT / source).exists(), source
            assert f"!{source}" in ignored, source


def test_an_image_starts_what_it_is_named_for_and_the_chart_uses_it() -> None:
    commands = [json.loads(line.partition(" ")[2]) for line in LINES if line.startswith("CMD")]
    assert [command[1] for command in commands] == ["agent", "controller"]
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for role in ("agent", "controller"):
        assert values["image"][role] in FILE.read_text()
