"""snmpsim as a device of the building: numbers, texts, nothing there, and a value whose change is an event."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.fleet.facility.snmp import SnmpOid, SnmpSettings, SnmpSource
from holdfast.model.signal import Reading
from tests.ports import free_port

from .server import served

SIMULATOR = Path(sys.executable).with_name("snmpsim-command-responder")
AMBIENT, TEXT, ROUTES, MISSING = (f"1.3.6.1.4.1.99999.1.{number}.0" for number in (1, 2, 3, 9))


def _source(address: str, *oids: SnmpOid, timeout: float = 20.0) -> SnmpSource:
    return SnmpSource(SnmpSettings(subject="room/hall1", address=address, oid=oids, timeout=timeout))


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("pysnmp")
    if not SIMULATOR.exists():
        pytest.skip("snmpsim is not installed")
    home = tmp_path_factory.mktemp("snmp")
    (home / "data").mkdir()
    (home / "data" / "public.snmprec").write_text(f"{AMBIENT}|2|243\n{TEXT}|4|warm\n{ROUTES}|65|17\n")
    address = f"127.0.0.1:{free_port()}"
    command = [str(SIMULATOR), "--data-dir=data", "--cache-dir=cache", f"--agent-udpv4-endpoint={address}"]
    command += ["--process-user=root", "--process-group=root"]
    command += ["--v3-user=reader", "--v3-auth-key=a long proof", "--v3-auth-proto=SHA256"]
    command += ["--v3-priv-key=a long secret", "--v3-priv-proto=AES"]
    probe = _source(address, SnmpOid(oid=AMBIENT, signal="ambient_celsius", scale=0.1), timeout=1.0)
    with served(command, home / "log", lambda: not probe.read(0.0).blind):
        yield address


@pytest.mark.slow
def test_numbers_texts_and_what_is_not_there(device: str) -> None:
    reading = _source(
        device,
        SnmpOid(oid=AMBIENT, signal="ambient_celsius", scale=0.1),
        SnmpOid(oid=TEXT, signal="rack_inlet_celsius", subject="rack/r1"),
        SnmpOid(oid=MISSING, signal="rack_flow_litres_per_minute", subject="rack/r1"),
        SnmpOid(oid=AMBIENT, signal="ambient_celsius", subject="room/hall2"),
    ).read(5.0)
    assert [(one.subject, one.name) for one in reading.signals] == [("room/hall1", "ambient_celsius")]
    assert reading.signals[0].value == pytest.approx(24.3)
    assert "expected a number" in reading.absent["rack/r1", "rack_inlet_celsius"]
    assert "expected a number" in reading.absent["rack/r1", "rack_flow_litres_per_minute"]
    assert "243 cannot be" in reading.absent["room/hall2", "ambient_celsius"], "the scale was forgotten"


@pytest.mark.slow
def test_a_value_that_changes_is_an_event(device: str) -> None:
    source = _source(device, SnmpOid(oid=ROUTES, event="route_change", subject="switch/leaf1"))
    assert source.read(5.0).events == [] and source.read(6.0).events == []
    source._last[ROUTES] = "16"
    (event,) = source.read(7.0).events
    assert (event.kind, event.subject) == ("route_change", "switch/leaf1") and "from 16 to 17" in event.text


@pytest.mark.slow
def test_version_3_proves_who_asks_and_hides_what_is_reported(device: str, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    (tmp_path / "proof").write_text("a long proof\n")
    (tmp_path / "secret").write_text("a long secret\n")
    (tmp_path / "wrong").write_text("another proof\n")

    def read(proof: str) -> Reading:
        settings = SnmpSettings(
            subject="room/hall1", address=device, oid=(SnmpOid(oid=AMBIENT, signal="ambient_celsius", scale=0.1),),
            user="reader", context="public", timeout=10.0, authentication_file=str(tmp_path / proof),
            privacy_file=str(tmp_path / "secret"),
        )  # fmt: skip
        return SnmpSource(settings).read(5.0)

    right = read("proof")
    assert not right.blind and [one.value for one in right.signals] == [pytest.approx(24.3)]
    wrong = read("wrong")
    assert wrong.blind and not wrong.signals
    (tmp_path / "short").write_text("short")
    assert "at least 8" in read("short").blind


@pytest.mark.slow
def test_no_one_there_is_blind() -> None:
    pytest.importorskip("pysnmp")
    address = f"127.0.0.1:{free_port()}"
    assert "no answer" in _source(address, SnmpOid(oid=AMBIENT, signal="ambient_celsius"), timeout=0.2).read(5.0).blind


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"oid": "1.3.x", "signal": "ambient_celsius"}, "expected numbers"),
        ({"oid": "1.3.6"}, "one of the two"),
        ({"oid": "1.3.6", "signal": "ambient_celsius", "event": "route_change"}, "one of the two"),
        ({"oid": "1.3.6", "signal": "hall_warmth"}, "not one of the signals"),
    ],
)
def test_a_wrong_oid_is_refused(facts: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        SnmpOid(**facts)  # type: ignore[arg-type]
