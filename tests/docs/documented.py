"""What the README and the quick start tell people to type: every command, and what it is called in commands.toml."""

import re
import tomllib
from pathlib import Path

from holdfast.cli import contents

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", ROOT / "docs" / "quick-start.md", ROOT / "docs" / "index.md")
NOUNS = {name for name, entry in contents.ENTRIES.items() if entry.where.endswith(":app")}
HOW = tomllib.loads((Path(__file__).parent / "commands.toml").read_text())
KNOWN = {name: how for how, names in HOW.items() for name in names}
_WORD = re.compile(r"[a-z][a-z-]*")
_TYPED = re.compile(r"^(?:sudo )?(?:\.venv/bin/)?((?:holdfast|make|pip|helm|docker|deploy/install) .*)$", re.M)


def lines() -> list[str]:
    """Each line of a block to type, and each `holdfast ...` within the text."""
    found = set()
    for page in PAGES:
        text = page.read_text()
        blocks = "\n".join(re.findall(r"^```\n(.*?)^```", text, re.S | re.M))
        found |= {line.partition("#")[0].strip() for line in _TYPED.findall(blocks) + _BARE.findall(blocks)}
        found |= {f"holdfast {message}" for message in re.findall(r"`(?:\.venv/bin/)?holdfast\s([^`]+)`", text)}
        found |= set(re.findall(r"`((?:make|sudo deploy/install|helm) [^`]+)`", text))
    return sorted(line for line in found if not line.startswith("holdfast --"))


_BARE = re.compile(r"^(make [a-z-]+)$", re.M)


def ways(line: str) -> list[list[str]]:
    """`holdfast node list | history n17` is two commands of one noun."""
    if not line.startswith("holdfast "):
        return [line.removeprefix("sudo ").split()]
    first, *others = [part.split() for part in line.removeprefix("holdfast ").split(" | ")]
    return [first, *([first[0], *other] if first[0] in NOUNS else other for other in others)]


def depth(words: list[str]) -> int:
    """Of how many words its name is."""
    return 2 if words[0] in NOUNS and len(words) > 1 and _WORD.fullmatch(words[1]) else 1


def name(line: str, words: list[str]) -> str:
    """`node list`, `check`, `make demo`, `deploy/install`."""
    if line.startswith("holdfast "):
        return " ".join(words[: depth(words)])
    return words[0] if words[0] == "deploy/install" else " ".join(words[:2])
