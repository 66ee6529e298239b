"""Slurm's topology.conf: switches (topology/tree) or blocks (topology/block) and their nodes."""

from holdfast.formats.slurm import hostlist

MOST_LINES = 100_000


class TopologyError(ValueError):
    """The text is wrong; the message names the line."""


def parse(text: str, origin: str) -> dict[str, str]:
    """Node -> its leaf switch or its block, which is one domain of fast links. Raises TopologyError."""
    found: dict[str, str] = {}
    for number, line in enumerate(_joined(text), start=1):
        words = dict(_pairs(line.partition("#")[0]))
        if not words:
            continue
        leaf = words.get("switchname") or words.get("blockname")
        if not leaf and "blocksizes" in words:
            continue
        if not leaf or not {"nodes", "switches", "blocks"} & words.keys():
            raise TopologyError(
                f"{origin} line {number}: expected SwitchName= with Nodes= or Switches=, or BlockName= with Nodes="
            )
        try:
            names = hostlist.expand(words.get("nodes", ""))
        except ValueError as error:
            raise TopologyError(f"{origin} line {number}: {error}") from None
        found |= dict.fromkeys(names, leaf)
    if not found:
        raise TopologyError(f"{origin}: no line has SwitchName= or BlockName= and Nodes=")
    return found


def _joined(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()[:MOST_LINES]


def _pairs(line: str) -> list[tuple[str, str]]:
    return [(name.lower(), value) for word in line.split() for name, sep, value in [word.partition("=")] if sep]
