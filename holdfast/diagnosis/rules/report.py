"""A diagnosis as text: at most nine lines, the best evidence, the next step, what was not seen."""

from collections.abc import Sequence
from datetime import UTC, datetime

from holdfast.catalog import causes
from holdfast.diagnosis.rules.candidate import Candidate
from holdfast.diagnosis.rules.diagnose import Diagnosis
from holdfast.diagnosis.rules.next_step import sentence
from holdfast.model.evidence import Evidence

MOST_EVIDENCE = 3
_MEANS = {
    "restart_same": "start it again on the same nodes",
    "restart_excluding": "start it again without the node",
    "restart_after_probe": "test the nodes and the network between them, then start it again",
    "wait_for_storage": "start it again when storage answers",
    "stop": "change it before the next start",
}


def lines(diagnosis: Diagnosis) -> list[str]:
    """At most four causes, then up to five lines about how it went on."""
    if not diagnosis.causes:
        return ["nothing found that ended or harmed this job"]
    found = [_headline(one, first=index == 0) for index, one in enumerate(diagnosis.causes[:4])]
    return found + _timeline(diagnosis)


def _headline(one: Candidate, *, first: bool) -> str:
    lead = "" if first else "also: "
    return f"{lead}{one.name} ({100 * one.confidence:.0f} %): {sentence(one)}"


def _timeline(diagnosis: Diagnosis) -> list[str]:
    first = diagnosis.causes[0]
    lines = []
    if first.began:
        lines.append(f"it began at {moment(first.began)}")
    if diagnosis.wait and diagnosis.wait.since and first.name != causes.UNKNOWN:
        since, fired = moment(diagnosis.wait.since), moment(diagnosis.wait.fired)
        lines.append(f"the ranks waited from {since}; the watchdog fired at {fired}")
    lines += [f"it explains: {', '.join(first.explains[:4])}"] if first.explains else []
    lines += [f"against it: {'; '.join(first.contradicts[:2])}"] if first.contradicts else []
    steps = [step for one in diagnosis.evidence if one.event.code == "progress" and (step := one.number("step"))]
    lines += [f"the last step seen is {max(steps)}"] if steps else []
    return lines


def best_evidence(diagnosis: Diagnosis) -> list[Evidence]:
    """The three most useful pieces of evidence; those of the first cause come first."""
    chosen: list[Evidence] = []
    for one in diagnosis.causes:
        for item in one.best_evidence():
            if len(chosen) < MOST_EVIDENCE and item not in chosen:
                chosen.append(item)
    return chosen


def moment(at: float) -> str:
    when = datetime.fromtimestamp(at, UTC)
    return when.strftime("%m-%d %H:%M:%S") if when.year == 1972 else when.strftime("%Y-%m-%d %H:%M:%S")


def markdown(diagnosis: Diagnosis, unseen: Sequence[str]) -> str:
    """For a ticket."""
    found = ["## Why the job failed", ""]
    found += [f"- {line}" for line in lines(diagnosis)]
    if diagnosis.causes:
        found += ["", "### Evidence", ""]
        found += [
            f"- `{one.file}:{one.event.line}`: `{one.event.text.replace('`', ' ')}`" for one in best_evidence(diagnosis)
        ]
    if diagnosis.next:
        found += ["", "### Next step", "", *[f"- {line}" for line in next_lines(diagnosis)]]
    if unseen:
        found += ["", "### Not seen", "", *[f"- {line}" for line in unseen]]
    return "\n".join(found) + "\n"


def _what_to_do(diagnosis: Diagnosis) -> str:
    """What the action means, and why if the headline does not say it."""
    step = diagnosis.next
    assert step is not None
    said = sentence(diagnosis.causes[0])
    why = step.reason.removeprefix(said).lstrip("; ") if step.reason.startswith(said) else step.reason
    return "; ".join(part for part in (_MEANS.get(step.action, ""), why) if part)


def next_lines(diagnosis: Diagnosis) -> list[str]:
    step = diagnosis.next
    if step is None:
        return []
    lines = [f"{step.action.replace('_', ' ')}: {_what_to_do(diagnosis)}"]
    lines += [f"exclude {', '.join(step.exclude)}"] if step.exclude else []
    lines += [f"start from {step.checkpoint}"] if step.checkpoint else []
    lines += [f"change: {one}" for one in step.fix]
    lines += [f"set {name} = {value}" for name, value in step.settings.items()]
    lines += [f"verify: {step.verify}"] if step.verify else []
    lines += [f"see: {step.link}"] if step.link else []
    lines += [f"for the cluster team: {step.report_to}"] if step.report_to else []
    return lines
