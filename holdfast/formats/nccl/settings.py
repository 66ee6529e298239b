"""NCCL settings, version and ports of a process. Only NCCL_*, TORCH_NCCL_* and TORCH_FR_* are kept."""

import re
from collections.abc import Mapping
from typing import NamedTuple

_PREFIXES = (b"NCCL_", b"TORCH_NCCL_", b"TORCH_FR_")
_RECORDER_ENTRIES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")  # the newer name takes precedence
_LIBRARY = re.compile(r"libnccl\.so\.(\d+\.\d+\.\d+)$")
_ANY_LIBRARY = re.compile(r"/libnccl(?:-[\w.]+)?\.so[\w.]*$")
_WHEEL = re.compile(r"nvidia_nccl_cu\d+-(\d+\.\d+\.\d+)(?:[.\w]*)\.dist-info")
_MAX_SETTINGS = 200


def nccl_settings(environ: bytes) -> dict[str, str]:
    """NCCL and Flight Recorder settings of a /proc/PID/environ; all other variables are dropped before they are
    decoded."""
    kept = [entry for entry in environ.split(b"\0") if entry.startswith(_PREFIXES) and b"=" in entry][:_MAX_SETTINGS]
    pairs = (entry.decode("utf-8", "backslashreplace").partition("=") for entry in kept)
    return {name: value for name, _, value in pairs}


def nccl_conf(text: str) -> dict[str, str]:
    """Settings of an /etc/nccl.conf, which apply where the environment has none."""
    lines = (line.strip() for line in text.splitlines())
    return nccl_settings(b"\0".join(line.encode("utf-8", "replace") for line in lines))


def whole_number(text: str | None) -> int | None:
    """A setting as NCCL reads it, decimal or 0x; None for values that NCCL would reject."""
    if text is None or len(text) > 20:
        return None
    try:
        return int(text.strip(), 0)
    except ValueError:
        return None


def recorder_setting(settings: Mapping[str, str]) -> str:
    """The variable that sets how many collectives the Flight Recorder keeps: the one of its two names that is set."""
    return next((name for name in _RECORDER_ENTRIES if name in settings), _RECORDER_ENTRIES[-1])


def may_use_rdma(settings: Mapping[str, str]) -> bool:
    """Whether a job may use RDMA ports: not if NCCL is set to use plain sockets."""
    disabled = whole_number(settings.get("NCCL_IB_DISABLE"))
    return not disabled and settings.get("NCCL_NET", "").strip().lower() != "socket"


def mapped_library(maps: str) -> str:
    """The path of the NCCL library in a /proc/PID/maps, or ''."""
    for line in maps.splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and _ANY_LIBRARY.search(path := fields[5].removesuffix(" (deleted)").strip()):
            return path
    return ""


def version_in_path(path: str) -> str:
    """'.../libnccl.so.2.21.5' -> '2.21.5'; '' if the name has no version."""
    found = _LIBRARY.search(path)
    return found[1] if found else ""


def version_in_wheel(entry: str) -> str:
    """'nvidia_nccl_cu12-2.21.5.dist-info' (which pip installs next to the library) -> '2.21.5'."""
    found = _WHEEL.fullmatch(entry)
    return found[1] if found else ""


class _Port(NamedTuple):
    device: str
    number: str  # '' means every port of the device


def may_use_port(hca: str, device: str, number: str) -> bool:
    """Whether NCCL_IB_HCA lets a job use a port.

    The value is a list of prefixes ('mlx5'), of exact names after '=', or of excluded names after '^', each with an
    optional ':port'. Unset means every port.
    """
    body = hca.strip()
    exclude = body.startswith("^")
    body = body.removeprefix("^")
    exact = body.startswith("=")
    tokens = [token.strip().partition(":") for token in body.removeprefix("=").split(",") if token.strip()]
    if not tokens:
        return True
    listed = any(_matches(_Port(name, port.partition(":")[0]), device, number, exact) for name, _, port in tokens)
    return listed is not exclude


def _matches(wanted: _Port, device: str, number: str, exact: bool) -> bool:
    same_device = device == wanted.device if exact else device.startswith(wanted.device)
    return same_device and wanted.number in ("", number)
