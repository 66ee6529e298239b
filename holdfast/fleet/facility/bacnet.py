"""A device of the building over BACnet/IP: which object is which signal is a TOML table. It only ever reads."""

import itertools
import socket
import time
from dataclasses import dataclass
from typing import Literal

from holdfast.catalog import plausible
from holdfast.fleet.facility.building import host_and_port, refuse_unknown, refuse_zero
from holdfast.formats.facility import bacnet
from holdfast.formats.facility.bacnet import Answer, Point, Told
from holdfast.formats.facility.bacnet_tags import LONGEST, NotBacnet
from holdfast.model.signal import Reading
from holdfast.runtime.source import ReadingBuilder

AT_ONCE = 20  # objects in one question, so that the answer fits one packet
Kind = Literal[
    "analog-input", "analog-output", "analog-value", "binary-input", "binary-value", "multi-state-input",
    "multi-state-value", "accumulator", "large-analog-value", "integer-value", "positive-integer-value",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BacnetObject:
    signal: str
    instance: int
    type: Kind = "analog-input"
    scale: float = 1.0
    offset: float = 0.0
    subject: str = ""
    """Where the device speaks of several things; '' is the device's own subject."""
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        refuse_unknown(self.signal)
        if not 0 <= self.instance <= bacnet.LARGEST_INSTANCE:
            raise ValueError(f"instance: expected 0 to {bacnet.LARGEST_INSTANCE}, found {self.instance}")
        refuse_zero(self.scale)

    @property
    def point(self) -> Point:
        return Point(bacnet.TYPES[self.type], self.instance)


@dataclass(frozen=True, slots=True, kw_only=True)
class BacnetSettings:
    subject: str
    address: str
    """HOST:PORT; 47808 is the usual port."""
    object: tuple[BacnetObject, ...]
    every: float = 30.0
    timeout: float = 3.0

    def __post_init__(self) -> None:
        host_and_port(self.address)
        if not self.object:
            raise ValueError("object: expected at least one")


class BacnetSource:
    def __init__(self, settings: BacnetSettings) -> None:
        self.settings = settings
        self.name = f"bacnet {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout * (len(settings.object) + 1) + 1.0
        self.carries = tuple(dict.fromkeys(one.signal for one in settings.object))
        self._one_by_one = False  # a device that does not know the question for many
        self._invoke = itertools.cycle(range(256))

    def read(self, now: float) -> Reading:
        points = list(dict.fromkeys(one.point for one in self.settings.object))
        try:
            with self._connected() as line:
                told = self._many(line, points)
        except TimeoutError:
            return self._blind(now, f"{self.settings.address}: no answer within {self.settings.timeout:g} s")
        except OSError as error:
            return self._blind(now, f"{self.settings.address} cannot be reached: {error.strerror or error}")
        except NotBacnet as error:
            return self._blind(now, f"{self.settings.address}: {error}")
        builder = ReadingBuilder()
        for one in self.settings.object:
            self._note(one, told.get(one.point, Told(None, "the device leaves it out of its answer")), builder)
        return builder.build(self.name, now)

    def _connected(self) -> socket.socket:
        """A socket that hears this device alone."""
        host, port = host_and_port(self.settings.address)
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        line = socket.socket(family, kind)
        try:
            line.connect(where)
        except OSError:
            line.close()
            raise
        return line

    def _many(self, line: socket.socket, points: list[Point]) -> dict[Point, Told]:
        found: dict[Point, Told] = {}
        for first in range(0, len(points), AT_ONCE):
            part = points[first : first + AT_ONCE]
            if not self._one_by_one:
                invoke = next(self._invoke)
                answer = self._ask(line, bacnet.ask_many(part, invoke), invoke)
                self._one_by_one = answer.unknown_service
                found |= answer.told or {point: Told(None, answer.refused) for point in part}
            if self._one_by_one:
                found |= {point: self._one(line, point) for point in part}
        return found

    def _one(self, line: socket.socket, point: Point) -> Told:
        invoke = next(self._invoke)
        answer = self._ask(line, bacnet.ask_one(point, invoke), invoke)
        return answer.told.get(point, Told(None, answer.refused or "the device tells of another object"))

    def _ask(self, line: socket.socket, question: bytes, invoke: int) -> Answer:
        """The answer to this question; what comes late to an earlier one is passed over."""
        line.send(question)
        until = time.monotonic() + self.settings.timeout
        while (left := until - time.monotonic()) > 0:
            line.settimeout(left)
            answer = bacnet.understand(line.recv(LONGEST + 1024))
            if answer.invoke == invoke:
                return answer
        raise TimeoutError

    def _note(self, one: BacnetObject, told: Told, builder: ReadingBuilder) -> None:
        about, where = one.subject or self.settings.subject, f"{one.type} {one.instance}"
        if told.value is None:
            builder.miss(about, f"{where}: {told.why}", one.signal)
            return
        value = told.value * one.scale + one.offset
        if why := plausible.absurd(one.signal, value, one.least, one.most):
            builder.miss(about, f"{where}: {why}; a broken sensor, or another scale", one.signal)
        else:
            builder.add(about, one.signal, value)

    def _blind(self, now: float, why: str) -> Reading:
        return Reading(source=self.name, at=now, blind=f"{self.settings.subject}: {why}")
