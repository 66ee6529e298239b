"""A supervisor that does not decide: takes part when it is called, tells what it saw, and waits for what is next."""

import time
from collections.abc import Callable

from holdfast.supervisor import processes
from holdfast.supervisor.accounts import Accounts
from holdfast.supervisor.here import Here
from holdfast.supervisor.nodes.rendezvous import Followed
from holdfast.supervisor.options import Options

Tell = Callable[[str], None]


def follow(options: Options, company: Followed, tell: Tell) -> int:
    options.folder.mkdir(parents=True, exist_ok=True)
    processes.adopt_orphans()
    company.assemble()
    here = Here(options, company, Accounts(time.monotonic()), tell)
    number = 0
    while True:
        plan = company.next_plan(number)
        number = plan.number
        if plan.finished:
            tell(plan.reason)
            return plan.exit_code
        if options.node in plan.excluded:
            tell(f"{options.node} takes part no more")
            return 0
        if options.node not in plan.members:
            tell(f"{options.node} stands by as a spare")
            continue
        report = here.attempt(plan)
        company.tell(number, report)
        if report.signal:
            return 128 + report.signal
