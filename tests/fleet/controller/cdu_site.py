"""A cooling unit that answers Modbus, and an Alertmanager with its webhook: real servers on loopback."""

import asyncio
import json
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.fleet.controller.running import until
from tests.ports import free_port

FLOW, SUPPLY, RETURN, PUMP, PRESSURE = range(5)
REGISTERS = """
[[modbus]]
subject = "cdu/c2"
address = "{address}"
every = 10
timeout = 2
[[modbus.register]]
signal = "cdu_flow_litres_per_minute"
register = 0
[[modbus.register]]
signal = "cdu_supply_celsius"
register = 1
type = "int16"
scale = 0.1
[[modbus.register]]
signal = "cdu_return_celsius"
register = 2
scale = 0.1
[[modbus.register]]
signal = "cdu_pump_speed_ratio"
register = 3
scale = 0.001
[[modbus.register]]
signal = "cdu_differential_pressure_pascals"
register = 4
scale = 10
"""


class Cdu:
    """A pymodbus server on a thread of its own; another writes its registers, noise and all, as a unit's would."""

    def __init__(self) -> None:
        self.flow = 480.0
        self.supply = 32.0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(30)
        self._ended = threading.Event()
        self._living = threading.Thread(target=self._live, daemon=True)

    def live(self) -> None:
        """Until it is stopped its instruments are never still."""
        self._living.start()

    def _serve(self) -> None:
        from pymodbus.server import ModbusTcpServer
        from pymodbus.simulator import DataType, SimData, SimDevice

        async def main() -> None:
            device = SimDevice(1, [SimData(0, values=[480, 320, 400, 750, 15_000], datatype=DataType.REGISTERS)])
            self._server = ModbusTcpServer(device, address=("127.0.0.1", 0))
            await self._server.serve_forever(background=True)
            self.port = self._server.transport.sockets[0].getsockname()[1]
            self._ready.set()

        self._loop.run_until_complete(main())
        self._loop.run_forever()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _live(self) -> None:
        from pymodbus.client import ModbusTcpClient

        chance = random.Random(7)
        client: Any = ModbusTcpClient("127.0.0.1", port=self.port, timeout=30)
        assert client.connect()
        while not self._ended.wait(0.05):
            client.write_registers(0, self._values(chance), device_id=1)
        client.close()

    def _values(self, chance: random.Random) -> list[int]:
        flow = self.flow * (1 + chance.gauss(0, 0.004))
        share = self.flow / 480
        return [
            round(flow),
            round(10 * (self.supply + chance.gauss(0, 0.1))),
            round(10 * (self.supply + 8 / share + chance.gauss(0, 0.1))),
            750,
            round(15_000 * share**2 * (1 + chance.gauss(0, 0.005))),
        ]

    def stop(self) -> None:
        self._ended.set()
        if self._living.ident is not None:
            self._living.join(30)
        asyncio.run_coroutine_threadsafe(self._server.shutdown(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)


class Hook:
    """Takes what is posted to it and keeps it."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, str], Any]] = []
        keep = self.posts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                keep.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def at(self, path: str) -> list[Any]:
        return [body for where, _, body in self.posts if where == path]

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def alertmanager(directory: Path, hook: str) -> Iterator[str]:
    program = shutil.which("prometheus-alertmanager")
    if program is None:
        pytest.skip("prometheus-alertmanager is not installed")
    directory.mkdir()
    config = directory / "am.yml"
    config.write_text(
        "route: {receiver: hook, group_by: [root], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}\n"
        f"receivers: [{{name: hook, webhook_configs: [{{url: '{hook}/alertmanager'}}]}}]\n"
    )
    port = free_port()
    command = [program, f"--config.file={config}", f"--storage.path={directory}", "--cluster.listen-address="]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"

        def ready() -> bool:
            try:
                return httpx.get(f"{url}/-/ready", trust_env=False).status_code == 200
            except httpx.HTTPError:
                return False

        until(ready, "Alertmanager is ready")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
