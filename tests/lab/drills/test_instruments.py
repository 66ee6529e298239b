"""Instruments of a drill: cadence, resolution, missed readings, missing meters and silence of a whole subject."""

import numpy as np

from holdfast.lab.drills.file import understand
from holdfast.lab.drills.instruments import Instrument, Silence, as_read, silenced
from holdfast.lab.drills.stage import plant_of, tolerated
from holdfast.lab.twin.plant.fault import PlantFault
from holdfast.model.panel import Panel, SignalTable
from holdfast.model.topology import Edge, Topology

TIMES = np.arange(0.0, 600.0, 10.0)
TOPOLOGY = Topology((Edge("cools", "rack/r1", "node/a"), Edge("cools", "rack/r2", "node/b")))
BASE = '[fleet]\nnodes = 64\n[[job]]\nname = "llama"\nnodes = "n[001-064]"\n[[fault]]\nstart = "10m"\n'


def _panel(*signals: str) -> Panel:
    rows = np.linspace(60, 70, len(TIMES), dtype=np.float32)
    subjects = ("node/a/gpu/0", "node/b/gpu/0", "rack/r1")
    return Panel(TIMES, {name: SignalTable(subjects, np.stack([rows] * 3)) for name in signals})


def test_a_coarse_slow_instrument_shows_steps_once_a_cadence() -> None:
    read = Instrument(signals="gpu_*", cadence=60, resolution=1.0)
    seen = as_read(_panel("gpu_temperature_celsius"), [read], 1).of("gpu_temperature_celsius").values[0]
    known = seen[~np.isnan(seen)]
    assert np.all(known == np.round(known))
    changes = np.flatnonzero(np.diff(known))
    assert len(changes) >= 5 and np.all(np.diff(changes) % 6 == 0)


def test_the_first_that_fits_reads_and_a_missing_meter_says_nothing() -> None:
    meters = [Instrument(signals="rack_inlet*", resolution=5), Instrument(signals="rack_*", missing=True)]
    panel = as_read(_panel("rack_inlet_celsius", "rack_power_watts", "job_step_seconds"), meters, 1)
    assert sorted(panel.tables) == ["job_step_seconds", "rack_inlet_celsius"]


def test_the_same_readings_are_missed_whatever_is_measured() -> None:
    often = Instrument(signals="*", missed=0.9)
    gaps = [np.isnan(as_read(_panel("gpu_power_watts"), [often], seed).of("gpu_power_watts").values)
            for seed in (1, 1, 2)]  # fmt: skip
    assert gaps[0].any() and (gaps[0] == gaps[1]).all() and (gaps[0] != gaps[2]).any()


def test_silence_takes_a_subject_its_parts_and_the_nodes_of_a_rack() -> None:
    panel = _panel("gpu_temperature_celsius")
    silent = {
        about: np.isnan(silenced(panel, [Silence(subject=about, start=100, end=200)], TOPOLOGY)
                        .of("gpu_temperature_celsius").values).sum(axis=1).tolist()
        for about in ("node/a", "rack/r1")
    }  # fmt: skip
    assert silent == {"node/a": [10, 0, 0], "rack/r1": [10, 0, 10]}


def test_a_chiller_plant_is_all_units_of_its_room_and_one_truth() -> None:
    drill = understand(BASE + 'kind = "cooling.plant"\nsubject = "room/hall1"\n', "x.toml")
    (one,) = drill.compounds
    assert one.truth is not None and one.truth.named == ("room/hall1", "cooling.plant")
    assert [(fault.kind, fault.subject) for fault in plant_of(drill).faults] == [
        ("cooling.supply_warm", "cdu/c1"),
        ("cooling.supply_warm", "cdu/c2"),
    ]
    small = understand((BASE + 'kind = "cooling.plant"\nsubject = "room/hall1"\n').replace("64", "32"), "x.toml")
    assert small.compounds[0].truth is not None
    assert small.compounds[0].truth.named == ("cdu/c1", "cooling.supply_warm")


def test_an_announced_fault_is_no_truth() -> None:
    drill = understand(BASE + 'kind = "cooling.flow_low"\nsubject = "cdu/c1"\nannounced = true\n', "x.toml")
    assert not drill.faults and drill.compounds[0].truth is None
    assert [fault.kind for fault in plant_of(drill).faults] == ["cooling.flow_low"]
    assert drill.began == 600


def test_a_long_gap_of_all_signals_may_be_called_silent() -> None:
    gap = '[[distractor]]\nkind = "sensor_gap"\nsubject = "node/n003"\nsignal = "*"\nstart = "5m"\nlasts = "%s"\n'
    text = BASE + 'kind = "gpu.slow"\nsubject = "node/n001/gpu/0"\n'
    assert tolerated(understand(text + gap % "6m", "x.toml")) == {("node/n003", "sensor.lost")}
    assert not tolerated(understand(text + gap % "5m", "x.toml"))


def test_an_intermittent_fault_comes_and_goes() -> None:
    fault = PlantFault(kind="gpu.slow", subject="x", start=100, magnitude=0.5, on=30, off=300)
    assert [fault.strength(at) for at in (99, 100, 129, 130, 429, 430)] == [0, 0.5, 0.5, 0, 0, 0.5]
