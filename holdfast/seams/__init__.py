"""Seams: windows over a topology to findings. Pure: no I/O, no clock, no randomness.

To add one: CONTRIBUTING.md, "How to add a seam".
"""

from collections.abc import Callable, Sequence

from holdfast.model.finding import Finding
from holdfast.model.panel import Panel
from holdfast.model.topology import Topology
from holdfast.seams.candidate import CauseCandidate
from holdfast.seams.intermittent import as_intermittent, folded
from holdfast.seams.persistence import SLOWDOWN
from holdfast.seams.root import roots
from holdfast.seams.rules.cooling_ambient import SEAM as _cooling_ambient
from holdfast.seams.rules.cooling_fan import SEAM as _cooling_fan
from holdfast.seams.rules.cooling_flow import SEAM as _cooling_flow
from holdfast.seams.rules.cooling_plant import SEAM as _cooling_plant
from holdfast.seams.rules.cooling_pump import SEAM as _cooling_pump
from holdfast.seams.rules.cooling_rack import SEAM as _cooling_rack
from holdfast.seams.rules.cooling_unmetered import SEAM as _cooling_unmetered
from holdfast.seams.rules.device_slow import SEAM as _device_slow
from holdfast.seams.rules.fabric_load import SEAM as _fabric_load
from holdfast.seams.rules.fabric_rail import SEAM as _fabric_rail
from holdfast.seams.rules.fabric_uplink import SEAM as _fabric_uplink
from holdfast.seams.rules.pools_path import SEAM as _pools_path
from holdfast.seams.rules.power_limit import SEAM as _power_limit
from holdfast.seams.rules.power_supply import SEAM as _power_supply
from holdfast.seams.rules.schedule_cadence import SEAM as _schedule_cadence
from holdfast.seams.rules.schedule_degraded import SEAM as _schedule_degraded
from holdfast.seams.rules.schedule_recovery import SEAM as _schedule_recovery
from holdfast.seams.rules.sensor_broken import SEAM as _sensor_broken
from holdfast.seams.rules.sensor_drift import SEAM as _sensor_drift
from holdfast.seams.rules.software_rollout import SEAM as _software_rollout
from holdfast.seams.rules.storage_service import SEAM as _storage_service
from holdfast.seams.rules.storage_writer import SEAM as _storage_writer
from holdfast.seams.scene import Scene
from holdfast.seams.seam import Seam

ALL: tuple[Seam, ...] = tuple(found for found in list(globals().values()) if isinstance(found, Seam))
"""The seams imported above: the import is the one line that adds a seam."""


OnError = Callable[[Seam, Exception], None]


def _raise(seam: Seam, error: Exception) -> None:
    raise error


def explain(
    panel: Panel,
    topology: Topology,
    seams: Sequence[Seam] = ALL,
    baseline: Panel | None = None,
    on_error: OnError = _raise,
) -> tuple[Finding, ...]:
    """Findings, one per root cause, the most confident first. `baseline` is a known good past, if there is one. With
    `on_error`, a seam that raises an exception finds nothing and the others continue."""
    if len(panel.times) < 2:
        return ()  # a window of one column has no step and no change
    found = _of(Scene(panel, topology, baseline), seams, on_error)
    fold = folded(panel)
    if fold is None:
        return found
    named, causes = {(one.cause, one.kind) for one in found}, {one.cause for one in found}
    returning = (as_intermittent(one, fold, panel.now) for one in _of(Scene(fold.panel, topology), seams, on_error))
    more = [one for one in returning if one and (one.cause, one.kind) not in named and one.cause not in causes]
    victims = {victim for one in more for victim in one.victims}
    found = tuple(one for one in found if one.kind != SLOWDOWN or one.cause not in victims)
    return tuple(sorted((*found, *more), key=lambda one: -one.raw))


def _of(scene: Scene, seams: Sequence[Seam], on_error: OnError) -> tuple[Finding, ...]:
    ordered = sorted(seams, key=lambda seam: not seam.asked_first)
    candidates: list[CauseCandidate] = []
    for seam in ordered:
        try:
            candidates += list(seam.explain(scene))
        except Exception as error:  # noqa: BLE001  the caller decides: the controller continues, a test fails
            on_error(seam, error)
    return roots(scene, candidates)
