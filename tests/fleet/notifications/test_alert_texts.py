"""Alerts of incidents as they can be: priced, not measured, without an account. One that fails keeps back no other."""

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast.fleet.notifications import alertmanager
from holdfast.fleet.notifications.alertmanager import COMPONENT, AlertHook, Alerts, AlertSettings
from holdfast.model.account import Account, Bill
from holdfast.model.incident import Incident

SETTINGS = AlertSettings(alertmanagers=("http://am:9093",), webhook=(AlertHook(url="http://hook/x"),))
ACCOUNT = Account(kind="job.stopped", confidence=0.9, since=0.0, lasted_seconds=60.0)
PRICED = replace(ACCOUNT, bill=Bill(measured=True, gpu_hours_per_hour=1.0))
NOT_MEASURED = replace(ACCOUNT, bill=Bill(measured=False))


def incident(subject: str, account: Account | None) -> Incident:
    return Incident(id=f"{subject}@1", opened=1.0, subject=subject, cause="job.stopped", account=account)


def annotations(alerts: Alerts) -> list[dict[str, Any]]:
    sent = [json.loads(one.body) for one in alerts._posts if "am:9093" in one.hook.url]
    return [one["annotations"] for body in sent for one in body]


@pytest.mark.parametrize("account", [None, PRICED, NOT_MEASURED])
def test_an_incident_of_any_kind_is_reported_when_it_opens_and_when_it_is_over(account: Account | None) -> None:
    alerts = Alerts(SETTINGS)
    alerts.stand([incident("job/a", account)])
    cost = annotations(alerts)[-1]["cost_so_far"]
    assert (cost == "not measured") == (account is NOT_MEASURED)
    alerts.stand([])
    assert [json.loads(one.body)["happened"] for one in alerts._posts if "hook" in one.hook.url] == ["opened", "closed"]
    assert alerts.components.failing == ()


def test_an_alert_that_cannot_be_written_keeps_back_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What raised here ended the whole evaluation of the seams, at every turn."""
    written = alertmanager.alert

    def fails(one: Incident, *more: Any) -> dict[str, Any]:
        if one.subject == "job/odd":
            raise TypeError("unsupported format string")
        return written(one, *more)

    monkeypatch.setattr(alertmanager, "alert", fails)
    alerts = Alerts(SETTINGS)
    alerts.stand([incident("job/odd", PRICED), incident("job/a", PRICED)])
    assert [one["incident"] for one in annotations(alerts)] == ["job/a@1"]
    assert [one.name for one in alerts.components.failing] == [COMPONENT]
    alerts.stand([incident("job/a", PRICED)])
    assert [one.name for one in alerts.components.failing] == [COMPONENT], "its end cannot be written either"
    alerts.stand([incident("job/a", PRICED)])
    assert alerts.components.failing == ()
