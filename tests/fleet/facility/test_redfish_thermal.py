"""sushy-tools' emulator as a BMC, and whatever else a BMC may say."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.facility.json_api import CannotRead, get_object
from holdfast.fleet.facility.redfish_thermal import RedfishThermalSettings, RedfishThermalSource
from tests.ports import free_port

from .server import served

EMULATOR = Path(sys.executable).with_name("sushy-emulator")


@pytest.mark.slow
def test_the_emulators_chassis_is_read(tmp_path: Path) -> None:
    if not EMULATOR.exists():
        pytest.skip("sushy-tools is not installed")
    port = free_port()
    system = {"uuid": "10000000-0000-0000-0000-000000000001", "name": "n1", "power_state": "On", "nics": []}
    (tmp_path / "sushy.conf").write_text(
        f"SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {port}\n"
        f"SUSHY_EMULATOR_FAKE_DRIVER = True\nSUSHY_EMULATOR_FAKE_SYSTEMS = [{system!r}]\n"
    )
    url = f"http://127.0.0.1:{port}"

    def ready() -> bool:
        try:
            return bool(get_object(f"{url}/redfish/v1/Chassis", 5.0))
        except CannotRead:
            return False

    with served([str(EMULATOR), "--config", "sushy.conf", "--fake"], tmp_path / "log", ready):
        member = get_object(f"{url}/redfish/v1/Chassis", 10.0)["Members"][0]["@odata.id"]
        settings = RedfishThermalSettings(subject="node/n1", url=url + member, timeout=20.0)
        reading = RedfishThermalSource(settings).read(5.0)
    values = {one.name: one.value for one in reading.signals}
    assert values["node_inlet_celsius"] == 25 and values["fan_speed_ratio"] == pytest.approx(0.415)
    assert "404" in reading.absent["node/n1", "psu_healthy"], "the emulator has no Power page"


class Bmc:
    def __init__(self) -> None:
        self.pages: dict[str, Any] = {}
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = own.pages.get(self.path.removeprefix("/redfish/v1/Chassis/1/"))
                body = page if isinstance(page, bytes) else json.dumps(page).encode()
                self.send_response(200 if page is not None else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        url = f"http://127.0.0.1:{self.server.server_port}/redfish/v1/Chassis/1"
        self.source = RedfishThermalSource(RedfishThermalSettings(subject="node/n1", url=url, timeout=10.0))


@pytest.fixture
def bmc() -> Iterator[Bmc]:
    made = Bmc()
    yield made
    made.server.shutdown()
    made.server.server_close()


def test_supplies_power_and_a_leak(bmc: Bmc) -> None:
    bmc.pages["Thermal"] = {"Temperatures": [{"Name": "Inlet", "ReadingCelsius": 31}]}
    bmc.pages["Power"] = {
        "PowerControl": [{"PowerConsumedWatts": 5200}],
        "PowerSupplies": [
            {"MemberId": "0", "Status": {"Health": "OK"}, "LastPowerOutputWatts": 2600},
            {"MemberId": "1", "Status": {"Health": "Critical"}, "LastPowerOutputWatts": 0},
        ],
    }
    bmc.pages["ThermalSubsystem/LeakDetection/LeakDetectors"] = {
        "Members": [{"Name": "tray", "DetectorState": "Critical"}]
    }
    reading = bmc.source.read(5.0)
    values = {(one.subject, one.name): one.value for one in reading.signals}
    assert values["node/n1", "node_power_watts"] == 5200
    assert values["psu/n1-0", "psu_healthy"] == 1 and values["psu/n1-1", "psu_healthy"] == 0
    assert [event.kind for event in reading.events] == ["leak"]
    assert bmc.source.read(6.0).events == [], "values once"


@pytest.mark.parametrize(
    "page",
    [b"<html>", b"[]", b"null", {"Temperatures": "warm"}, {"Temperatures": [{"Name": "Inlet", "ReadingCelsius": 900}]}],
)
def test_whatever_a_bmc_says_is_no_value_and_no_crash(bmc: Bmc, page: Any) -> None:
    bmc.pages["Thermal"] = bmc.pages["Power"] = page
    reading = bmc.source.read(5.0)
    assert not reading.signals and (reading.blind or reading.absent)


def test_no_one_there_is_blind() -> None:
    url = f"http://127.0.0.1:{free_port()}/redfish/v1/Chassis/1"
    assert RedfishThermalSource(RedfishThermalSettings(subject="node/n1", url=url)).read(5.0).blind
    with pytest.raises(ValueError, match="expected that of a chassis"):
        RedfishThermalSettings(subject="node/n1", url="https://bmc/")
