"""A BACnet/IP device as bacpypes3 makes it, for the tests: `python bacnet_device.py PORT`."""

import asyncio
import sys

from bacpypes3.ipv4.app import NormalApplication
from bacpypes3.local.analog import AnalogInputObject, AnalogValueObject
from bacpypes3.local.device import DeviceObject
from bacpypes3.pdu import IPv4Address

WELL = {"eventState": "normal", "outOfService": False, "units": "noUnits", "reliability": "noFaultDetected"}
INPUTS = (
    (1, 480.5, {}),
    (2, 31.0, {"reliability": "noSensor"}),  # which its status flags call a fault
    (3, 24.0, {"outOfService": True}),
)


async def main(port: int) -> None:
    device = DeviceObject(objectIdentifier=("device", 1001), objectName="plant", vendorIdentifier=999)
    app = NormalApplication(device, IPv4Address(f"127.0.0.1/8:{port}"))
    for number, value, state in INPUTS:
        about = {"objectIdentifier": ("analogInput", number), "objectName": f"in{number}", "presentValue": value}
        app.add_object(AnalogInputObject(**about, **(WELL | state)))
    speed = {"objectIdentifier": ("analogValue", 70_000), "objectName": "speed", "presentValue": 75.0}
    app.add_object(AnalogValueObject(**speed, **WELL))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
