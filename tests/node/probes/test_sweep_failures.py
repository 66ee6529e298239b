"""Which host a failed sweep speaks about: the one that failed alone, never the partners of one that is gone."""

from types import SimpleNamespace

import pytest

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
