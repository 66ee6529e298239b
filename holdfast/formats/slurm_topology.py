"""Slurm's topology.conf (topology/tree): which nodes hang below which switch."""

from holdfast.formats import hostlist

MOST_LINES = 100_000


class TopologyError(ValueError):
    """One sentence with the line it is about."""


def parse(text: str, origin: str) -> dict[str, str]:
    """Node -> its leaf switch. Raises TopologyError."""
    found: dict[str, str] = {}
    for number, line in enumerate(_joined(text), start=1):
        words = dict(_pairs(line.partition("#")[0]))
        if not words:
            continue
        if "switchname" not in words or not {"nodes", "switches"} & words.keys():
            if "blockname" in words or "blocksizes" in words:
                continue  # topology/block has no switches
            raise TopologyError(f"{origin} line {number}: expected SwitchName= with Nodes= or Switches=")
        try:
            names = hostlist.expand(words.get("nodes", ""))
        except ValueError as error:
            raise TopologyError(f"{origin} line {number}: {error}") from None
        found |= dict.fromkeys(names, words["switchname"])
    if not found:
        raise TopologyError(f"{origin}: no line has SwitchName= and Nodes=")
    return found


def _joined(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()[:MOST_LINES]


def _pairs(line: str) -> list[tuple[str, str]]:
    return [(name.lower(), value) for word in line.split() for name, sep, value in [word.partition("=")] if sep]
