"""A BACnet/IP device of another make (bacpypes3), and all that can be wrong with what one says."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.fleet.facility.bacnet import BacnetObject, BacnetSettings, BacnetSource
from tests.ports import free_port

from .server import served

FLOW = BacnetObject(signal="cdu_flow_litres_per_minute", instance=1)


def _source(address: str, *objects: BacnetObject, timeout: float = 20.0) -> BacnetSource:
    return BacnetSource(BacnetSettings(subject="cdu/c2", address=address, object=objects, timeout=timeout))


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("bacpypes3")
    port = free_port()
    address = f"127.0.0.1:{port}"
    command = [sys.executable, str(Path(__file__).with_name("bacnet_device.py")), str(port)]
    probe = _source(address, FLOW, timeout=0.5)
    with served(command, tmp_path_factory.mktemp("bacnet") / "log", lambda: not probe.read(0.0).blind):
        yield address


@pytest.mark.slow
def test_objects_of_a_real_device_become_signals(device: str) -> None:
    speed = BacnetObject(signal="cdu_pump_speed_ratio", instance=70_000, type="analog-value", scale=0.01)
    reading = _source(device, FLOW, speed).read(5.0)
    assert not reading.blind and not reading.absent
    assert [(one.subject, one.name, one.value) for one in reading.signals] == [
        ("cdu/c2", "cdu_flow_litres_per_minute", 480.5),
        ("cdu/c2", "cdu_pump_speed_ratio", 0.75),
    ]


@pytest.mark.slow
def test_what_the_device_itself_distrusts_and_what_is_not_there_are_named(device: str) -> None:
    faulty = BacnetObject(signal="cdu_supply_celsius", instance=2)
    resting = BacnetObject(signal="ambient_celsius", instance=3, subject="room/hall1")
    missing = BacnetObject(signal="cdu_return_celsius", instance=9)
    wrong = BacnetObject(signal="cdu_pump_speed_ratio", instance=1)
    reading = _source(device, FLOW, faulty, resting, missing, wrong).read(5.0)
    assert [one.name for one in reading.signals] == ["cdu_flow_litres_per_minute"]
    assert "marks it as faulty" in reading.absent["cdu/c2", "cdu_supply_celsius"]
    assert "out of service" in reading.absent["room/hall1", "ambient_celsius"]
    assert "no such object" in reading.absent["cdu/c2", "cdu_return_celsius"]
    assert "analog-input 1: 480.5 cannot be" in reading.absent["cdu/c2", "cdu_pump_speed_ratio"]


@contextmanager
def _answering(answer: Callable[[bytes], list[bytes]]) -> Iterator[str]:
    """A device of our own that answers each question with these packets."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))
        line.settimeout(30)

        def serve() -> None:
            try:
                while True:
                    question, where = line.recvfrom(2000)
                    for packet in answer(question):
                        line.sendto(packet, where)
            except OSError:
                return  # closed, or no one asks any more

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{line.getsockname()[1]}"


def _wrapped(apdu: bytes) -> bytes:
    return bytes([0x81, 0x0A, 0, 6 + len(apdu), 1, 0]) + apdu


def test_a_device_that_knows_only_single_questions_is_asked_so() -> None:
    def answer(question: bytes) -> list[bytes]:
        invoke, service = question[8], question[9]
        if service == 14:
            return [_wrapped(bytes([0x60, invoke, 9]))]
        asked = question[11:15]
        return [_wrapped(bytes([0x30, invoke, 12, 0x0C, *asked, 0x19, 85, 0x3E, 0x44, 0x43, 0xF0, 0, 0, 0x3F]))]

    with _answering(answer) as address:
        source = _source(address, FLOW)
        assert [one.value for one in source.read(5.0).signals] == [480.0]
        assert [one.value for one in source.read(6.0).signals] == [480.0]


def test_a_late_answer_to_an_earlier_question_is_passed_over() -> None:
    def answer(question: bytes) -> list[bytes]:
        def message(invoke: int, high: int) -> bytes:
            value = bytes([0x4E, 0x44, 0x43, high, 0, 0, 0x4F])
            return _wrapped(bytes([0x30, invoke, 14, 0x0C, *question[11:15], 0x1E, 0x29, 85]) + value + b"\x1f")

        return [message((question[8] - 1) % 256, 0x70), message(question[8], 0xF0)]

    with _answering(answer) as address:
        assert [one.value for one in _source(address, FLOW).read(5.0).signals] == [480.0]


def _value(question: bytes, value: str) -> bytes:
    """The answer to a question for one object, with this encoded value."""
    inner = bytes([0x4E]) + bytes.fromhex(value) + bytes([0x4F])
    return _wrapped(bytes([0x30, question[8], 14, 0x0C, *question[11:15], 0x1E, 0x29, 85]) + inner + b"\x1f")


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("4442480000", 50.0),
        ("55084049000000000000", 50.0),
        ("2132", 50.0),
        ("31ce", -50.0),
        ("9101", 1.0),
        ("11", 1.0),
    ],
)
def test_a_value_of_any_numeric_type_is_a_number(value: str, number: float) -> None:
    wide = BacnetObject(signal="cdu_flow_litres_per_minute", instance=1, least=-100.0)
    with _answering(lambda question: [_value(question, value)]) as address:
        assert [one.value for one in _source(address, wide).read(5.0).signals] == [number]


@pytest.mark.parametrize("value", ["00", "7505006f6e6565", "", "44424800004442480000", "4142", "5500", "f5"])
def test_what_is_no_number_is_absent_or_blind(value: str) -> None:
    with _answering(lambda question: [_value(question, value)]) as address:
        reading = _source(address, FLOW, timeout=0.5).read(5.0)
    assert not reading.signals and (reading.absent or reading.blind)


@pytest.mark.parametrize("packet", [b"", b"hello there", _wrapped(b"\x38\x00\x0e\x00"), _wrapped(b"\x30")])
def test_bytes_that_are_no_answer_are_blind(packet: bytes) -> None:
    with _answering(lambda question: [packet]) as address:
        assert "no answer within 0.5 s" in _source(address, FLOW, timeout=0.5).read(5.0).blind


def test_a_refusal_of_all_objects_is_absence_with_the_reason() -> None:
    with _answering(lambda question: [_wrapped(bytes([0x71, question[8], 4]))]) as address:
        reading = _source(address, FLOW).read(5.0)
    assert "the device refuses the request" in reading.absent["cdu/c2", "cdu_flow_litres_per_minute"]


def test_no_one_there_is_blind() -> None:
    reading = _source(f"127.0.0.1:{free_port()}", FLOW, timeout=0.3).read(5.0)
    assert "no answer" in reading.blind or "cannot be reached" in reading.blind


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"signal": "cdu_flow_gallons", "instance": 0}, "not one of the signals"),
        ({"signal": "cdu_supply_celsius", "instance": 1 << 22}, "expected 0 to"),
        ({"signal": "cdu_supply_celsius", "instance": 1, "scale": 0.0}, "another number than 0"),
    ],
)
def test_a_wrong_map_is_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        BacnetObject(**settings)  # type: ignore[arg-type]
