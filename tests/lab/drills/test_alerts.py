"""The alarms of single components, and what a dashboard shows."""

import numpy as np

from holdfast.lab.drills.alerts import alerts, limits
from holdfast.lab.drills.dashboards import dashboards, lines, spark
from holdfast.lab.twin.plant.signals import OF
from holdfast.model.panel import Panel, table

STEPS = 200


def panel(signal: str, **rows: list[float]) -> Panel:
    tables = {signal: table({name.replace("_", "/"): row for name, row in rows.items()})}
    return Panel(np.arange(STEPS) * 10.0, tables)


def test_a_flow_far_below_its_rated_value_alarms_once_it_is_held() -> None:
    flow = [240.0] * 120 + [120.0] * 80
    (alert,) = alerts(panel("cdu_flow_litres_per_minute", cdu_c1=flow, cdu_c2=[240.0] * STEPS))
    assert (alert.subject, alert.at) == ("cdu/c1", 1260.0)


def test_a_short_excursion_alarms_no_one() -> None:
    flow = [240.0] * 120 + [120.0] * 3 + [240.0] * 77
    assert alerts(panel("cdu_flow_litres_per_minute", cdu_c1=flow)) == []


def test_what_was_never_seen_alarms_no_one() -> None:
    assert alerts(panel("cdu_flow_litres_per_minute", cdu_c1=[float("nan")] * STEPS)) == []


def test_limits_and_dashboards_speak_of_signals_that_exist() -> None:
    known = {signal for signals in OF.values() for signal in signals}
    assert {limit.signal for limit in limits()} <= known
    assert {line.signal for line in lines()} <= known


def test_a_dashboard_shows_the_most_changed_first_and_what_is_not_seen() -> None:
    shown = dashboards(panel("cdu_flow_litres_per_minute", cdu_c1=[240.0] * STEPS, cdu_c2=[240.0] * 150 + [120.0] * 50))
    assert [line.subject for line in shown] == ["cdu/c2", "cdu/c1"]
    assert shown[0].now == 120.0
    gone = dashboards(panel("cdu_flow_litres_per_minute", cdu_c1=[240.0] * 199 + [float("nan")]))
    assert np.isnan(gone[0].now)


def test_a_spark_line_falls_when_the_row_falls() -> None:
    line = spark(np.array([10.0] * 100 + [5.0] * 100, np.float32), 10.0)
    assert line[0] > line[-1]


def test_what_comes_late_has_its_own_usual_value_and_what_never_comes_has_none() -> None:
    late = dashboards(panel("cdu_flow_litres_per_minute", cdu_c1=[float("nan")] * 150 + [240.0] * 50))
    assert (late[0].now, late[0].usual) == (240.0, 240.0)
    never = dashboards(panel("cdu_flow_litres_per_minute", cdu_c1=[float("nan")] * STEPS))
    assert np.isnan(never[0].usual)
    assert never[0].changed == 0.0
