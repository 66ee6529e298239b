"""A signal over time from a Prometheus-compatible server that scrapes the agents."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from holdfast.fleet.facility.json_api import CannotRead, get_object

_SIGNAL = re.compile(r"[a-z][a-z0-9_]{0,127}")
MOST_SERIES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    url: str
    """Of a Prometheus or VictoriaMetrics that scrapes the agents."""
    token_file: str = ""
    """Sent as 'Authorization: Bearer ...'."""
    timeout: float = 10.0

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"history.url: expected an http or https address, found {self.url!r}")


@dataclass(frozen=True, slots=True)
class PromqlRange:
    settings: HistorySettings

    def query(self, signal: str, subjects: str) -> str:
        """PromQL of one signal of the subjects that a regular expression names."""
        if not _SIGNAL.fullmatch(signal):
            raise CannotRead(f"{signal[:80]!r} is not a signal name")
        quoted = subjects.replace("\\", "\\\\").replace('"', '\\"')
        return f'holdfast_{signal}{{subject=~"{quoted}"}}'

    def read(
        self, signal: str, subjects: str, since: float, until: float, points: int
    ) -> tuple[list[float], dict[str, list[float | None]]]:
        """Times and values by subject. Raises CannotRead."""
        step = max(1.0, (until - since) / points)
        asked = {"query": self.query(signal, subjects), "start": since, "end": until, "step": step}
        url = f"{self.settings.url.rstrip('/')}/api/v1/query_range?{urlencode(asked)}"
        answer = get_object(url, self.settings.timeout, token_file=self.settings.token_file, error_statuses=(400, 422))
        if answer.get("status") != "success":
            raise CannotRead(str(answer.get("error", "the query failed"))[:200])
        times = [since + number * step for number in range(int((until - since) / step) + 1)]
        return times, _series(answer, times, step)


def _series(answer: Mapping[str, Any], times: list[float], step: float) -> dict[str, list[float | None]]:
    found: dict[str, list[float | None]] = {}
    try:
        for one in answer["data"]["result"][:MOST_SERIES]:
            row: list[float | None] = [None] * len(times)
            for at, value in one["values"]:
                place = round((float(at) - times[0]) / step)
                if 0 <= place < len(row):
                    row[place] = float(value)
            found[str(one["metric"]["subject"])] = row
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError):
        raise CannotRead("the answer is not a Prometheus range") from None
    return found
