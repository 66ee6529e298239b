"""A dcgm-exporter that already runs on the node, scraped where a URL is configured."""

import contextlib
from urllib.parse import urlsplit

from holdfast.catalog.dcgm import fields
from holdfast.formats.dcgm import exporter as formats
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.node.sources.notes import Notes

_MOST_BYTES = 16 << 20
_TIMEOUT_SECONDS = 5.0


class DcgmExporterSource:
    name = "dcgm_exporter"
    every = 30.0
    deadline = 15.0
    carries: tuple[str, ...] = tuple(field.signal for field in fields().values())

    def __init__(self, node: str, url: str = "") -> None:
        self._node = node
        self._url = url

    def read(self, now: float) -> Reading:
        if not self._url:  # not configured: nobody promised anything
            return Reading(source=self.name, at=now)
        text, trouble = self._scrape()
        if trouble:
            return Reading(source=self.name, at=now, blind=f"dcgm-exporter at {self._url}: {trouble}")
        notes = Notes()
        for sample in formats.parse(text):
            field, gpu = fields().get(sample.name), formats.gpu_of(sample)
            if field is None or gpu is None:
                continue
            about = subject.gpu(self._node, gpu)
            if sample.value is None:
                notes.miss(about, "DCGM has no value for this field", field.signal)
            else:
                notes.say(about, field.signal, sample.value * field.factor)
        if not notes.signals:
            return Reading(source=self.name, at=now, blind=f"dcgm-exporter at {self._url} tells nothing of any GPU")
        return notes.reading(self.name, now)

    def _scrape(self) -> tuple[str, str]:
        """(text, '') or ('', what went wrong). Asks the configured host alone: no proxy, no redirect is followed."""
        import http.client  # 5 MB that only those pay for who configure an exporter

        try:
            url = urlsplit(self._url)
            if url.scheme not in ("http", "https") or not url.hostname:
                return "", "expected a URL such as http://localhost:9400/metrics"
            secure = url.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            connection = kind(url.hostname, url.port, timeout=_TIMEOUT_SECONDS)
            with contextlib.closing(connection):
                connection.request("GET", (url.path or "/metrics") + (f"?{url.query}" if url.query else ""))
                answer = connection.getresponse()
                body = answer.read(_MOST_BYTES + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:
            return "", str(error) or type(error).__name__
        if answer.status != http.client.OK:
            return "", f"answers {answer.status}"
        if len(body) > _MOST_BYTES:
            return "", f"answers more than {_MOST_BYTES >> 20} MB"
        return body.decode(errors="replace"), ""
