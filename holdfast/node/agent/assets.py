"""The parts of this node with their serial numbers, for the asset record of the controller."""

from collections.abc import Iterable
from pathlib import Path

from holdfast.model.assets import GPU, NIC, NODE, Part
from holdfast.model.signal import Value
from holdfast.model.subject import Subject

LONGEST = 128
NO_SERIAL = frozenset({"", "0", "none", "n/a", "unknown", "default string", "to be filled by o.e.m.", "not specified"})


def parts(sys_root: str, signals: Iterable[tuple[Subject, str, Value, float]]) -> tuple[Part, ...]:
    """Parts with a serial number; others cannot be compared."""
    found = [*_gpus(signals), *_nics(Path(sys_root)), *_chassis(Path(sys_root))]
    return tuple(sorted((part for part in found if part.serial.lower() not in NO_SERIAL), key=lambda part: part.place))


def _gpus(signals: Iterable[tuple[Subject, str, Value, float]]) -> list[Part]:
    facts: dict[str, dict[str, str]] = {}
    for subject, name, value, _ in signals:
        if name in ("gpu_serial", "gpu_uuid", "gpu_model"):
            facts.setdefault(str(subject), {})[name] = _clean(str(value))
    return [
        Part(f"{GPU}/{subject.rpartition('/')[2]}", _serial(seen), seen.get("gpu_model", ""))
        for subject, seen in facts.items()
    ]


def _serial(seen: dict[str, str]) -> str:
    """Boards without a serial number still have a UUID."""
    serial = seen.get("gpu_serial", "")
    return serial if serial.lower() not in NO_SERIAL else seen.get("gpu_uuid", "")


def _nics(root: Path) -> list[Part]:
    try:
        devices = sorted((root / "class" / "infiniband").iterdir())
    except OSError:
        return []
    return [Part(f"{NIC}/{one.name}", _guid(_read(one / "node_guid")), _read(one / "hca_type")) for one in devices]


def _guid(text: str) -> str:
    return text if text.strip("0:") else ""


def _chassis(root: Path) -> list[Part]:
    """Readable by root alone."""
    place = root / "class" / "dmi" / "id"
    return [Part(NODE, _read(place / "product_serial"), _read(place / "product_name"))]


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _clean(file.read(LONGEST).decode("utf-8", "replace"))
    except OSError:
        return ""


def _clean(text: str) -> str:
    return "".join(letter for letter in text if letter.isprintable()).strip()[:LONGEST]
