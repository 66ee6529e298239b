"""Sends the timings of a serving process to the controller every few seconds, on one thread.

A controller that does not answer costs the process nothing.
"""

import atexit
import http.client
import json
import logging
import os
import threading
from time import perf_counter

from holdfast.runtime import http as bounded_http
from holdfast.runtime.errors import NoAnswer
from holdfast.serving.paths import take
from holdfast.serving.summary import Signal, signals

log = logging.getLogger("holdfast.serving")
EVERY_SECONDS = 10.0
TIMEOUT_SECONDS = 5.0
_running: "ServingReporter | None" = None


class ServingReporter(threading.Thread):
    def __init__(self, url: str, token: str, every: float) -> None:
        super().__init__(name="holdfast-serving", daemon=True)
        self._url, self._token, self._every = url.rstrip("/"), token, every
        self._ended = threading.Event()
        self._away = False

    def run(self) -> None:
        while not self._ended.wait(self._every):
            self.report()

    def report(self) -> None:
        found = signals(take(), perf_counter())
        if not found:
            return
        trouble = self._post(found)
        if trouble and not self._away:
            log.warning("timings are not reported: %s", trouble)
        self._away = bool(trouble)

    def _post(self, found: list[Signal]) -> str:
        rows = [{"subject": about, "name": name, "value": value} for about, name, value in found]
        body = json.dumps({"signals": rows, "cadence_seconds": self._every}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        try:
            answer = bounded_http.send("POST", f"{self._url}/v1/signals", headers, body, TIMEOUT_SECONDS)
        except NoAnswer as error:
            return str(error)
        return "" if answer.status == http.client.OK else f"the controller answers {answer.status}"

    def end(self) -> None:
        self._ended.set()
        self.join(TIMEOUT_SECONDS + 1)


def start(url: str = "", token: str = "", every: float = EVERY_SECONDS) -> None:
    """Starts the reporter; call it once per process. Defaults: $HOLDFAST_URL and $HOLDFAST_TOKEN. ValueError for an
    invalid address."""
    global _running
    url, token = url or os.environ.get("HOLDFAST_URL", ""), token or os.environ.get("HOLDFAST_TOKEN", "")
    bounded_http.check_url("the controller's address", url)
    if not every > 0:
        raise ValueError("every: expected more than 0 seconds")
    stop()
    _running = ServingReporter(url, token, every)
    _running.start()
    atexit.register(stop)


def stop() -> None:
    global _running
    ended, _running = _running, None
    if ended is not None:
        ended.end()
