"""The host's questions, each asked of what a source would bring."""

import pytest

from holdfast.model.health import FailureClass, Health
from holdfast.model.history import History
from holdfast.model.inventory import Inventory
from holdfast.model.signal import Reading, Signal, Value
from holdfast.model.verdict import Row, Verdict
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


def test_a_file_system_that_no_one_listed_is_judged_while_it_is_mounted_and_then_forgotten() -> None:
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


@pytest.mark.parametrize("bad", [{"storage_hung_seconds": 40.0}, {"storage_hung_seconds": 0.0, "storage_error": "EIO"}])
def test_a_pods_volume_whose_server_its_owner_stops_does_not_fail_the_node(bad: dict[str, Value]) -> None:
    path = "var/lib/kubelet/pods/1/volumes/kubernetes.io~nfs/data"
    history = History("n1")
    signals = [Signal(f"node/n1/storage/{path}", name, value) for name, value in bad.items()]
    history.add(Reading(source="shared_storage", at=0, signals=[Signal(NODE, "storage_mounts", 1.0), *signals]))
    verdict = host_shared_storage.CHECK(history.window(0, 600))
    assert verdict.health is Health.DEGRADED
    assert "a volume of a pod" in verdict.rows[0].reason


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
    ("synchronised", "offset", "error", "expected"),
    [
        (1.0, 0.0001, 0.01, ""),
        (0.0, 0.0, 16.0, "nothing synchronises"),
        (1.0, -0.5, 0.01, "-0.500 s off"),
        (1.0, 0.0001, 1.024, ""),  # 2048 s after the last poll, as systemd-timesyncd lets it grow
        (1.0, 0.0, 3.0, "may be 3.0 s off"),
    ],
)
def test_the_clock_degrades_and_never_fails(synchronised: float, offset: float, error: float, expected: str) -> None:
    verdict = ask(
        host_clock.CHECK,
        clock_synchronised=synchronised,
        clock_offset_seconds=offset,
        clock_max_error_seconds=error,
    )
    assert verdict.health is (Health.DEGRADED if expected else Health.PASS)
    assert expected in verdict.summary()
    assert verdict.failure_class is (FailureClass.SLOWDOWN if expected else None), "no job crashes of a wrong clock"


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


def fabric(model: str | float, running: float, switches: float = 0.0, lacks: str = "") -> Verdict:
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


def test_no_one_knows_is_unknown_and_a_box_without_switches_is_not_asked() -> None:
    assert fabric("", 0.0).health is Health.UNKNOWN
    assert fabric("NVIDIA L40S", 0.0, lacks="fabric_manager").health is Health.NOT_APPLICABLE


def test_whether_a_node_needs_the_fabric_manager_is_reported_with_its_reason() -> None:
    switches = fabric("", 0.0, switches=4.0).rows[0]
    assert (switches.reason, switches.value, switches.limit) == (
        "nv-fabricmanager does not run, and this node has 4 NVSwitches",
        0.0,
        1.0,
    )
    assert "need it" in fabric("NVIDIA H100 80GB HBM3", 0.0).rows[0].reason
    assert fabric("NVIDIA L40S", 0.0).health is Health.UNKNOWN
    assert fabric("NVIDIA Mystery", 0.0).health is Health.UNKNOWN
    assert fabric(100.0, 0.0).health is Health.UNKNOWN, "a driver may answer anything"
    running = fabric("", 1.0).rows[0]
    assert (running.health, running.value, running.limit) == (Health.PASS, 1.0, 1.0)


def row_of(verdict: Verdict) -> Row:
    (row,) = verdict.rows
    return row


def clock(offset: float = 0.0, error: float = 0.01) -> Row:
    return row_of(
        ask(host_clock.CHECK, clock_synchronised=1.0, clock_offset_seconds=offset, clock_max_error_seconds=error)
    )


@pytest.mark.parametrize(
    ("offset", "error", "expected", "value", "limit"),
    [
        (0.1, 0.01, Health.PASS, 0.1, 0.1),
        (-0.101, 0.01, Health.DEGRADED, 0.101, 0.1),
        (0.0, 2.0, Health.PASS, 0.0, 0.1),
        (0.0, 2.1, Health.DEGRADED, 2.1, 2.0),
    ],
)
def test_how_wrong_a_clock_may_be(offset: float, error: float, expected: Health, value: float, limit: float) -> None:
    found = clock(offset, error)
    assert (found.health, found.value, found.limit) == (expected, value, limit)


@pytest.mark.parametrize("missing", ["clock_synchronised", "clock_offset_seconds", "clock_max_error_seconds"])
def test_a_clock_that_reports_only_a_part_is_unknown(missing: str) -> None:
    result: dict[str, Value] = {"clock_synchronised": 1.0, "clock_offset_seconds": 0.0, "clock_max_error_seconds": 0.0}
    del result[missing]
    assert ask(host_clock.CHECK, **result).health is Health.UNKNOWN


def test_a_clock_the_kernel_does_not_scale_is_reported_and_the_governors_row_reports_what_is_wanted() -> None:
    assert ask(host_cpu_governor.CHECK, host_cpu_governor="none").evidence == (
        "the kernel does not scale the CPU's clock here",
    )
    assert ask(host_cpu_governor.CHECK, host_cpu_governor="performance").evidence == ()
    assert ask(host_cpu_governor.CHECK).health is Health.UNKNOWN
    meant = Inventory(node="n1", subjects=frozenset({NODE}), expect={NODE: {"host_cpu_governor": "schedutil"}})
    assert ask(host_cpu_governor.CHECK, inventory=meant, host_cpu_governor="performance").health is Health.PASS
    slow = row_of(ask(host_cpu_governor.CHECK, inventory=meant, host_cpu_governor="powersave"))
    assert slow.reason == "CPU frequency governor is powersave, not schedutil"


@pytest.mark.parametrize(("grown", "expected"), [(1000.0, Health.PASS), (1001.0, Health.DEGRADED)])
def test_a_thousand_corrected_errors_an_hour_are_borne(grown: float, expected: Health) -> None:
    history = History("n1", {"host_edac_correctable_total": 7200.0})
    for at, count in ((0, 7.0), (60, 7.0 + grown)):
        signals = [
            Signal(NODE, "host_edac_correctable_total", count),
            Signal(NODE, "host_edac_uncorrectable_total", 0.0),
        ]
        history.add(Reading(source="host", at=at, signals=signals))
    verdict = host_edac.CHECK(history.window(60, 3600))
    found = row_of(verdict)
    assert (found.health, found.value, found.limit) == (expected, grown, 1000.0)
    assert verdict.evidence == (f"{7 + grown:.0f} corrected and 0 uncorrectable errors since boot",)


def test_one_uncorrectable_error_is_too_many_and_half_a_report_is_unknown() -> None:
    one = row_of(ask(host_edac.CHECK, host_edac_uncorrectable_total=1.0, host_edac_correctable_total=0.0))
    assert (one.value, one.limit) == (1.0, 0.0)
    none = ask(host_edac.CHECK, host_edac_uncorrectable_total=0.0, host_edac_correctable_total=5e6)
    assert none.health is Health.PASS
    assert ask(host_edac.CHECK, host_edac_uncorrectable_total=1.0).health is Health.UNKNOWN
    assert ask(host_edac.CHECK, host_edac_correctable_total=1.0).health is Health.UNKNOWN


def room(**values: Value) -> Row:
    return row_of(ask(host_filesystem.CHECK, DISK, mount_mounted=1.0, mount_read_only=0.0, **values))


@pytest.mark.parametrize(
    ("free", "expected", "limit"),
    [
        (0.05, Health.PASS, 0.05),
        (0.049, Health.DEGRADED, 0.05),
        (0.01, Health.DEGRADED, 0.05),
        (0.009, Health.FAIL, 0.01),
    ],
)
def test_how_full_a_disk_may_be(free: float, expected: Health, limit: float) -> None:
    for other in ("mount_inodes_free_ratio", "mount_free_ratio"):
        found = room(**{"mount_inodes_free_ratio": free, "mount_free_ratio": free, other: 0.9})
        assert (found.health, found.value, found.limit) == (expected, free, limit)
    assert room(mount_free_ratio=free).health is expected  # without inodes to count
    assert (
        "4.0 % of its inodes is free, at least 5 % required"
        in room(mount_free_ratio=0.9, mount_inodes_free_ratio=0.04).reason
    )


def test_only_a_disk_that_is_read_only_is_reported_of() -> None:
    assert ask(host_filesystem.CHECK, DISK, mount_mounted=1.0, mount_read_only=0.0, mount_free_ratio=0.5).evidence == ()
    assert read_only("it was writable before").evidence == ()
    assert len(read_only("it was writable before", meant=1).evidence) == 1


@pytest.mark.parametrize(("ratio", "expected"), [(0.02, Health.PASS), (0.019, Health.DEGRADED)])
def test_two_percent_of_main_memory_must_be_left(ratio: float, expected: Health) -> None:
    verdict = ask(host_memory.CHECK, host_memory_available_ratio=ratio, host_memory_total_bytes=100 * 2.0**30)
    found = row_of(verdict)
    assert (found.health, found.value, found.limit) == (expected, ratio, 0.02)
    assert verdict.evidence == (f"{100 * ratio:.1f} of 100.0 GiB available",)
    assert expected is Health.PASS or found.reason == "1.9 % of main memory is available, at least 2 % required"


def test_main_memory_that_reports_only_a_part_is_unknown() -> None:
    assert ask(host_memory.CHECK, host_memory_available_ratio=0.5).health is Health.UNKNOWN
    assert ask(host_memory.CHECK, host_memory_total_bytes=1.0).health is Health.UNKNOWN


def test_the_way_to_gpu_memory_is_reported_and_needs_both_ends() -> None:
    seen: dict[str, Value] = {"host_modules_missing": 0.0, "host_gpudirect": "none"}
    for only in ("node/n1/gpu/0", "node/n1/nic/mlx5_0/1"):
        one = Inventory(node="n1", subjects=frozenset({NODE, only}))
        assert ask(host_modules.CHECK, inventory=one, **seen).health is Health.PASS
    assert ask(host_modules.CHECK, **seen).evidence == ()
    assert ask(host_modules.CHECK, host_modules_missing=0.0).evidence == ()
    result = ask(host_modules.CHECK, **{**seen, "host_gpudirect": "dma_buf"})
    assert result.evidence == ("NICs reach GPU memory by dma_buf",)
    assert ask(host_modules.CHECK).health is Health.UNKNOWN
    missing = row_of(ask(host_modules.CHECK, host_modules_missing=2.0, host_modules_missing_names="a, b"))
    assert (missing.value, missing.limit) == (2.0, 0.0)
    found = row_of(ask(host_modules.CHECK, **seen))
    assert (found.value, found.limit) == (0.0, 0.0)


def processes(seconds: float = 0.0, zombies: float = 0.0, name: str = "") -> Row:
    verdict = ask(
        host_processes.CHECK,
        host_processes_stuck=1.0,
        host_process_stuck_seconds=seconds,
        host_process_stuck_name=name,
        host_processes_zombie=zombies,
    )
    assert verdict.evidence[0] == f"1 processes wait in the kernel, {zombies:.0f} are zombies"
    return row_of(verdict)


def test_a_stuck_process_without_a_name_is_a_process() -> None:
    assert processes(seconds=300.0).reason == "a process: blocked in the kernel for 300 s"


@pytest.mark.parametrize(
    ("seconds", "zombies", "expected", "value", "limit"),
    [
        (299.0, 0.0, Health.PASS, 299.0, 300.0),
        (300.0, 0.0, Health.DEGRADED, 300.0, 300.0),
        (0.0, 200.0, Health.PASS, 0.0, 300.0),
        (0.0, 201.0, Health.DEGRADED, 201.0, 200.0),
    ],
)
def test_how_long_and_how_many(seconds: float, zombies: float, expected: Health, value: float, limit: float) -> None:
    found = processes(seconds, zombies)
    assert (found.health, found.value, found.limit) == (expected, value, limit)


def test_a_program_of_the_driver_that_hangs_is_the_drivers_fault() -> None:
    for name in ("nvidia-smi (pid 7)", "nv-hostengine (pid 7)"):
        assert processes(301.0, name=name).reason.endswith(": the driver hangs")
    assert not processes(301.0, name="python (pid 7)").reason.endswith("hangs")


def test_one_look_cannot_report_how_long_processes_wait() -> None:
    history = History("n1")
    names = ("host_processes_stuck", "host_process_stuck_seconds", "host_processes_zombie")
    caveat = "one reading: how long processes wait is not judged"
    for at, message in ((0.0, caveat), (30.0, "")):
        history.add(Reading(source="host", at=at, signals=[Signal(NODE, name, 0.0) for name in names]))
        verdict = host_processes.CHECK(history.window(at, 600))
        assert (row_of(verdict).reason, verdict.evidence[1:]) == (message, (caveat,) if message else ())
    for missing in names:
        part: dict[str, Value] = {name: 0.0 for name in names if name != missing}
        assert ask(host_processes.CHECK, **part).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("hung", "took", "expected"),
    [
        (0.0, 1.99, Health.PASS),
        (0.0, 2.0, Health.DEGRADED),
        (0.5, 0.0, Health.DEGRADED),
        (9.9, 0.0, Health.DEGRADED),
        (10.0, 0.0, Health.FAIL),
    ],
)
def test_how_long_storage_may_take(hung: float, took: float, expected: Health) -> None:
    assert storage(storage_hung_seconds=hung, storage_answer_seconds=took).health is expected


def test_storage_that_answered_without_a_time_passes_and_a_mounted_one_is_not_missed() -> None:
    assert storage(storage_hung_seconds=0.0).health is Health.PASS
    assert storage(storage_hung_seconds=0.0, storage_mounted=1.0).health is Health.PASS
    found = row_of(storage(storage_hung_seconds=0.0, storage_answer_seconds=0.5))
    assert (found.value, found.limit) == (0.5, 10.0)


def test_listed_storage_is_judged_beside_what_was_found_and_only_once() -> None:
    volume = "node/n1/storage/pods/1/data"
    history = History("n1")
    history.inventory = Inventory(node="n1", subjects=frozenset({NODE, LUSTRE}))
    signals = [Signal(one, "storage_hung_seconds", 0.0) for one in (LUSTRE, volume)]
    history.add(Reading(source="shared_storage", at=0, signals=[*signals, Signal(NODE, "storage_mounts", 2.0)]))
    assert [row.subject for row in host_shared_storage.CHECK(history.window(0, 600)).rows] == [LUSTRE, volume]
    none = ask(host_shared_storage.CHECK, inventory=Inventory(node="n1"), storage_mounts=0.0)
    assert (row_of(none).value, len(none.evidence)) == (0.0, 1)


def test_what_is_wrong_with_a_disk_says_what_to_do() -> None:
    assert "kernel log" in read_only("errors=remount-ro").remedy
    room = {"mount_read_only": 0.0, "mount_inodes_free_ratio": 0.5}
    assert ask(host_filesystem.CHECK, DISK, mount_mounted=1.0, mount_free_ratio=0.0, **room).remedy.startswith("free")
    assert ask(host_filesystem.CHECK, DISK, mount_mounted=0.0, mount_free_ratio=0.5, **room).remedy.startswith("mount")


def test_lost_data_of_main_memory_is_corruption_and_corrected_errors_are_wear() -> None:
    lost = ask(host_edac.CHECK, host_edac_uncorrectable_total=1.0, host_edac_correctable_total=0.0)
    assert (lost.failure_class, "drain" in lost.remedy) == (FailureClass.CORRUPTION, True)


def test_a_clock_that_is_off_is_stepped_and_one_that_nothing_steers_needs_a_daemon() -> None:
    off = ask(host_clock.CHECK, clock_synchronised=1.0, clock_offset_seconds=2.5, clock_max_error_seconds=0.1)
    assert "makestep" in off.remedy
    free = ask(host_clock.CHECK, clock_synchronised=0.0, clock_offset_seconds=2.5, clock_max_error_seconds=16.0)
    assert "chronyd" in free.remedy
