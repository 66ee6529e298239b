"""Summary sentence of an incident: its cost rate while open, its cost when closed."""

from collections.abc import Mapping, Sequence

from holdfast.catalog import seam_kinds
from holdfast.config.quantities import lasting
from holdfast.model.account import Account, Bill, Loss
from holdfast.model.finding import Finding

MOST_NAMED = 3


def called(subject: str) -> str:
    what, _, name = subject.partition("/")
    return f"job {name}" if what == "job" else f"the path {name.replace('-', ' to ', 1)}" if what == "path" else subject


def _together(subjects: Sequence[str]) -> str:
    """'job a', 'jobs a and b', 'jobs a, b, c and 4 more'."""
    if len(subjects) == 1:
        return called(subjects[0])
    jobs = all(one.startswith("job/") for one in subjects)
    names = [one.removeprefix("job/") if jobs else called(one) for one in subjects]
    shown, left = names[:MOST_NAMED], len(names) - MOST_NAMED
    last = f"{left} more" if left > 0 else shown.pop()
    return f"{'jobs ' if jobs else ''}{', '.join(shown)} and {last}"


def sentence(
    finding: Finding, found: Sequence[Loss], priced: Bill, on_call: Mapping[str, str], gpu_hour: float = 0.0
) -> str:
    """'cdu/c2: coolant flow is low; job llama is losing the work of 16.5 GPUs (38.70 USD/h compute) and delays release
    by 1.4 h per day (119 USD/h); facilities on call: ...'"""
    title = seam_kinds.kind(finding.kind).title
    parts = [f"{finding.cause}: {title}"]
    measured = [one for one in found if one.gpu_hours_per_hour]
    if measured:
        names = _together([one.subject for one in measured])
        losing = "is losing" if len(measured) == 1 else "are losing"
        compute = f" ({priced.gpu_hours_per_hour * gpu_hour:.2f} {priced.currency}/h compute)" if gpu_hour else ""
        parts.append(f"{names} {losing} the work of {priced.gpu_hours_per_hour:.3g} GPUs{compute}")
        late = max((one for one in measured if one.milestone), key=lambda one: one.share_now or 0.0, default=None)
        if late is not None and late.share_now:
            slip = late.share_now * late.critical_chance * (late.day_value or 0.0) / 24
            money = f" ({slip:.0f} {priced.currency}/h)" if late.day_value is not None else ""
            parts[-1] += f" and {'delays' if len(measured) == 1 else 'delay'} {late.milestone}"
            parts[-1] += f" by {24 * late.share_now:.2g} h per day{money}"
    elif found:
        parts.append(f"it reaches {_together([one.subject for one in found])}, {_no_loss_now(found, priced)}")
    else:
        parts.append("no job has slowed yet")
    parts += [f"{team} on call: {who}" for team, who in on_call.items()]
    return "; ".join(parts)


def _no_loss_now(found: Sequence[Loss], priced: Bill) -> str:
    """Whether all jobs work at full speed now. A measured zero is not the same as unknown."""
    known = [one for one in found if one.gpu_hours_per_hour is not None]
    lose = "loses" if len(found) == 1 else "lose"
    before = f"{priced.gpu_hours:.3g} GPU-hours" if priced.gpu_hours else ""
    if not known:
        return "whose loss is not measured"
    part = "" if len(known) == len(found) else ", as far as it is measured"
    return (
        f"which {lose} no work now{part}, and lost {before} before" if before else f"which {lose} no work by it{part}"
    )


def _labour(bill: Bill) -> str:
    """The labour cost of an incident without lost work."""
    return f"; {bill.labour:,.0f} {bill.currency} of labour" if bill.labour else ""


def past(subject: str, account: Account) -> str:
    """'cdu/c2: coolant flow is low; in 12 min it cost job llama 41 GPU-hours, 96 USD in all; facilities on call: x'"""
    title = seam_kinds.kind(account.kind).title
    lasted = lasting(account.lasted_seconds)
    slowed = [one.subject for one in account.losses if one.share_so_far or one.down_hours or one.rework_hours]
    if slowed and account.bill.gpu_hours:
        price = f", {account.bill.total_so_far:,.0f} {account.bill.currency} in all" if account.bill.layers else ""
        cost = f"in {lasted} it cost {_together(slowed)} {account.bill.gpu_hours:.3g} GPU-hours{price}"
    elif account.losses:
        reached = _together([one.subject for one in account.losses])
        none = all(one.gpus is not None and one.share_so_far == 0.0 for one in account.losses)
        which = "which lost no work by it" if none else "whose loss was not measured"
        cost = f"it lasted {lasted} and reached {reached}, {which}{_labour(account.bill)}"
    else:
        cost = f"it lasted {lasted} and no job had slowed{_labour(account.bill)}"
    return "; ".join(
        [f"{subject}: {title}", cost, *(f"{team} on call: {who}" for team, who in account.on_call.items())]
    )
