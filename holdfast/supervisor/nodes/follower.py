"""A following supervisor: runs the leader's plans and reports the results."""

import time
from collections.abc import Callable

from holdfast.supervisor import processes
from holdfast.supervisor.accounts import RunAccounts
from holdfast.supervisor.here import Here
from holdfast.supervisor.nodes.rendezvous import FollowerRendezvous
from holdfast.supervisor.options import RunOptions

Notify = Callable[[str], None]


def follow(options: RunOptions, rendezvous: FollowerRendezvous, notify: Notify) -> int:
    options.folder.mkdir(parents=True, exist_ok=True)
    processes.adopt_orphans()
    rendezvous.assemble()
    here = Here(options, rendezvous, RunAccounts(time.monotonic()), notify)
    number = 0
    while True:
        plan = rendezvous.next_plan(number)
        number = plan.number
        if plan.finished:
            notify(plan.reason)
            return plan.exit_code
        if options.node in plan.excluded:
            notify(f"{options.node} is excluded from the job")
            return 0
        if options.node not in plan.members:
            notify(f"{options.node} waits as a spare")
            continue
        report = here.attempt(plan)
        rendezvous.send_report(number, report)
        if report.signal:
            return 128 + report.signal
