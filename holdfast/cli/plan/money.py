"""The plans about money: `holdfast plan price` and `holdfast plan cost`."""

from typing import Annotated

from holdfast.cli.plan.options import Gpus, Plot, RateName, option, tell
from holdfast.cli.shared.options import AsJson

OFFER = "A supplier: NAME=PRICE@GOODPUT, or NAME=PRICE+EXTRAS-CREDITS@GOODPUT; several times."


def price(
    offer: Annotated[
        list[str] | None,
        option(OFFER, "OFFER"),
    ] = None,
    gpus: Gpus = None,
    days: Annotated[str | None, option("Over how many days failures are counted.  [30]", "DAYS")] = None,
    rate: RateName = None,
    identify: Annotated[str | None, option("From failure to knowing the node.  [15m]", "TIME")] = None,
    interval: Annotated[str | None, option("Between checkpoints.  [1h]", "TIME")] = None,
    start: Annotated[str | None, option("To start the job again.  [10m]", "TIME")] = None,
    repair: Annotated[str | None, option("To repair or replace the node.  [1h]", "TIME")] = None,
    failover: Annotated[str | None, option("Of a job that tolerates failures.  [1m]", "TIME")] = None,
    blast: Annotated[str | None, option("GPUs that wait for the repair.  [8]", "N")] = None,
    sla: Annotated[str | None, option("The agreement: 99.9%:10%,99%:25%.", "UPTIME:CREDIT,...")] = None,
    down: Annotated[str | None, option("How long one node was down.  [2h]", "TIME")] = None,
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """What a productive GPU-hour costs at each supplier; with --gpus and --rate also what failures cost."""
    from holdfast.economics.planning import price as plan

    stages = {
        "identify": identify,
        "interval": interval,
        "start": start,
        "repair": repair,
        "failover": failover,
        "blast": blast,
    }
    tell(lambda asked: plan.answer(asked, offer or [], gpus, days, rate, stages, sla, down), as_json, plot)


def cost(
    gpus: Gpus = None,
    price: Annotated[str | None, option("Per GPU-hour: dollars, or h100, b200, gb300.", "PRICE")] = None,
    detect: Annotated[str | None, option("Until somebody or something noticed.  [10m]", "TIME")] = None,
    diagnose: Annotated[str | None, option("Until the cause was known.  [0s]", "TIME")] = None,
    restore: Annotated[str | None, option("Until the job ran again.  [0s]", "TIME")] = None,
    rework: Annotated[str | None, option("Work done twice.  [30m]", "TIME")] = None,
    slow: Annotated[str | None, option("How much slower it ran, if it did.  [0]", "SHARE")] = None,
    slow_for: Annotated[str | None, option("For how long.  [0s]", "TIME")] = None,
    blast: Annotated[str | None, option("GPUs that waited for the repair afterwards.  [0]", "N")] = None,
    repair: Annotated[str | None, option("For how long.  [0s]", "TIME")] = None,
    alternative: Annotated[str | None, option("What another use would have paid.  [0]", "PRICE")] = None,
    queued: Annotated[str | None, option("Chance that another job waited.  [0]", "SHARE")] = None,
    people: Annotated[str | None, option("People who worked on it.  [0]", "N")] = None,
    hours: Annotated[str | None, option("How long each did.  [0s]", "TIME")] = None,
    wage: Annotated[str | None, option("Dollars per hour of work.  [140]", "DOLLARS")] = None,
    day_value: Annotated[
        str | None, option("What a day of the schedule is worth; nobody else knows.", "DOLLARS")
    ] = None,
    float_days: Annotated[str | None, option("Days of slack in the schedule.  [0]", "DAYS")] = None,
    critical: Annotated[str | None, option("Chance that it is on the critical path.  [1]", "SHARE")] = None,
    plot: Plot = "",
    as_json: AsJson = False,
) -> None:
    """What one incident cost, in five layers."""
    from holdfast.economics.planning import cost as plan

    wanted = plan.Wanted(
        gpus=gpus,
        price=price,
        detect=detect,
        diagnose=diagnose,
        restore=restore,
        rework=rework,
        slow=slow,
        slow_for=slow_for,
        blast=blast,
        repair=repair,
        alternative=alternative,
        queued=queued,
        people=people,
        hours=hours,
        wage=wage,
        day_value=day_value,
        float_days=float_days,
        critical=critical,
    )
    tell(lambda asked: plan.answer(asked, wanted), as_json, plot)
