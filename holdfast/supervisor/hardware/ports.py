"""Ports of this machine that were up when an attempt began and are down now."""

from pathlib import Path

_NOT_A_LINK = ("lo", "docker", "virbr", "br-", "cni", "flannel", "veth", "cali")  # of other containers, not of a cable


class PortWatch:
    def __init__(self, sys: str = "/sys") -> None:
        self._sys = Path(sys)
        self._up = {port for port, up in self._states().items() if up}

    def down(self) -> list[str]:
        states = self._states()
        return sorted(port for port in self._up if not states.get(port, False))

    def _states(self) -> dict[str, bool]:
        links = {
            path.parent.name: _text(path) == "1"
            for path in self._sys.glob("class/net/*/carrier")
            if not path.parent.name.startswith(_NOT_A_LINK)
        }
        fabric = {
            f"{path.parts[-4]}:{path.parts[-2]}": _text(path).startswith("4")
            for path in self._sys.glob("class/infiniband/*/ports/*/state")
        }
        return links | fabric


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:  # a link that is switched off refuses to tell its carrier
        return ""
