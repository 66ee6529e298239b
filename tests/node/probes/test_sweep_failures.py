"""Which host a failed sweep speaks about: the one that failed alone, never the partners of one that is gone."""

from types import SimpleNamespace

import pytest

from holdfast.model.wire.sweep import SweepFinding
from holdfast.node.probes.isolation import bands
from holdfast.node.probes.sweep.run import ProbeSweepOptions, _Run

DONE = {"rows": []}
CLOSED = {"error": "Connection closed by peer"}


@pytest.mark.parametrize(
    ("gone", "answers", "troubled"),
    [
        ((), (DONE, CLOSED, DONE), {"h1"}),  # it alone failed
        ((), (CLOSED, CLOSED, CLOSED), set()),  # all of them: no one in particular
        (("h2",), (DONE, CLOSED, CLOSED), {"h2"}),  # h1 lost its partner, h0 was done already
        (("h2",), (CLOSED, CLOSED, CLOSED), {"h2"}),
    ],
)
def test_the_partners_of_a_host_that_is_gone_are_not_in_trouble(
    gone: tuple[str, ...], answers: tuple[dict[str, object], ...], troubled: set[str]
) -> None:
    workers = {name: SimpleNamespace(trouble="the worker died" if name in gone else "") for name in ("h0", "h1", "h2")}
    run = _Run(SimpleNamespace(workers=workers), ProbeSweepOptions(), lambda text: None)  # type: ignore[arg-type]
    run._note_failures(list(workers), answers)
    assert {name for name, worker in workers.items() if worker.trouble} == troubled


@pytest.mark.parametrize(
    ("suspected", "partner"),
    [({"node/h2", "node/h4"}, "h3"), ({"node/h2"}, "h4"), ({f"node/h{n}" for n in range(5)}, "")],
)
def test_the_direction_of_a_slow_node_is_not_measured_with_another_suspect(suspected: set[str], partner: str) -> None:
    met: list[tuple[str, str]] = []
    answer = {"rows": [{"bytes": 1 << 20, "seconds": [0.5]}]}
    crew = SimpleNamespace(
        workers={f"h{n}": SimpleNamespace(trouble="", facts={"x": 1}) for n in range(1, 5)},
        begin=lambda slots, command: met.append(tuple(slots)),
        finish=lambda slots, timeout, notify: [answer, answer],
    )
    run = _Run(crew, ProbeSweepOptions(), lambda text: None)  # type: ignore[arg-type]
    found = SweepFinding("node/h2", "node", 1.0, (), f"{bands.BANDWIDTH} at 1 MiB")
    run._with_direction(found, suspected)
    assert met == ([("h2", partner), (partner, "h2")] if partner else [])
