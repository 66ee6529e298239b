"""Tells the controller what the books say, every few seconds, on one thread; one that is away costs nothing."""

import atexit
import http.client
import json
import logging
import os
import threading
from time import perf_counter
from urllib.parse import urlsplit

from holdfast.serving.paths import take
from holdfast.serving.summary import Signal, signals

log = logging.getLogger("holdfast.serving")
EVERY_SECONDS = 10.0
TIMEOUT_SECONDS = 5.0
_running: "Teller | None" = None


class Teller(threading.Thread):
    def __init__(self, url: str, token: str, every: float) -> None:
        super().__init__(name="holdfast-serving", daemon=True)
        self._url, self._token, self._every = urlsplit(url), token, every
        self._ended = threading.Event()
        self._away = False

    def run(self) -> None:
        while not self._ended.wait(self._every):
            self.tell()

    def tell(self) -> None:
        found = signals(take(), perf_counter())
        if not found:
            return
        trouble = self._post(found)
        if trouble and not self._away:
            log.warning("timings are not told: %s", trouble)
        self._away = bool(trouble)

    def _post(self, found: list[Signal]) -> str:
        told = [{"subject": about, "name": name, "value": value} for about, name, value in found]
        body = json.dumps({"signals": told, "cadence_seconds": self._every}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        secure = self._url.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("POST", "/v1/signals", body, headers)
            answer = connection.getresponse()
            return "" if answer.status == http.client.OK else f"the controller answers {answer.status}"
        except (OSError, http.client.HTTPException) as error:
            return str(error) or type(error).__name__
        finally:
            connection.close()

    def end(self) -> None:
        self._ended.set()
        self.join(TIMEOUT_SECONDS + 1)


def start(url: str = "", token: str = "", every: float = EVERY_SECONDS) -> None:
    """Once per process; $HOLDFAST_URL and $HOLDFAST_TOKEN where nothing is named. ValueError for what is no address."""
    global _running
    url, token = url or os.environ.get("HOLDFAST_URL", ""), token or os.environ.get("HOLDFAST_TOKEN", "")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"expected the controller's http or https address, found {url!r}")
    if not every > 0:
        raise ValueError("every: expected more than 0 seconds")
    stop()
    _running = Teller(url, token, every)
    _running.start()
    atexit.register(stop)


def stop() -> None:
    global _running
    ended, _running = _running, None
    if ended is not None:
        ended.end()
