"""A real Prometheus: values, what its answers mean, and what is wrong with a query."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.fleet.facility.json_api import CannotRead
from holdfast.fleet.facility.promql import PromqlQuery, PromqlSettings, PromqlSource, samples
from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer
from tests.ports import free_port

from .server import served

LATENCY = "storage_latency_seconds"
json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed")
    home: Path = tmp_path_factory.mktemp("prometheus")
    (home / "prom.yml").write_text("global: {scrape_interval: 1s}\n")
    url = f"http://127.0.0.1:{free_port()}"
    command = [program, "--config.file=prom.yml", "--storage.tsdb.path=data"]
    command.append(f"--web.listen-address={url.removeprefix('http://')}")

    def ready() -> bool:
        try:
            return http.send("GET", f"{url}/-/ready", {}, None, 2.0).status == 200
        except NoAnswer:
            return False

    with served(command, home / "log", ready):
        yield url


def _read(url: str, *queries: dict[str, Any]) -> Any:
    import time

    made = tuple(PromqlQuery(**{"signal": LATENCY, "subject": "storage/{cluster}", **one}) for one in queries)
    return PromqlSource(PromqlSettings(url=url, query=made)).read(time.time())


@pytest.mark.slow
def test_series_become_signals_of_what_their_labels_say(prometheus: str) -> None:
    named = 'label_replace(vector(12), "cluster", "lustre1", "", "")'
    reading = _read(prometheus, {"query": named, "scale": 0.001}, {"query": "scalar(vector(0.5))"})
    assert [(one.subject, one.value) for one in reading.signals] == [
        ("storage/lustre1", 0.012),
        ("storage/unlabelled", 0.5),
    ]


@pytest.mark.slow
def test_what_is_wrong_with_a_query_is_reported_and_hides_no_other(prometheus: str) -> None:
    reading = _read(prometheus, {"query": "rate("}, {"query": "vector(1)[5m:1m]"}, {"query": "vector(0.25)"})
    assert [one.value for one in reading.signals] == [0.25]
    assert "parse error" in _read(prometheus, {"query": "rate("}).absent["storage/{cluster}", LATENCY]
    why = _read(prometheus, {"query": "vector(1)[5m:1m]"}).absent["storage/{cluster}", LATENCY]
    assert "'matrix'" in why


@pytest.mark.slow
def test_what_cannot_be_is_named(prometheus: str) -> None:
    for query in ("vector(-1)", "vector(0)/0", "vector(1e9)"):
        reading = _read(prometheus, {"query": query})
        assert not reading.signals and reading.absent["storage/unlabelled", LATENCY], query


def test_no_one_there_is_blind() -> None:
    assert _read(f"http://127.0.0.1:{free_port()}", {"query": "up"}, {"query": "up"}).blind


@given(st.dictionaries(st.sampled_from(["data", "status", "error"]), json_values))
def test_whatever_it_answers_is_samples_or_an_error(answer: dict[str, Any]) -> None:
    try:
        assert isinstance(samples(answer), list)
    except CannotRead as error:
        assert str(error)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"signal": "no_such"}, "not one of the signals"),
        ({"query": " "}, "expected PromQL"),
        ({"subject": "lustre"}, "expected an address"),
        ({"subject": "storage/{"}, "subject"),
        ({"subject": "storage/{0}"}, "not a label"),
        ({"subject": "storage/{a.__class__}"}, "not a label"),
    ],
)
def test_a_wrong_query_is_refused(facts: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        PromqlQuery(**{"signal": LATENCY, "query": "up", "subject": "storage/x", **facts})  # type: ignore[arg-type]
