"""The price of a productive GPU-hour at each supplier, and the cost of failures under three recovery strategies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from holdfast.economics.costs.claims import Agreement, Tier
from holdfast.economics.costs.feasible import BadNumber, positive
from holdfast.economics.costs.gamma import poisson_quantile
from holdfast.economics.costs.pricing import Offer, Recovery, break_even_premium, restart_expense
from holdfast.economics.costs.survival import expected_failures
from holdfast.economics.planning.answer import Figure, PlanAnswer, Sensitivity
from holdfast.economics.planning.chart import ChartLine, PlanChart
from holdfast.economics.planning.formatting import money, percent
from holdfast.economics.planning.inputs import MOST_DAYS, MOST_MACHINES, PlanInputs
from holdfast.economics.planning.rate import rate

_OFFER = re.compile(
    r"(?P<name>[^=]+)=(?P<price>[0-9.]+)(?:\+(?P<extras>[0-9.]+))?(?:-(?P<credits>[0-9.]+))?@(?P<goodput>[0-9.]+%?)"
)
MOST_PRICE = 1e6  # per GPU-hour
_TIER = re.compile(r"(?<![0-9.])([0-9.]+%?):([0-9.]+%?)")
HOURS_PER_MONTH = 730.0
DOLLARS = "dollars per GPU-hour"


def answer(
    inputs: PlanInputs,
    offers: Sequence[str],
    gpus: str | None,
    days: str | None,
    rate_text: str | None,
    recovery: Mapping[str, str | None],
    sla: str | None,
    down: str | None,
) -> PlanAnswer:
    if not offers:
        raise BadNumber(
            "--offer is missing: expected at least one such as 'a=2.00@0.90', a name, a price and a goodput"
        )
    made = sorted((_offer(inputs, text) for text in offers), key=lambda offer: offer.effective_price)
    if len({offer.name for offer in made}) < len(made):
        raise BadNumber("--offer: expected a name of its own for each, found one twice")
    best = made[0]
    figures = [
        Figure("effective_price", {o.name: o.effective_price for o in made}),
        *(
            Figure("", None, o.name, f"{money(o.paid)} at {percent(o.goodput)}: {money(o.effective_price)}")
            for o in made
        ),
    ]
    figures += _premiums(made)
    notes = ["goodput is yours to measure: suppliers market it, none was found to guarantee it in a contract"]
    if gpus is None:
        _refuse_alone(days, rate_text, sla, down, *recovery.values())
    else:
        machines = inputs.machines("gpus", gpus)
        blast = inputs.number(
            "blast", recovery["blast"], "GPUs", "8", "an HGX node; 64 in an NVL72 rack", MOST_MACHINES
        )
        if down is not None and sla is None:
            raise BadNumber("--down: expected --sla with it, the agreement that pays for the outage")
        figures += _restarts(inputs, machines, blast, days, rate_text, recovery, best.price, notes)
        figures += _credit(inputs, sla, down, machines, blast, best.price) if sla is not None else []
    return PlanAnswer(
        plan="price",
        headline=f"{best.name} is the cheapest: {money(best.effective_price)} per productive GPU-hour.",
        figures=figures,
        inputs=inputs.given,
        sensitivities=_sensitivities(best),
        sensitivity_of=f"the effective price of {best.name}",
        show=money,
        notes=notes,
        chart=lambda: _chart(made),
    )


def _refuse_alone(*others: str | None) -> None:
    if any(other is not None for other in others):
        raise BadNumber("--gpus is missing: expected the size of the job whose failures are priced")


def _offer(inputs: PlanInputs, text: str) -> Offer:
    found = _OFFER.fullmatch(text)
    if found is None:
        raise BadNumber(
            "--offer: expected NAME=PRICE@GOODPUT such as a=2.00@0.90, or with extras and credits per GPU-hour"
            f" a=2.00+0.10-0.05@0.90, found {text!r}"
        )
    name = found["name"].strip()
    price = inputs.number(f"offer {name} price", found["price"], DOLLARS, most=MOST_PRICE)
    extras, credits = (
        inputs.number(f"offer {name} {what}", found[what], DOLLARS, most=MOST_PRICE) if found[what] else 0.0
        for what in ("extras", "credits")
    )
    goodput = inputs.share(f"offer {name} goodput", found["goodput"])
    positive(f"--offer {name}: price", price)
    if credits >= price + extras:
        raise BadNumber(f"--offer {name}: expected credits below what is paid, found {money(credits)}")
    return Offer(name=name, price=price, goodput=goodput, extras=extras, credits=credits)


def _premiums(made: Sequence[Offer]) -> list[Figure]:
    """The premium that each supplier may charge over the one with the lowest goodput."""
    worst = min(made, key=lambda offer: offer.goodput)
    others = [o for o in made if o is not worst]
    premiums = {o.name: break_even_premium(o.goodput, worst.goodput) for o in others}
    if not premiums:
        return []
    asks = {o.name: o.paid / worst.paid - 1 for o in others}
    shown = ", ".join(
        f"{name} {percent(premium)}, asks {100 * asks[name]:+.1f} %" for name, premium in premiums.items()
    )
    return [Figure("break_even_premium", premiums, f"may charge more than {worst.name}", shown)]


def _restarts(
    inputs: PlanInputs,
    machines: float,
    blast: float,
    days: str | None,
    rate_text: str | None,
    recovery: Mapping[str, str | None],
    price: float,
    notes: list[str],
) -> list[Figure]:
    length = positive("--days", inputs.number("days", days, "days", "30", "a month", MOST_DAYS))
    chosen = rate(inputs, rate_text)
    notes += [f"{chosen.name}: {chosen.caveat}"] if chosen.caveat else []
    hours = {name: inputs.duration(name, recovery[name], *default) / 3600 for name, default in _STAGES.items()}
    stages = Recovery(
        job_gpus=machines,
        blast_gpus=blast,
        identify_hours=hours["identify"],
        checkpoint_hours=hours["interval"],
        start_hours=hours["start"],
        repair_hours=hours["repair"],
        failover_hours=hours["failover"],
    )
    failures = expected_failures(machines, length, chosen.per_gpu_year)
    low, high = (poisson_quantile(chance, failures) for chance in (0.025, 0.975))
    expense = restart_expense(stages, failures, price)
    paid = machines * length * 24 * price
    shown = ", ".join(f"{kind} {money(cost)} ({percent(cost / paid)})" for kind, cost in expense.items())
    return [
        Figure("failures", failures, f"failures in {length:g} days", f"{failures:.3g}, with 95 % {low} to {high}"),
        Figure("failures_95_percent", [low, high]),
        Figure("restart_expense", expense, "they cost, by recovery", shown),
    ]


_STAGES = {
    "identify": ("15m", "SemiAnalysis's better supplier; 1h is its worse one"),
    "interval": ("1h", "an assumption: `holdfast plan checkpoint`"),
    "start": ("10m", "SemiAnalysis's better supplier; 15m is its worse one"),
    "repair": ("1h", "SemiAnalysis's worse supplier"),
    "failover": ("1m", "an assumption"),
}


def _credit(
    inputs: PlanInputs, sla: str, down: str | None, machines: float, blast: float, price: float
) -> list[Figure]:
    """The credit for one node's downtime in a month, next to the loss of the job."""
    tiers = _TIER.findall(sla)
    if not tiers or ",".join(":".join(tier) for tier in tiers) != sla.replace(" ", ""):
        raise BadNumber(f"--sla: expected UPTIME:CREDIT pairs such as 99.9%:10%,99%:25%, found {sla!r}")
    parsed = PlanInputs()
    agreement = Agreement(
        name="sla", tiers=tuple(Tier(parsed.share("sla", up), parsed.share("sla", credit)) for up, credit in tiers)
    )
    inputs.note("sla", sla, "uptime:credit", sla, "given")
    hours = inputs.duration("down", down, "2h", "one outage of one node in the month") / 3600
    uptime = max(0.0, 1 - hours / HOURS_PER_MONTH)
    credit = agreement.credit_share(uptime) * blast * HOURS_PER_MONTH * price
    loss = machines * hours * price
    shown = f"{money(credit)} credited for the node if claimed, {money(loss)} lost by the job"
    return [
        Figure("sla_credit", credit, f"one node of {blast:g} GPUs down {hours:g} h", shown),
        Figure("sla_loss", loss),
        Figure("sla_uptime", uptime),
    ]


def _chart(made: Sequence[Offer]) -> PlanChart:
    shares = [0.5 + 0.01 * step for step in range(51)]
    lines = tuple(ChartLine(o.name, tuple((goodput, o.paid / goodput) for goodput in shares)) for o in made)
    mark = (max(0.5, made[0].goodput), made[0].paid / max(0.5, made[0].goodput))
    return PlanChart("Price of a productive GPU-hour by goodput", "goodput", "dollars", lines, False, mark)


def _sensitivities(offer: Offer) -> list[Sensitivity]:
    def at(price: float, goodput: float) -> float:
        return replace(offer, price=price, goodput=min(1.0, goodput)).effective_price

    return [
        Sensitivity("price", at(offer.price / 2, offer.goodput), at(offer.price * 2, offer.goodput)),
        Sensitivity("goodput", at(offer.price, offer.goodput / 2), at(offer.price, offer.goodput * 2)),
    ]
