"""gpu.lost: is every GPU present? Lost to the driver, off the bus, or on the bus and unknown to the driver."""

from collections.abc import Iterator

from holdfast.model.health import FailureClass, Health
from holdfast.model.signal import Event
from holdfast.model.subject import Subject, kind, local_name
from holdfast.model.verdict import Row, Verdict
from holdfast.model.window import Window
from holdfast.node.checks.check import Check, Limits
from holdfast.node.checks.gpu.facts import GpuFinding, conclude, gpus
from holdfast.node.checks.gpu.place import ADDRESS, LOST, places, subject_of

FALLEN_OFF_THE_BUS = "79"  # the Xid
AMD_LOST = "lost"


def judge(window: Window, limits: Limits) -> Verdict:
    reported = {subject_of(window, event): event for event in _events(window)}
    everyone = gpus(window, LOST)
    findings = [_judge_gpu(window, gpu, everyone, reported.pop(gpu, None)) for gpu in everyone]
    covered = {finding.row.subject for finding in findings if finding}
    findings += [GpuFinding(_fallen(subject, event)) for subject, event in reported.items()]
    on_bus = _only_on_the_bus(window, everyone)
    findings += [finding for finding in on_bus if finding.row.subject not in covered | set(reported)]
    bad = [finding.row.subject for finding in findings if finding and finding.row.health is Health.FAIL]
    return conclude(findings, (line for subject in bad if (line := _who(window, subject))))


def _events(window: Window) -> Iterator[Event]:
    for event in window.events("xid", "gpu_lost", "amdgpu"):
        named = event.subject or event.device
        if named and (event.kind == "gpu_lost" or str(event.code) in (FALLEN_OFF_THE_BUS, AMD_LOST)):
            yield event


def _judge_gpu(window: Window, gpu: Subject, everyone: tuple[Subject, ...], event: Event | None) -> GpuFinding | None:
    lost = window.number(gpu, LOST)
    if lost:
        address = next((address for address, there in places(window).items() if there == gpu), "")
        where = f"the driver has lost the GPU at {address}"
        why = where if address else window.why_absent(gpu, "gpu_temperature_celsius")
        return GpuFinding(Row(gpu, Health.FAIL, 1.0, 0.0, why))
    if event is not None and not _answers_since(window, gpu, event):
        return GpuFinding(_fallen(gpu, event))
    if lost is None:
        return _missing(window, gpu, everyone)
    return GpuFinding(Row(gpu, Health.PASS, 0.0, 0.0))


def _answers_since(window: Window, gpu: Subject, event: Event) -> bool:
    """Whether the GPU answered the driver after the kernel reported it as gone: then it is not lost."""
    runs = window.runs(gpu, LOST)
    return window.number(gpu, LOST) == 0.0 and bool(runs) and runs[-1].end > event.at


def _fallen(subject: Subject, event: Event) -> Row:
    return Row(subject, Health.FAIL, 1.0, 0.0, f"the kernel reports that the GPU is gone: {event.text.strip()[:160]}")


def _missing(window: Window, gpu: Subject, everyone: tuple[Subject, ...]) -> GpuFinding | None:
    """A GPU of the manifest without this number in the driver: renumbered, or missing."""
    address = window.inventory.expect.get(gpu, {}).get(ADDRESS)
    listed = _listed(window, everyone)
    if not address or not listed:
        return None
    if str(address) in listed:
        text = f"manifest: this GPU is at {address}, which the driver lists as {local_name(listed[str(address)])}"
        return GpuFinding(Row(gpu, Health.NOT_APPLICABLE, reason=text))
    text = f"the manifest expects a GPU at {address}; the driver does not list it"
    return GpuFinding(Row(gpu, Health.FAIL, 1.0, 0.0, text))


def _only_on_the_bus(window: Window, everyone: tuple[Subject, ...]) -> Iterator[GpuFinding]:
    silent = [gpu for gpu in everyone if window.number(gpu, "gpu_responding") == 0.0]
    if any(window.value(gpu, ADDRESS) is None for gpu in silent):
        return  # the driver lists it without an address: gpu.responding reports it
    listed = _listed(window, everyone)
    excluded = str(window.value(window.node, "gpu_excluded") or "").split(",")
    for device in window.inventory.expected("pci") if listed else ():
        address = device.rsplit("/", 1)[1]
        if window.value(device, "pci_role") != "gpu" or address in listed or address in excluded:
            continue
        if kind(window.inventory.subject_of(address)) != "gpu":  # a GPU that was listed before has its own row
            text = f"a GPU is on the PCI bus at {address}; the driver does not list it"
            yield GpuFinding(Row(device, Health.FAIL, 1.0, 0.0, text))


def _listed(window: Window, everyone: tuple[Subject, ...]) -> dict[str, Subject]:
    """PCI address -> GPU, once the address of every GPU the driver lists is known; until then nothing is missing."""
    seen = {gpu: window.value(gpu, ADDRESS) for gpu in everyone if window.number(gpu, LOST) is not None}
    return {} if None in seen.values() else {str(address): gpu for gpu, address in seen.items()}


def _who(window: Window, subject: Subject) -> str:
    serial = window.value(subject, "gpu_serial")
    model = window.value(subject, "gpu_model")
    return f"{local_name(subject)}: {model}, serial number {serial}" if serial else ""


CHECK = Check(
    name="gpu.lost",
    asks="Is every GPU present, for the driver and on the bus?",
    about="gpu",
    part="gpu",
    reads=(LOST,),
    judge=judge,
    failure_class=FailureClass.CRASH,
    remedy="drain and reboot the node; if the GPU does not come back or is lost again, reseat or replace it",
    owner="hardware",
    span=600.0,
    event_kinds=("xid", "gpu_lost", "amdgpu"),
)
