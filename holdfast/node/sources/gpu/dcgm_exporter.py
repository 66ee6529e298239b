"""A dcgm-exporter that already runs on the node, scraped where a URL is configured."""

from urllib.parse import urlsplit

from holdfast.catalog.dcgm import fields
from holdfast.formats.dcgm import exporter as formats
from holdfast.model import subject
from holdfast.model.signal import Reading
from holdfast.runtime.errors import NoAnswer
from holdfast.runtime.source import ReadingBuilder

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
        if not self._url:  # not configured
            return Reading(source=self.name, at=now)
        text, trouble = self._scrape()
        if trouble:
            return Reading(source=self.name, at=now, blind=f"dcgm-exporter at {self._url}: {trouble}")
        builder = ReadingBuilder()
        for sample in formats.parse(text):
            field, gpu = fields().get(sample.name), formats.gpu_of(sample)
            if field is None or gpu is None:
                continue
            about = subject.gpu(self._node, gpu)
            if sample.value is None:
                builder.miss(about, "DCGM has no value for this field", field.signal)
            else:
                builder.add(about, field.signal, sample.value * field.factor)
        if not builder.signals:
            return Reading(source=self.name, at=now, blind=f"dcgm-exporter at {self._url} reports no GPU")
        return builder.build(self.name, now)

    def _scrape(self) -> tuple[str, str]:
        """(text, '') or ('', error)."""
        from holdfast.runtime import http  # 5 MB that only a node with a configured exporter pays for

        try:
            url = urlsplit(self._url)
        except ValueError as error:
            return "", str(error)
        if url.scheme not in ("http", "https") or not url.hostname:
            return "", "expected a URL such as http://localhost:9400/metrics"
        where = url._replace(path=url.path or "/metrics").geturl()
        try:
            reply = http.send("GET", where, {}, None, _TIMEOUT_SECONDS, most_bytes=_MOST_BYTES + 1)
        except NoAnswer as error:
            return "", str(error)
        if reply.status != 200:
            return "", f"answers {reply.status}"
        if len(reply.body) > _MOST_BYTES:
            return "", f"answers more than {_MOST_BYTES >> 20} MB"
        return reply.body.decode(errors="replace"), ""
