"""Jobs of a random site: when they compute, write or are down."""

import numpy as np
import numpy.typing as npt

from holdfast.lab.drills.wide.conditions import Conditions, Truths, pressure_of
from holdfast.lab.drills.wide.site import Floats, SiteJob


def job_state(conditions: Conditions, work: SiteJob) -> npt.NDArray[np.int8]:
    """State per column: 0 away, 1 computing, 2 writing, 3 down, 4 evaluating. Storage decides how long checkpoints
    take."""
    times, site = conditions.times, conditions.site
    state = np.ones(len(times), np.int8)
    since = work.phase * work.interval
    left = 0.0
    worst = np.ones(len(times))
    for node, times_as_long in conditions.writers.items():
        if node in work.nodes:
            worst = np.maximum(worst, times_as_long)
    speed = conditions.store * conditions.quota.get(work.name, np.ones(len(times))) / worst
    own = work.takes / (work.takes + 40 * conditions.metadata)
    every = conditions.interval.get(work.name, np.full(len(times), work.interval))
    sizes = conditions.size.get(work.name, np.ones(len(times)))
    for column in range(len(times)):
        now = times[column]
        if not conditions.begins[work.name] <= now < conditions.ends[work.name]:
            state[column] = 0
        elif any(job == work.name and begin <= now < end for job, begin, end in conditions.down):
            state[column], since, left = 3, 0.0, 0.0
        elif left > 0:
            state[column] = 2
            left -= site.step * speed[column] * own[column]
            since = 0.0
        else:
            since += site.step
            if conditions.paused[work.name][column]:
                state[column] = 4
            elif since >= every[column]:
                left = work.takes * sizes[column]
    return state


def job_truths(conditions: Conditions, clock: Floats, states: dict[str, npt.NDArray[np.int8]]) -> Truths:
    site, k, count = conditions.site, conditions.site.constants, len(conditions.times)
    rows: dict[str, list[Floats]] = {}
    ranks: dict[str, list[Floats]] = {}
    names: list[str] = []
    pressure = np.maximum(pressure_of(conditions), 1.0)
    for work in site.works:
        rng, gpus = site.rng, site.gpus_of(work.nodes)
        names += [f"{work.subject}/rank/{rank}" for rank in range(len(gpus))]
        computing = states[work.name] == 1
        own = 1 + work.rank_jitter * 0.5 * rng.standard_normal((len(gpus), 1))
        noise = 1 + work.rank_jitter * rng.standard_normal((len(gpus), count))
        compute = work.compute * own * noise * (1 - k["clocked"] + k["clocked"] / clock[gpus]) * conditions.rank[gpus]
        larger = conditions.work_larger[work.name]
        compute = compute * conditions.work_slow[work.name] * larger
        data = 0.02 * work.compute * (1 + 0.15 * np.abs(rng.standard_normal((len(gpus), count))))
        leaves = np.unique(site.leaf_of[work.nodes])
        crossing = np.isin(np.arange(len(site.links)) // site.spines, leaves)
        slow = np.maximum(1.0, pressure[crossing].max(axis=0)) if len(leaves) > 1 else np.ones(count)
        slow = np.maximum(slow, (1 / conditions.port[gpus]).max(axis=0))
        hiccup = 1 + 0.3 * (rng.random(count) < 0.01)
        together = work.collective * slow * (1 + 0.03 * np.abs(rng.standard_normal(count)))
        # Ranks wait for the slowest one of each step; over many steps their jitter averages out.
        settled = (compute / noise * (1 + (noise - 1) / 3) + data).max(axis=0)
        step = (settled + together) * hiccup * (1 + work.jitter * rng.standard_normal(count))
        usual = float(np.median(step[computing][: max(3, count // 6)])) if computing.any() else 1.0
        away = np.where(computing, 1.0, np.nan)
        down = states[work.name] == 3
        rows.setdefault("job_step_seconds", []).append(step * away)
        rows.setdefault("job_throughput_ratio", []).append(np.where(down, 0.0, usual * larger / step * away))
        rows.setdefault("job_collective_seconds", []).append(together * away)
        every = conditions.interval.get(work.name, np.full(count, work.interval))
        present = np.where(states[work.name] > 0, 1.0, np.nan)
        rows.setdefault("job_checkpoint_interval_seconds", []).append(every * present)
        rows.setdefault("job_restart_seconds", []).append(np.full(count, work.restart) * present)
        took, wrote = _checkpoints(conditions, work, states[work.name])
        rows.setdefault("job_checkpoint_seconds", []).append(took)
        for name, values in (
            ("rank_compute_seconds", compute * away),
            ("rank_data_seconds", data * away),
            ("rank_wait_seconds", np.maximum(0.0, (compute + data).max(axis=0) - compute - data) * away),
            ("rank_checkpoint_seconds", wrote),
        ):
            ranks.setdefault(name, []).append(values)
    subjects = tuple(work.subject for work in site.works)
    found: Truths = {name: (subjects, np.stack(values)) for name, values in rows.items()}
    found |= {name: (tuple(names), np.concatenate(values)) for name, values in ranks.items()}
    return found


def _checkpoints(conditions: Conditions, work: SiteJob, state: npt.NDArray[np.int8]) -> tuple[Floats, Floats]:
    """Duration of each checkpoint, reported at its end and held, for the job and for each rank."""
    site, count = conditions.site, len(conditions.times)
    gpus = site.gpus_of(work.nodes)
    took = np.full(count, np.nan)
    ranks = np.full((len(gpus), count), np.nan)
    begun = -1
    for column in range(1, count):
        if state[column] == 2 and state[column - 1] != 2:
            begun = column
        if begun >= 0 and state[column] != 2 and state[column - 1] == 2:
            worst = max([1.0, *(float(v[begun]) for node, v in conditions.writers.items() if node in work.nodes)])
            speed = conditions.store[begun] * conditions.quota.get(work.name, np.ones(count))[begun]
            size = conditions.size.get(work.name, np.ones(count))[begun]
            length = work.takes * size / speed * worst + 40 * conditions.metadata[begun]
            took[column:] = length
            spread = 1 - 0.06 * np.abs(site.rng.standard_normal(len(gpus)))
            mine = length / worst * spread
            for node, v in conditions.writers.items():
                mine = np.where(site.node_of_gpu[gpus] == node, mine * v[begun], mine)
            ranks[:, column:] = mine[:, None]
            begun = -1
    return took, ranks
