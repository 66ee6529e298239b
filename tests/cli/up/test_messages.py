"""What the demo says of incidents in the terminal: opened, priced, over; a bill that grows is the page's."""

from typing import Any

import pytest

from holdfast.cli.shared.fleet_clock import FleetClock
from holdfast.cli.up import messages


def incident(state: str = "open", per_hour: float = 0.0) -> dict[str, Any]:
    account = {"bill": {"gpu_hours_per_hour": per_hour}}
    reason = f"cdu/c2: coolant flow is low, {per_hour:g} GPU-hours an hour"
    return {"id": "1", "subject": "cdu/c2", "state": state, "opened": 5.0, "closed": 9.0, "reason": reason} | {
        "account": account
    }


def test_an_incident_is_reported_when_it_opens_when_it_has_a_price_and_when_it_is_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    priced: dict[str, bool] = {}
    for one in (incident(), incident(), incident(per_hour=3), incident(per_hour=4), incident("closed", 4)):
        messages.print_incident(one, priced, FleetClock())
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        "incident on cdu/c2: coolant flow is low, 0 GPU-hours an hour",
        "incident on cdu/c2: coolant flow is low, 3 GPU-hours an hour",
        "incident on cdu/c2 is over",
    ]
