"""The end of `holdfast up --seconds`: one line per incident, few of them, nothing said twice."""

from pathlib import Path

from holdfast.cli.up.messages import summary_text
from holdfast.fleet.standalone.summary import summarize
from holdfast.fleet.store import Store
from holdfast.model.account import Account
from holdfast.model.incident import Incident, IncidentState


def test_incidents_are_a_line_each_and_the_rest_is_counted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    store = Store.open(url)
    account = Account(kind="cooling.flow_low", confidence=0.9, since=0.0, lasted_seconds=60.0)
    reason = (
        "{}: coolant flow is low; it costs job llama 41 GPU-hours an hour; the release moves; facilities on call: x"
    )
    found = [
        Incident(id=str(one), opened=float(one), subject=f"cdu/c{one}", reason=reason.format(f"cdu/c{one}"),
                 account=account, state=IncidentState.CLOSED if one == 0 else IncidentState.OPEN)
        for one in range(7)
    ]  # fmt: skip
    epoch = store.lead("one", 10, now=0.0)
    assert epoch is not None
    store.save_incidents(found, epoch)
    store.close()
    lines = summary_text(summarize(url, 0.0)).splitlines()
    assert len(lines) == 7
    assert lines[1] == "Incident on cdu/c1, open: coolant flow is low; it costs job llama 41 GPU-hours an hour"
    assert lines[-1] == "And 2 incidents more: holdfast incident list --all"
