"""The sentence of an incident that is over: what it cost."""

from holdfast.catalog import seam_kinds
from holdfast.model.account import Account


def called(subject: str) -> str:
    what, _, name = subject.partition("/")
    return f"run {name}" if what == "job" else f"the path {name.replace('-', ' to ', 1)}" if what == "path" else subject


def past(subject: str, account: Account) -> str:
    """'cdu/c2: coolant flow is low; it cost run llama 41 GPU-hours (96 USD) in 12 min; facilities on call: ...'"""
    title = seam_kinds.kind(account.kind).title
    lasted = _lasting(account.lasted_seconds)
    names = ", ".join(called(one.subject) for one in account.losses if one.share_so_far)
    if names and account.bill.gpu_hours:
        price = f" ({account.bill.total_so_far:,.0f} {account.bill.currency})" if account.bill.layers else ""
        cost = f"it cost {names} {account.bill.gpu_hours:.3g} GPU-hours{price} in {lasted}"
    elif account.losses:
        reached = ", ".join(called(one.subject) for one in account.losses)
        cost = f"it lasted {lasted} and reached {reached}, whose loss was not measured"
    else:
        cost = f"it lasted {lasted} and no job had slowed"
    return "; ".join(
        [f"{subject}: {title}", cost, *(f"{team} on call: {who}" for team, who in account.on_call.items())]
    )


def _lasting(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.3g} h"
