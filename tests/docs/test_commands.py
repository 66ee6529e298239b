"""Every command that README and the quick start tell people to type exists, with the options they are told."""

import re
from pathlib import Path

import pytest

from holdfast.cli.app import app, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "quick-start.md", ROOT / "docs" / "index.md")
NOUNS = {group.name for group in app.registered_groups}
_WORD = re.compile(r"[a-z][a-z-]*")


def told() -> list[str]:
    found = set()
    for page in PAGES:
        text = page.read_text()
        blocks = "\n".join(re.findall(r"^```\n(.*?)^```", text, re.S | re.M))
        typed = re.findall(r"^(?:\.venv/bin/)?holdfast (.*)$", blocks, re.M)
        found |= {line.partition("#")[0].strip() for line in typed}
        found |= set(re.findall(r"`(?:\.venv/bin/)?holdfast\s([^`]+)`", text))
    return sorted(line for line in found if not line.startswith("--"))


def ways(line: str) -> list[list[str]]:
    """`node list | story n17` is two commands of one noun."""
    first, *others = [part.split() for part in line.split(" | ")]
    return [first, *([first[0], *other] if first[0] in NOUNS else other for other in others)]


@pytest.mark.parametrize("line", told())
def test_it_can_be_typed(line: str, capfd: pytest.CaptureFixture[str]) -> None:
    for words in ways(line):
        depth = 2 if words[0] in NOUNS and len(words) > 1 and _WORD.fullmatch(words[1]) else 1
        assert run([*words[:depth], "--help"]) == 0, words
        shown = "".join(capfd.readouterr())
        before = words[depth : words.index("--")] if "--" in words else words[depth:]
        for option in (word.partition("=")[0] for word in before if word.startswith("--")):
            assert option in shown, f"{' '.join(words[:depth])} has no {option}"
