"""Work, waiting and idleness told apart by power, use and traffic; what was never usual says nothing."""

from holdfast.supervisor.hardware.activity import Activity, ActivitySample, Signs

WORKS, WAITS, IDLE = (0.97, 620.0), (1.0, 210.0), (0.0, 75.0)


def trained(gpu: tuple[float, float] = WORKS, gpus: int = 8, rate: float | None = 20e9) -> tuple[Activity, float]:
    """A minute of steps, five seconds each."""
    activity = Activity()
    for second in range(61):
        activity.add(ActivitySample(float(second), (gpu,) * gpus, None if rate is None else rate * second))
        if second % 5 == 0:
            activity.progress(float(second))
    return activity, 60.0


def then(activity: Activity, at: float, gpus: tuple[tuple[float, float], ...], rdma: float | None) -> Signs:
    for second in range(1, 9):
        activity.add(ActivitySample(at + second, gpus, rdma))
    return activity.signs(at + 8)


def test_gpus_that_only_wait_are_counted() -> None:
    activity, at = trained()
    signs = then(activity, at, (*((WAITS,) * 7), IDLE), 20e9 * 60)
    assert (signs.moves, signs.waiting) == (False, 7)
    assert signs.says == (
        "its GPUs draw 193 W where 620 W is usual",
        "its RDMA ports carry 0 MB/s where 20000 is usual",
    )


def test_one_gpu_that_works_is_no_hang() -> None:
    activity, at = trained()
    signs = then(activity, at, (*((WAITS,) * 7), WORKS), 20e9 * 60)
    assert (signs.moves, signs.waiting) == (True, 0)


def test_traffic_is_no_hang() -> None:
    activity, at = trained()
    for second in range(1, 9):
        activity.add(ActivitySample(at + second, (IDLE,) * 8, 20e9 * 60 + 5e9 * second))
    assert activity.signs(at + 8).moves


def test_idle_gpus_wait_for_nothing() -> None:
    activity, at = trained()
    assert then(activity, at, (IDLE,) * 8, None).waiting == 0


def test_what_cannot_be_seen_is_not_used() -> None:
    activity, at = trained(gpus=0, rate=None)
    assert then(activity, at, (), None) == Signs()
    assert Activity().signs(10.0) == Signs()


def test_a_thread_that_hangs_in_the_driver_leaves_no_sign() -> None:
    activity, at = trained()
    assert activity.signs(at + 30) == Signs()


def test_before_the_work_is_known_nothing_is_reported() -> None:
    assert then(Activity(), 0.0, (WAITS,) * 8, 0.0) == Signs()


def test_work_shows_without_progress_lines() -> None:
    activity = Activity()
    busy = []
    for second, gpu in enumerate([IDLE, IDLE, WORKS, WORKS, WAITS, WAITS]):
        sample = ActivitySample(float(second), (gpu,), None)
        activity.add(sample)
        busy.append(activity.is_busy(sample))
    assert busy == [False, False, True, True, False, False]
