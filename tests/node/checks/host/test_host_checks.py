"""The host's questions, each asked of what a source would bring."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Verdict
from holdfast.node.checks.check import Check
from holdfast.node.checks.gpu import fabric_manager as gpu_fabric_manager
from holdfast.node.checks.host import clock as host_clock
from holdfast.node.checks.host import cpu_governor as host_cpu_governor
from holdfast.node.checks.host import edac as host_edac
from holdfast.node.checks.host import filesystem as host_filesystem
from holdfast.node.checks.host import memory as host_memory
from holdfast.node.checks.host import modules as host_modules
from holdfast.node.checks.host import processes as host_processes
from holdfast.node.checks.host import shared_storage as host_shared_storage

NODE = "node/n1"
DISK = "node/n1/mount/root"
LUSTRE = "node/n1/storage/lustre"


def ask(check: Check, about: str = NODE, *, inventory: Inventory | None = None, **values: Value) -> Verdict:
    history = History("n1")
    history.inventory = inventory or Inventory(node="n1", subjects=frozenset({NODE, about}))
    history.add(Reading(source="host", at=0, signals=[Signal(about, name, value) for name, value in values.items()]))
    return check(history.window(0, check.span))


def health(verdict: Verdict, about: str = NODE) -> Health:
    return next(row.health for row in verdict.rows if row.subject == about)


@pytest.mark.parametrize(
    ("free", "inodes", "expected"),
    [
        (0.5, 0.5, Health.PASS),
        (0.04, 0.5, Health.DEGRADED),
        (0.5, 0.04, Health.DEGRADED),
        (0.005, 0.5, Health.FAIL),
        (0.5, 0.0, Health.FAIL),
    ],
)
def test_a_disk_is_judged_by_the_scarcer_of_space_and_inodes(free: float, inodes: float, expected: Health) -> None:
    verdict = ask(
        host_filesystem.CHECK,
        DISK,
        mount_mounted=1.0,
        mount_read_only=0.0,
        mount_free_ratio=free,
        mount_inodes_free_ratio=inodes,
    )
    assert health(verdict, DISK) is expected


def read_only(fault: str, meant: int | None = None) -> Verdict:
    expect: dict[str, dict[str, Value]] = {} if meant is None else {DISK: {"mount_read_only": meant}}
    inventory = Inventory(node="n1", subjects=frozenset({DISK}), expect=expect)
    return ask(
        host_filesystem.CHECK,
        DISK,
        inventory=inventory,
        mount_mounted=1.0,
        mount_read_only=1.0,
        mount_read_only_fault=fault,
        mount_free_ratio=0.0,  # as of an image
    )


def test_a_disk_gone_read_only_fails_unless_the_manifest_means_it_so() -> None:
    assert read_only("it was writable before").health is Health.FAIL
    assert "it was writable before" in read_only("it was writable before").summary()
    assert read_only("it was writable before", meant=1).health is Health.PASS


def test_a_disk_that_was_never_writable_is_evidence_unless_the_manifest_wants_it_writable() -> None:
    image = read_only("")
    assert (image.health, "mount root is read-only" in image.evidence[0]) == (Health.PASS, True)
    assert read_only("", meant=0).health is Health.FAIL


def test_a_listed_disk_that_is_not_mounted_fails() -> None:
    assert "not mounted" in ask(host_filesystem.CHECK, DISK, mount_mounted=0.0).summary()


def test_a_disk_that_cannot_be_asked_is_unknown() -> None:
    assert ask(host_filesystem.CHECK, DISK, mount_mounted=1.0, mount_read_only=0.0).health is Health.UNKNOWN


def storage(**values: Value) -> Verdict:
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({NODE, LUSTRE}))
    signals = [Signal(NODE, "storage_mounts", 1.0), *(Signal(LUSTRE, name, value) for name, value in values.items())]
    history.add(Reading(source="shared_storage", at=0, signals=signals))
    return host_shared_storage.CHECK(history.window(0, 600))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"storage_hung_seconds": 0.0, "storage_answer_seconds": 0.01, "storage_error": ""}, Health.PASS),
        ({"storage_hung_seconds": 0.0, "storage_answer_seconds": 4.0, "storage_error": ""}, Health.DEGRADED),
        ({"storage_hung_seconds": 3.0}, Health.DEGRADED),
        ({"storage_hung_seconds": 40.0}, Health.FAIL),
        ({"storage_hung_seconds": 0.0, "storage_error": "Stale file handle"}, Health.FAIL),
        ({"storage_hung_seconds": 0.0, "storage_error": "", "storage_mounted": 0.0}, Health.FAIL),
        ({}, Health.UNKNOWN),
    ],
)
def test_shared_storage(seen: dict[str, Value], expected: Health) -> None:
    assert storage(**seen).health is expected


def test_a_hung_mount_is_the_storage_owners_crash() -> None:
    verdict = storage(storage_hung_seconds=40.0)
    assert (verdict.owner, verdict.failure_class) == ("storage", FailureClass.CRASH)
    assert "has not answered for 40 s" in verdict.summary()


def test_a_file_system_that_nobody_listed_is_judged_while_it_is_mounted_and_then_forgotten() -> None:
    volume = "node/n1/storage/pods/1/data"
    history = History("n1")
    seen = {"storage_hung_seconds": 40.0}
    signals = [Signal(NODE, "storage_mounts", 1.0), *(Signal(volume, name, value) for name, value in seen.items())]
    history.add(Reading(source="shared_storage", at=0, signals=signals))
    verdict = host_shared_storage.CHECK(history.window(0, 600))
    assert [(row.subject, row.health) for row in verdict.rows] == [(volume, Health.FAIL)]
    gone = {(volume, name): "is no longer mounted" for name in seen}
    history.add(Reading(source="shared_storage", at=30, signals=[Signal(NODE, "storage_mounts", 0.0)], absent=gone))
    assert host_shared_storage.CHECK(history.window(30, 600)).health is Health.PASS


def test_a_file_system_that_the_manifest_lists_is_missed() -> None:
    listed = Inventory(node="n1", subjects=frozenset({NODE, LUSTRE}), expect={LUSTRE: {"storage_mounted": 1}})
    missing = ask(host_shared_storage.CHECK, inventory=listed, storage_mounts=0.0)
    assert (missing.health, "manifest" in missing.summary()) == (Health.FAIL, True)
    assert ask(host_shared_storage.CHECK, inventory=listed).health is Health.UNKNOWN


def test_no_shared_storage_is_a_pass_and_not_knowing_is_not() -> None:
    only_node = Inventory(node="n1", subjects=frozenset({NODE}))
    assert ask(host_shared_storage.CHECK, inventory=only_node, storage_mounts=0.0).health is Health.PASS
    assert ask(host_shared_storage.CHECK, inventory=only_node).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("name", "seconds", "zombies", "expected"),
    [
        ("", 0.0, 3.0, Health.PASS),
        ("dd (pid 7)", 200.0, 0.0, Health.PASS),
        ("python (pid 7)", 301.0, 0.0, Health.DEGRADED),
        ("nvidia-smi (pid 7)", 301.0, 0.0, Health.FAIL),
        ("", 0.0, 500.0, Health.DEGRADED),
    ],
)
def test_stuck_processes(name: str, seconds: float, zombies: float, expected: Health) -> None:
    verdict = ask(
        host_processes.CHECK,
        host_processes_stuck=float(bool(name)),
        host_process_stuck_seconds=seconds,
        host_process_stuck_name=name,
        host_processes_zombie=zombies,
    )
    assert verdict.health is expected
    assert not (name and expected is not Health.PASS) or name in verdict.summary()


@pytest.mark.parametrize(
    ("synchronised", "offset", "error", "said"),
    [
        (1.0, 0.0001, 0.01, ""),
        (0.0, 0.0, 16.0, "nothing synchronises"),
        (1.0, -0.5, 0.01, "-0.500 s off"),
        (1.0, 0.0001, 1.024, ""),  # 2048 s after the last poll, as systemd-timesyncd lets it grow
        (1.0, 0.0, 3.0, "may be 3.0 s off"),
    ],
)
def test_the_clock_degrades_and_never_fails(synchronised: float, offset: float, error: float, said: str) -> None:
    verdict = ask(
        host_clock.CHECK,
        clock_synchronised=synchronised,
        clock_offset_seconds=offset,
        clock_max_error_seconds=error,
    )
    assert verdict.health is (Health.DEGRADED if said else Health.PASS)
    assert said in verdict.summary()
    assert verdict.failure_class is (FailureClass.SLOWDOWN if said else None), "no job crashes of a wrong clock"


def test_a_clock_that_cannot_be_asked_is_unknown() -> None:
    assert ask(host_clock.CHECK).health is Health.UNKNOWN


def test_a_missing_module_fails_by_name() -> None:
    verdict = ask(host_modules.CHECK, host_modules_missing=1.0, host_modules_missing_names="nvidia_uvm")
    assert (verdict.health, "nvidia_uvm" in verdict.summary()) == (Health.FAIL, True)


def test_gpudirect_matters_only_where_there_are_gpus_and_ports() -> None:
    seen: dict[str, Value] = {"host_modules_missing": 0.0, "host_gpudirect": "none"}
    assert ask(host_modules.CHECK, **seen).health is Health.PASS
    both = Inventory(node="n1", subjects=frozenset({NODE, "node/n1/gpu/0", "node/n1/nic/mlx5_0/1"}))
    degraded = ask(host_modules.CHECK, inventory=both, **seen)
    assert (degraded.health, degraded.failure_class) == (Health.DEGRADED, FailureClass.SLOWDOWN)
    seen["host_gpudirect"] = "dma_buf"  # without nvidia_peermem: no false alarm
    assert ask(host_modules.CHECK, inventory=both, **seen).health is Health.PASS


def test_an_uncorrectable_memory_error_fails_even_at_first_sight() -> None:
    verdict = ask(host_edac.CHECK, host_edac_uncorrectable_total=1.0, host_edac_correctable_total=0.0)
    assert verdict.health is Health.FAIL


def test_corrected_errors_count_by_their_growth_within_an_hour() -> None:
    history = History("n1", {"host_edac_correctable_total": 7200.0})
    for at, count in ((0, 5_000_000.0), (60, 5_000_500.0), (120, 5_002_000.0)):
        signals = [
            Signal(NODE, "host_edac_correctable_total", count),
            Signal(NODE, "host_edac_uncorrectable_total", 0.0),
        ]
        history.add(Reading(source="host", at=at, signals=signals))
        verdict = host_edac.CHECK(history.window(at, 3600))
        assert verdict.health is (Health.DEGRADED if at == 120 else Health.PASS)


def test_without_edac_it_is_unknown_and_with_a_manifest_not_applicable() -> None:
    assert ask(host_edac.CHECK).health is Health.UNKNOWN
    lacking = Inventory(node="n1", subjects=frozenset({NODE}), lacks={"edac": "the manifest says so"})
    assert ask(host_edac.CHECK, inventory=lacking).health is Health.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("governor", "expected"),
    [("performance", Health.PASS), ("none", Health.PASS), ("powersave", Health.DEGRADED)],
)
def test_the_governor(governor: str, expected: Health) -> None:
    assert ask(host_cpu_governor.CHECK, host_cpu_governor=governor).health is expected


def test_a_governor_that_the_manifest_means_is_good() -> None:
    meant = Inventory(node="n1", subjects=frozenset({NODE}), expect={NODE: {"host_cpu_governor": "schedutil"}})
    assert ask(host_cpu_governor.CHECK, inventory=meant, host_cpu_governor="schedutil").health is Health.PASS


@pytest.mark.parametrize(("ratio", "expected"), [(0.5, Health.PASS), (0.001, Health.DEGRADED)])
def test_main_memory(ratio: float, expected: Health) -> None:
    verdict = ask(host_memory.CHECK, host_memory_available_ratio=ratio, host_memory_total_bytes=2.0**40)
    assert verdict.health is expected


def fabric(model: str, running: float, switches: float = 0.0, lacks: str = "") -> Verdict:
    history = History("n1")
    gpu = "node/n1/gpu/0"
    lacking = {lacks: "catalog"} if lacks else {}
    history.inventory = Inventory(node="n1", subjects=frozenset({NODE, gpu} if model else {NODE}), lacks=lacking)
    signals = [Signal(NODE, "fabric_manager_running", running), Signal(NODE, "nvswitch_devices", switches)]
    if model:
        signals.append(Signal(gpu, "gpu_model", model))
    history.add(Reading(source="fabric_manager", at=0, signals=signals))
    return gpu_fabric_manager.CHECK(history.window(0, 600))


def test_the_fabric_manager_is_missed_where_switches_or_the_model_need_it() -> None:
    assert fabric("NVIDIA H100 80GB HBM3", 1.0).health is Health.PASS
    assert fabric("NVIDIA H100 80GB HBM3", 0.0).health is Health.FAIL
    assert fabric("", 0.0, switches=4.0).health is Health.FAIL


def test_nobody_knows_is_unknown_and_a_box_without_switches_is_not_asked() -> None:
    assert fabric("", 0.0).health is Health.UNKNOWN
    assert fabric("NVIDIA L40S", 0.0, lacks="fabric_manager").health is Health.NOT_APPLICABLE
