"""docs/drills.md is enough to write a drill: every key, kind, bound, distractor and signal is in it."""

import re
from pathlib import Path

from holdfast.catalog.seam_signals import signals
from holdfast.lab.drills.compound import KINDS
from holdfast.lab.drills.file import understand
from holdfast.lab.drills.instruments import KEYS
from holdfast.lab.drills.reader import FLEET, SECTIONS
from holdfast.lab.drills.recorded import COLUMNS, EVENT_COLUMNS, NOT_COMPARED, RECORDING
from holdfast.lab.twin.plant.fault import DISTRACTORS, kinds
from holdfast.lab.twin.plant.signals import OF
from holdfast.seams import ALL

PAGE = (Path(__file__).parents[3] / "docs" / "drills.md").read_text(encoding="utf-8")


def test_every_kind_stands_there_with_its_subject_and_bounds() -> None:
    for kind in kinds().values():
        bounds = f"{kind.typical:g} | {kind.bounds[0]:g} to {kind.bounds[1]:g}"
        assert f"| `{kind.name}` | {', '.join(kind.on)} | {kind.magnitude} | {bounds} |" in PAGE


def test_every_distractor_key_and_signal_stands_there() -> None:
    for name, (on, what) in DISTRACTORS.items():
        assert f"| `{name}` | {on} | {what} |" in PAGE
    for name, (on, what, bounds, typical) in KINDS.items():
        limits = f"{typical:g} | {bounds[0]:g} to {bounds[1]:g}"
        assert f"| `{name}` | {', '.join(on)} | {what} | {limits} |" in PAGE
    for key in (*SECTIONS, *FLEET, *KEYS, *RECORDING, *COLUMNS, *EVENT_COLUMNS, *NOT_COMPARED):
        assert re.search(rf"\b{key}\b", PAGE), key
    assert all(f"`{signal}`" in PAGE for names in OF.values() for signal in names)


def test_the_drill_on_the_page_is_one() -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    drill = understand(example[1], "page.toml")
    assert [fault.kind for fault in drill.faults] == ["cooling.flow_low"]
    assert drill.layout.fleet.nodes == 64


def test_every_signal_that_a_rule_reads_can_be_recorded() -> None:
    read = {signal for seam in ALL for signal in seam.reads}
    assert read <= {*signals(), *NOT_COMPARED}
    assert all(f"`{signal}`" in PAGE for signal in read)
