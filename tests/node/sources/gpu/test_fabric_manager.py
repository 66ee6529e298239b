"""Whether the fabric manager runs, from the command names in /proc."""

from pathlib import Path

from holdfast.node.sources.gpu.fabric_manager import FabricManagerSource


def running(proc: Path, source: FabricManagerSource) -> float | str:
    return next(s.value for s in source.read(0).signals if s.name == "fabric_manager_running")


def test_it_is_found_by_its_cut_name_and_missed_when_gone(tmp_path: Path) -> None:
    source = FabricManagerSource("n1", proc=str(tmp_path))
    (tmp_path / "1").mkdir()
    (tmp_path / "1/comm").write_text("systemd\n")
    assert running(tmp_path, source) == 0.0
    (tmp_path / "77").mkdir()
    (tmp_path / "77/comm").write_text("nv-fabricmanage\n")
    assert running(tmp_path, source) == 1.0
    (tmp_path / "77/comm").write_text("bash\n")  # the pid was reused
    assert running(tmp_path, source) == 0.0


def test_switches_that_the_driver_owns_are_counted(tmp_path: Path) -> None:
    for name in ("0000:05:00.0", "0000:06:00.0"):
        (tmp_path / "driver/nvidia-nvswitch/devices" / name).mkdir(parents=True)
    reading = FabricManagerSource("n1", proc=str(tmp_path)).read(0)
    assert ("node/n1", "nvswitch_devices", 2.0) in reading.signals


def test_without_proc_it_is_blind(tmp_path: Path) -> None:
    assert "cannot be listed" in FabricManagerSource("n1", proc=str(tmp_path / "gone")).read(0).blind
