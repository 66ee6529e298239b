"""Settings of the seams: files, and the evaluation interval."""

from dataclasses import dataclass

from holdfast.fleet.controller.seams import facility_file
from holdfast.fleet.incidents.business_context import BusinessContext, parse
from holdfast.formats.topology.file import read as read_topology
from holdfast.model.settings import SettingsError
from holdfast.model.topology import Topology
from holdfast.runtime.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamSettings:
    topology: str = ""
    """What cools, powers, connects, feeds what; see docs/topology.md. What nodes say of their place is added."""
    facility: str = ""
    """Which devices are read, and how; see docs/facility.md."""
    business_context: str = ""
    """Prices, milestones, who is on call; see docs/incidents.md."""
    step_seconds: float = 10.0
    """Of one column of the window."""
    minutes: float = 90.0
    """How far back the window reaches; all of it is in memory."""
    evaluate_seconds: float = 30.0
    close_seconds: float = 300.0
    """An incident ends when its finding has been gone for so long."""

    def __post_init__(self) -> None:
        if not 1 <= self.step_seconds <= 300:
            raise ValueError("seams.step_seconds: expected 1 to 300")
        if not 10 <= self.minutes <= 24 * 60:
            raise ValueError("seams.minutes: expected 10 to 1440")
        if self.evaluate_seconds < 1 or self.close_seconds < self.evaluate_seconds:
            raise ValueError("seams: expected evaluate_seconds >= 1 and close_seconds >= evaluate_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeamFiles:
    """Content of the files, read and validated before anything starts."""

    topology: Topology
    sources: list[Source]
    business_context: BusinessContext


def read(settings: SeamSettings) -> SeamFiles:
    return SeamFiles(
        topology=_topology(settings.topology) if settings.topology else Topology(),
        sources=facility_file.load(settings.facility) if settings.facility else [],
        business_context=_business_context(settings.business_context)
        if settings.business_context
        else BusinessContext(),
    )


def _topology(path: str) -> Topology:
    try:
        return read_topology(_text(path))
    except ValueError as error:
        raise error if isinstance(error, SettingsError) else SettingsError(f"{path}: {error}") from None


def _business_context(path: str) -> BusinessContext:
    return parse(_text(path), path)


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
