"""Threads that must not end: what one call raises is recorded, and the thread goes on."""

import ast

import pytest

from holdfast.runtime.components import Components
from holdfast.runtime.threads import run_contained
from tests.source import ROOT, modules

PARTS = ("fleet/", "node/agent/", "node/sources/", "runtime/")

CONTAINED = {
    "fleet/actions/kubernetes/lease.py: self._run",
    "fleet/actions/kubernetes/mirror.py: self._run",
    "fleet/controller/writer.py: self._run",
    "node/agent/orders/handler.py: self._work",
    "node/agent/reporting/reporter.py: self.run",
    "node/agent/runner.py: self._loop",
    "node/sources/jobs/socket.py: _Hearing(listener, self._lines, self._proc, self).run",
    "node/sources/gpu/isolation.py: _work",
}
GUARDS = ("run_contained(", "except Exception", "read_guarded(", ".run()")
"""How they contain: each is looked for in the module. `.run()` of isolation is Call.run, which catches."""

ENDS = {
    "fleet/controller/lead.py: self._renew_until",  # ends with the reading; a lease that ran out is seen at the commit
    "node/agent/http.py: server.serve_forever",  # the standard library contains each request
    "node/agent/orders/prober.py: self._watch",  # ends with its probe, which has a deadline
    "node/agent/once.py: read",  # ends with one read, which is waited for until its deadline
    "node/agent/suite.py: _end_with_agent",  # a child that ends with its parent
    "runtime/threads.py: self._work",  # an error goes to the caller; after a call that hangs, callers time out
    "node/sources/timeout.py: lambda: answers.append(question())",  # one question; no answer is an answer
}


def _threads() -> set[str]:
    found = set()
    for path, tree in modules(holding=("Thread",), below=PARTS):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("threading.Thread", "Thread"):
                target = next(one.value for one in node.keywords if one.arg == "target")
                found.add(f"{path}: {ast.unparse(target)}")
    return found


def test_every_thread_is_contained_or_ends_by_itself() -> None:
    assert _threads() == CONTAINED | ENDS, "name a new thread in CONTAINED, or in ENDS with the reason"
    for one in CONTAINED:
        text = (ROOT / one.partition(":")[0]).read_text(encoding="utf-8")
        assert any(guard in text for guard in GUARDS), one


def test_every_task_of_the_controller_is_kept_running_or_answers_somebody() -> None:
    """A task that nobody awaits and nobody contains ends without a word."""
    found = set()
    starts = ("create_task", "ensure_future")
    for path, tree in modules(holding=starts, below=("fleet/",)):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(starts):
                found.add(f"{path}: {ast.unparse(node.args[0]).partition('(')[0]}")
    assert found == {
        "fleet/controller/server.py: self._ending",  # however it ends, the server ends then
        "fleet/api/access.py: self._ask",  # gives whatever it meets to those who wait for it
        "fleet/api/connections.py: self._accept",  # takes connections; what is done with one is a task of its own
        "fleet/api/connections.py: self._shake_hands",  # one connection, which ends with it
        "fleet/api/connections.py: self._leave_room",  # waits for the one above, whatever it ends with
        "fleet/controller/actor.py: self._work_off",  # below
        "fleet/controller/operators/drill_player.py: self._play",  # one drill; it reports its own failure
        "fleet/controller/operators/drill_player.py: process.stderr.read",
        "fleet/controller/server.py: keep_running",
    }


@pytest.mark.parametrize(
    "raised", [ValueError("x"), RecursionError(), OverflowError("y"), UnicodeEncodeError("a", "", 0, 1, "")]
)
def test_a_call_that_raises_is_recorded_and_the_next_one_is_made(raised: Exception) -> None:
    components, pauses = Components(lambda: 0.0), list[float]()
    calls = iter([raised, raised, True, raised, False])

    def step() -> bool:
        answer = next(calls)
        if isinstance(answer, Exception):
            raise answer
        return answer

    run_contained("x", step, components, pauses.append)
    assert pauses == [1.0, 2.0, 1.0]
    assert [(one.name, one.total, one.failing) for one in components.all] == [("x", 3, False)]


def test_what_is_not_an_error_ends_it() -> None:
    def step() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_contained("x", step, Components(lambda: 0.0), lambda seconds: None)
