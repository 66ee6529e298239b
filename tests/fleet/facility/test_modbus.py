"""A real Modbus server, and all that can be wrong with what it says."""

import socket
import threading
from collections.abc import Iterator

import pytest

from holdfast.fleet.facility.modbus import ModbusRegister, ModbusSettings, ModbusSource
from tests.fleet.controller.cdu_site import Cdu
from tests.ports import free_port

pytest.importorskip("pymodbus")
FLOW = ModbusRegister(signal="cdu_flow_litres_per_minute", register=0)


@pytest.fixture(scope="module")
def cdu() -> Iterator[Cdu]:
    unit = Cdu()
    yield unit
    unit.stop()


def _source(address: str, *registers: ModbusRegister, timeout: float = 5.0) -> ModbusSource:
    return ModbusSource(ModbusSettings(subject="cdu/c2", address=address, register=registers, timeout=timeout))


def test_registers_become_signals(cdu: Cdu) -> None:
    supply = ModbusRegister(signal="cdu_supply_celsius", register=1, type="int16", scale=0.1, table="input")
    reading = _source(cdu.address, FLOW, supply).read(5.0)
    assert not reading.blind and not reading.absent
    assert [(one.subject, one.name, one.value) for one in reading.signals] == [
        ("cdu/c2", "cdu_flow_litres_per_minute", 480.0),
        ("cdu/c2", "cdu_supply_celsius", 32.0),
    ]


def test_a_register_that_is_not_there_hides_no_other(cdu: Cdu) -> None:
    missing = ModbusRegister(signal="cdu_supply_celsius", register=900)
    reading = _source(cdu.address, missing, FLOW).read(5.0)
    assert [one.name for one in reading.signals] == ["cdu_flow_litres_per_minute"]
    assert "no such register" in reading.absent["cdu/c2", "cdu_supply_celsius"]


def test_a_wrong_type_is_absurd_and_named(cdu: Cdu) -> None:
    wrong = ModbusRegister(signal="cdu_flow_litres_per_minute", register=0, type="uint32")
    reading = _source(cdu.address, wrong).read(5.0)
    assert not reading.signals
    why = reading.absent["cdu/c2", "cdu_flow_litres_per_minute"]
    assert "cannot be" in why and "register 0 (uint32)" in why and "type" in why


def test_no_one_there_is_blind(cdu: Cdu) -> None:
    assert "cannot be reached" in _source(f"127.0.0.1:{free_port()}", FLOW, timeout=1).read(5.0).blind


def test_one_that_never_answers_is_blind() -> None:
    """It takes the connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        threading.Thread(target=silent.accept, daemon=True).start()
        reading = _source(f"127.0.0.1:{silent.getsockname()[1]}", FLOW, FLOW, timeout=1.0).read(5.0)
    assert "no answer within 1 s" in reading.blind


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"signal": "cdu_flow_gallons", "register": 0}, "not one of the signals"),
        ({"signal": "cdu_supply_celsius", "register": 70_000}, "expected 0 to 65535"),
        ({"signal": "cdu_supply_celsius", "register": 1, "scale": 0.0}, "another number than 0"),
    ],
)
def test_a_wrong_map_is_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ModbusRegister(**settings)  # type: ignore[arg-type]
