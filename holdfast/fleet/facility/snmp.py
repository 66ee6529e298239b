"""SNMP v2c and v3 source: numbers by OID, and events when a value changes."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from holdfast.catalog import seam_signals
from holdfast.fleet.facility.building import host_and_port, refuse_unknown
from holdfast.model.signal import Event, Reading
from holdfast.runtime.source import ReadingBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class SnmpOid:
    oid: str
    signal: str = ""
    event: str = ""
    """Instead of a signal: a change of the value is an event of this kind, such as route_change."""
    subject: str = ""
    scale: float = 1.0
    offset: float = 0.0
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        if bool(self.signal) == bool(self.event):
            raise ValueError("expected a signal or an event, one of the two")
        if self.signal:
            refuse_unknown(self.signal)
        if not all(part.isdigit() for part in self.oid.strip(".").split(".")):
            raise ValueError(f"oid: expected numbers such as 1.3.6.1.4.1.9.9.13.1.3.1.3.1, found {self.oid!r}")


# Names of protocols in device manuals -> names in pysnmp.
AUTHENTICATIONS = {
    "md5": "USM_AUTH_HMAC96_MD5",
    "sha": "USM_AUTH_HMAC96_SHA",
    "sha256": "USM_AUTH_HMAC192_SHA256",
    "sha384": "USM_AUTH_HMAC256_SHA384",
    "sha512": "USM_AUTH_HMAC384_SHA512",
}
PRIVACIES = {"aes": "USM_PRIV_CFB128_AES", "aes256": "USM_PRIV_CFB256_AES"}
SHORTEST_KEY = 8  # least length of a passphrase, RFC 3414


@dataclass(frozen=True, slots=True, kw_only=True)
class SnmpSettings:
    subject: str
    address: str
    """HOST:PORT; 161 is the usual port."""
    oid: tuple[SnmpOid, ...]
    community_file: str = ""
    """Of v2c; the community is 'public' where no file is named."""
    user: str = ""
    """Makes it v3."""
    authentication: Literal["md5", "sha", "sha256", "sha384", "sha512"] = "sha256"
    authentication_file: str = ""
    """Its passphrase; without one no one is asked for a proof."""
    privacy: Literal["aes", "aes256"] = "aes"
    privacy_file: str = ""
    """Its passphrase; without one it is all readable on the way."""
    context: str = ""
    """Of v3, where a device keeps several views."""
    every: float = 30.0
    timeout: float = 3.0

    def __post_init__(self) -> None:
        host_and_port(self.address)
        if not self.oid:
            raise ValueError("oid: expected at least one")
        if self.user and self.community_file:
            raise ValueError("user: is of v3 and community_file of v2c, expected one of the two")
        if self.privacy_file and not self.authentication_file:
            raise ValueError("privacy_file: v3 has no privacy without an authentication_file")
        if self.authentication_file and not self.user:
            raise ValueError("authentication_file: expected a user with it")


class SnmpSource:
    def __init__(self, settings: SnmpSettings) -> None:
        self.settings = settings
        self.name = f"snmp {settings.subject}"
        self.every = settings.every
        self.deadline = settings.timeout * 2 + 1.0
        self.carries = tuple(dict.fromkeys(one.signal for one in settings.oid if one.signal))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._engine: Any = None  # kept, because creating one takes a second of CPU
        self._last: dict[str, str] = {}  # OID -> its last value, if a change is an event

    def read(self, now: float) -> Reading:
        try:
            who = self._user() if self.settings.user else self._community()
            self._loop = self._loop or asyncio.new_event_loop()
            found, trouble = self._loop.run_until_complete(self._ask(who))
        except ImportError:
            return self._blind(now, "pysnmp is not installed: pip install '.[facility]' in a clone")
        except (OSError, ValueError) as error:
            return self._blind(now, str(error))
        if trouble:
            return self._blind(now, trouble)
        builder, events = ReadingBuilder(), []
        for one in self.settings.oid:
            value = found.get(one.oid.strip("."))
            if value is None:
                if one.signal:
                    about = one.subject or self.settings.subject
                    builder.miss(about, f"{one.oid}: the device leaves it out of its answer", one.signal)
            elif one.event:
                events += self._changed(one, value, now)
            else:
                self._take(one, value, builder)
        return Reading(source=self.name, at=now, signals=builder.signals, absent=builder.absent, events=events)

    def _take(self, one: SnmpOid, value: Any, builder: ReadingBuilder) -> None:
        about = one.subject or self.settings.subject
        try:
            number = float(value.prettyPrint()) * one.scale + one.offset
        except (ValueError, AttributeError):
            answer = type(value).__name__
            builder.miss(about, f"{one.oid}: expected a number, the device says {answer}", one.signal)
            return
        if why := seam_signals.implausible(one.signal, number, one.least, one.most):
            builder.miss(about, f"{one.oid}: {why}; a broken sensor, or another scale", one.signal)
        else:
            builder.add(about, one.signal, number)

    def _changed(self, one: SnmpOid, value: Any, now: float) -> list[Event]:
        answer = str(value.prettyPrint())[:200] if hasattr(value, "prettyPrint") else ""
        before = self._last.get(one.oid)
        self._last[one.oid] = answer
        if before is None or before == answer:
            return []
        about = one.subject or self.settings.subject
        return [Event(kind=one.event, at=now, text=f"{one.oid} went from {before} to {answer}", subject=about)]

    async def _ask(self, who: Any) -> tuple[dict[str, Any], str]:
        """Values by OID, or the reason why there are none. A device may omit some or send others, so the order of the
        answer does not count."""
        from pysnmp.hlapi.v3arch.asyncio import (
            ContextData,
            ObjectIdentity,
            ObjectType,
            SnmpEngine,
            UdpTransportTarget,
            get_cmd,
        )

        self._engine = self._engine or SnmpEngine()
        where = host_and_port(self.settings.address)
        target = await UdpTransportTarget.create(where, timeout=self.settings.timeout, retries=1)
        wanted = [ObjectType(ObjectIdentity(one.oid.strip("."))) for one in self.settings.oid]
        view = ContextData(contextName=self.settings.context.encode())
        trouble, status, _, rows = await get_cmd(self._engine, who, target, view, *wanted, lookupMib=False)
        if trouble:
            return {}, f"no answer within {self.settings.timeout:g} s" if "imeout" in str(trouble) else str(trouble)
        if status:
            return {}, f"the device refuses: {status.prettyPrint()}"
        return {str(row[0]): row[1] for row in rows}, ""

    def _community(self) -> Any:
        from pysnmp.hlapi.v3arch.asyncio import CommunityData

        file = self.settings.community_file
        return CommunityData(Path(file).read_text(encoding="utf-8").strip() if file else "public", mpModel=1)

    def _user(self) -> Any:
        from pysnmp.entity import config
        from pysnmp.hlapi.v3arch.asyncio import UsmUserData

        own = self.settings
        proof, secret = _passphrase(own.authentication_file), _passphrase(own.privacy_file)
        return UsmUserData(
            own.user,
            authKey=proof,
            privKey=secret,
            authProtocol=getattr(config, AUTHENTICATIONS[own.authentication] if proof else "USM_AUTH_NONE"),
            privProtocol=getattr(config, PRIVACIES[own.privacy] if secret else "USM_PRIV_NONE"),
        )

    def _blind(self, now: float, why: str) -> Reading:
        return Reading(source=self.name, at=now, blind=f"{self.settings.subject}: {why}")


def _passphrase(file: str) -> str | None:
    if not file:
        return None
    text = Path(file).read_text(encoding="utf-8").strip()
    if len(text) < SHORTEST_KEY:
        raise ValueError(f"{file}: expected a passphrase of at least {SHORTEST_KEY} characters")
    return text
