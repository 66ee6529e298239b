"""Charts of a signal: which subjects are siblings, the band they make, and what is cut off."""

import pytest

from holdfast.fleet.api.views.series import MOST_LINES, cut, made, prometheus_pattern, siblings_of
from holdfast.fleet.facility.json_api import CannotRead
from holdfast.fleet.facility.promql_range import HistorySettings, PromqlRange, _series
from holdfast.fleet.incidents.window import SeamWindow

GPUS = [f"node/n1/gpu/{index}" for index in range(12)] + ["node/n2/gpu/0", "node/n1", "cdu/c1", "cdu/c2", "rack/c3"]


def test_the_siblings_of_a_gpu_are_the_others_of_its_node_in_order() -> None:
    assert siblings_of("node/n1/gpu/3", GPUS) == [f"node/n1/gpu/{one}" for one in (0, 1, 2, *range(4, 12))]


def test_a_thing_without_a_whole_or_alone_in_it_is_compared_with_all_of_its_kind() -> None:
    assert siblings_of("cdu/c1", GPUS) == ["cdu/c2"]
    assert siblings_of("node/n2/gpu/0", GPUS)[0] == "node/n1/gpu/0"
    assert siblings_of("rack/c3", GPUS) == []


def test_the_band_is_of_the_siblings_alone_and_leaves_out_what_was_not_seen() -> None:
    found = {"cdu/a": [9.0, 9.0], "cdu/b": [1.0, None], "cdu/c": [2.0, None], "cdu/d": [6.0, None]}
    shown = made("cdu/a", "flow", [10.0, 20.0], found, signals=["flow"], source="window", note="")
    assert (shown.low, shown.middle, shown.high) == ((1.0, None), (2.0, None), (6.0, None))
    assert (shown.values, shown.siblings) == ((9.0, 9.0), 3)
    assert [line.subject for line in shown.lines] == ["cdu/b", "cdu/c", "cdu/d"]


@pytest.mark.parametrize(("others", "lines"), [(MOST_LINES, MOST_LINES), (MOST_LINES + 1, 0)])
def test_many_siblings_are_a_band_and_no_lines(others: int, lines: int) -> None:
    found: dict[str, list[float | None]] = {f"cdu/{one}": [1.0] for one in range(others + 1)}
    assert len(made("cdu/0", "flow", [1.0], found, signals=[], source="window", note="").lines) == lines


def test_a_chart_begins_where_it_is_asked_to_and_has_no_more_points_than_asked() -> None:
    columns = [float(at) for at in range(100)]
    times, found = cut(columns, {"a": list(columns)}, (50.0, 99.0), points=10)
    assert times == [50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0, 90.0, 95.0]
    assert found["a"] == times
    assert cut([1.0], {"a": [1.0]}, (2.0, 9.0), points=10) == ([], {"a": []})
    assert cut(columns, {"a": list(columns)}, (10.0, 12.0), points=10) == (
        [10.0, 11.0, 12.0],
        {"a": [10.0, 11.0, 12.0]},
    )


def test_the_window_gives_the_rows_that_are_wanted_with_gaps() -> None:
    window = SeamWindow(lambda: 100.0, step_seconds=10.0, minutes=5.0)
    window.put(50.0, "cdu/a", "flow", 7.0, 1.0)
    window.put(90.0, "cdu/a", "flow", 8.0, 1.0)
    window.put(90.0, "cdu/b", "flow", 1.0, 1.0)
    times, found = window.series("flow", ["cdu/a", "cdu/x"])
    assert times == [50.0, 60.0, 70.0, 80.0, 90.0, 100.0]
    assert found == {"cdu/a": [7.0, 7.0, None, None, 8.0, 8.0]}
    assert window.series("nothing", ["cdu/a"]) == ([], {})
    assert window.signals("cdu/a") == ["flow"]
    assert window.subjects("flow") == window.subjects() == {"cdu/a", "cdu/b"}
    assert window.subjects("nothing") == set()


def test_promql_names_the_signal_and_quotes_the_subject() -> None:
    history = PromqlRange(HistorySettings(url="http://127.0.0.1:9090"))
    wanted = prometheus_pattern("node/n1.a/gpu/3")
    assert history.query("gpu_power_watts", wanted) == r'holdfast_gpu_power_watts{subject=~"node/n1\\.a/gpu/[^/]+"}'
    with pytest.raises(CannotRead, match="not a signal name"):
        history.query('x"} or vector(1', wanted)
    with pytest.raises(ValueError, match=r"history\.url"):
        HistorySettings(url="file:///etc/passwd")


def test_a_range_of_prometheus_becomes_rows_with_gaps() -> None:
    result = [{"metric": {"subject": "cdu/a"}, "values": [[10, "1.5"], [30, "2"]]}]
    assert _series({"data": {"result": result}}, [10.0, 20.0, 30.0], 10.0) == {"cdu/a": [1.5, None, 2.0]}
    with pytest.raises(CannotRead):
        _series({"data": {"result": [{"metric": {}}]}}, [10.0], 10.0)


@pytest.mark.parametrize("at", [1e400, "inf", "nan", 10**400, "1e999"])
def test_an_absurd_time_of_a_prometheus_is_refused(at: object) -> None:
    result = [{"metric": {"subject": "cdu/a"}, "values": [[at, "1.5"]]}]
    with pytest.raises(CannotRead):
        _series({"data": {"result": result}}, [10.0, 20.0], 10.0)
