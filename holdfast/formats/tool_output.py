"""ToolOutput: signals, events and complaints from a tool's output. All readers return it."""

from dataclasses import dataclass, field

from holdfast.model.signal import Event, Value

NODE = ""  # the node itself; other places are `gpu/3`, `nic/mlx5_0/1`, or absolute: `switch/leaf1/port/3`, `node/n17`
NOT_SUPPORTED = "not supported by this GPU/driver"


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error that the tool itself reports."""

    place: str
    text: str
    fails: bool = True  # False: degraded
    remedy: str = ""
    unknown: bool = False  # the result is unknown: the output is truncated, or a tool failed


@dataclass(slots=True)
class ToolOutput:
    tool: str
    version: str = ""
    signals: list[tuple[str, str, Value]] = field(default_factory=list)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)
    present: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    lines: int = 0  # a log: it was read, even if it reports nothing

    def add(self, place: str, name: str, value: Value) -> None:
        self.signals.append((place, name, value))

    def miss(self, place: str, name: str, reason: str) -> None:
        self.absent[place, name] = reason

    def see(self, place: str) -> None:
        if place not in self.present:
            self.present.append(place)

    def complain(self, place: str, text: str, *, fails: bool = True, remedy: str = "") -> None:
        self.complaints.append(Complaint(place, " ".join(text.split())[:400], fails, remedy))

    def doubt(self, place: str, text: str) -> None:
        self.complaints.append(Complaint(place, " ".join(text.split())[:400], fails=False, unknown=True))
