"""NVLink state, counters and error rates of one GPU, in one call where possible."""

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.node.sources.gpu.nvml_answers import NEVER, Answers, Interview, field_number
from holdfast.node.sources.gpu.nvml_session import NVML_ERRORS, NvmlDevice, nvml

ACTIVE = "gpu_nvlink_active_lanes"
COUNTERS = ("gpu_nvlink_replay_errors_total", "gpu_nvlink_recovery_errors_total", "gpu_nvlink_crc_errors_total")
RATES = ("gpu_nvlink_effective_ber_ratio", "gpu_nvlink_symbol_ber_ratio")
NAMES = (ACTIVE, "gpu_nvlink_down_links", "gpu_nvlink_error_links", *COUNTERS, *RATES)

C2C = ("gpu_c2c_links", "gpu_c2c_down_links")
_C2C_COUNT, _C2C_STATE = 170, 171
_MOST_C2C = 64
_STATE = 165
_UP = (1.0, 2.0)  # active, or asleep to save power
_REPLAY, _RECOVERY, _CRC = 161, 162, 163
_RECOVERY_EVENTS, _EFFECTIVE_BER, _SYMBOL_BER = 215, 220, 222
_PER_LINK = (_STATE, _REPLAY, _RECOVERY, _CRC, _RECOVERY_EVENTS, _EFFECTIVE_BER, _SYMBOL_BER)
_LINK_COUNT = 91
# Older drivers count over all links only: CRC of flits and of data, replay, recovery.
_TOTAL_CRC_FLIT, _TOTAL_CRC_DATA, _TOTAL_REPLAY, _TOTAL_RECOVERY = 38, 45, 52, 59
_TOTALS = (_TOTAL_CRC_FLIT, _TOTAL_CRC_DATA, _TOTAL_REPLAY, _TOTAL_RECOVERY)

Table = dict[tuple[int, int], float]  # (field, link) -> number, without missing answers


def read_links(device: NvmlDevice, interview: Interview, answers: Answers, now: float) -> None:
    if refused := interview.refused(device, ACTIVE, now):
        answers.miss(NAMES, refused)
        return
    try:
        count = _link_count(device.handle)
        if count == 0:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        table = _ask_all(device, count, interview, answers, now)
        states = {link: table[_STATE, link] for link in range(count) if (_STATE, link) in table}
        states = states or _states_one_by_one(device.handle, count)
    except NVML_ERRORS as error:
        answers.miss(NAMES, interview.explain(device, ACTIVE, getattr(error, "value", None), answers, now))
        return
    answers.put(ACTIVE, float(sum(state in _UP for state in states.values())))
    answers.put("gpu_nvlink_down_links", _spell(link for link, state in states.items() if state not in _UP))
    _put_counters(table, answers)
    for name, number in zip(RATES, (_EFFECTIVE_BER, _SYMBOL_BER), strict=True):
        rates = [bit_error_rate(int(value)) for (asked, _), value in table.items() if asked == number]
        _put_or_miss(answers, name, max(rates, default=None))


def read_c2c(device: NvmlDevice, interview: Interview, answers: Answers, now: float) -> None:
    """Links between a GPU and the CPU of its board. A GPU without them is queried only once."""
    if refused := interview.refused(device, C2C[0], now):
        answers.miss(C2C, refused)
        return
    try:
        count = min(int(_ask(device.handle, [(_C2C_COUNT, 0)]).get((_C2C_COUNT, 0), 0.0)), _MOST_C2C)
        if count == 0:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        states = _ask(device.handle, [(_C2C_STATE, link) for link in range(count)])
    except NVML_ERRORS as error:
        answers.miss(C2C, interview.explain(device, C2C[0], getattr(error, "value", None), answers, now))
        return
    answers.put(C2C[0], float(count))
    answers.put(C2C[1], _spell(link for (_, link), state in states.items() if not state))


def _ask_all(device: NvmlDevice, count: int, interview: Interview, answers: Answers, now: float) -> Table:
    """Queries all fields. Each costs one access per link, so fields without an answer are skipped next time."""
    asked = [number for number in (*_PER_LINK, *_TOTALS) if not interview.refused(device, _key(number), now)]
    places = {number: range(count) if number in _PER_LINK else range(1) for number in asked}
    table = _ask(device.handle, [(number, link) for number in asked for link in places[number]])
    for number in set(asked) - {number for number, _ in table}:
        interview.explain(device, _key(number), nvml.NVML_ERROR_NOT_SUPPORTED, answers, now)
    return table


def _key(number: int) -> str:
    return f"nvlink field {number}"


def _put_counters(table: Table, answers: Answers) -> None:
    replay = _sum(table, _REPLAY, (_TOTAL_REPLAY,))
    recovery = _sum(table, _RECOVERY, (_RECOVERY_EVENTS,), (_TOTAL_RECOVERY,))
    crc = _sum(table, _CRC, (_TOTAL_CRC_FLIT, _TOTAL_CRC_DATA))
    for name, count in zip(COUNTERS, (replay, recovery, crc), strict=True):
        _put_or_miss(answers, name, count)
    counted = (_REPLAY, _RECOVERY, _CRC, _RECOVERY_EVENTS)
    noisy = {link for (number, link), value in table.items() if number in counted and value > 0}
    answers.put("gpu_nvlink_error_links", _spell(sorted(noisy)))


def _sum(table: Table, *choices: int | Sequence[int]) -> float | None:
    """The sum over links of the first choice that was answered at all."""
    for choice in choices:
        numbers = (choice,) if isinstance(choice, int) else tuple(choice)
        found = [value for (number, _), value in table.items() if number in numbers]
        if found:
            return sum(found)
    return None


def _put_or_miss(answers: Answers, name: str, value: float | None) -> None:
    if value is None:
        answers.miss((name,), "not supported by this GPU/driver")
    else:
        answers.put(name, value)


def _link_count(handle: Any) -> int:
    if counted := _ask(handle, [(_LINK_COUNT, 0)]):
        return int(counted[_LINK_COUNT, 0])
    return len(_states_one_by_one(handle, nvml.NVML_NVLINK_MAX_LINKS))


def _states_one_by_one(handle: Any, count: int) -> dict[int, float]:
    states: dict[int, float] = {}
    state_of: Callable[[Any, int], int] = nvml.nvmlDeviceGetNvLinkState
    for link in range(count):
        try:
            states[link] = float(state_of(handle, link))
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
                raise
    return states


def _ask(handle: Any, wanted: list[tuple[int, int]]) -> Table:
    values = nvml.nvmlDeviceGetFieldValues(handle, wanted) if wanted else ()
    lost = any(value.nvmlReturn == nvml.NVML_ERROR_GPU_IS_LOST for value in values)
    if lost:
        raise nvml.NVMLError(nvml.NVML_ERROR_GPU_IS_LOST)
    failed = [value.nvmlReturn for value in values if value.nvmlReturn not in (nvml.NVML_SUCCESS, *NEVER)]
    if failed and all(value.nvmlReturn != nvml.NVML_SUCCESS for value in values):
        raise nvml.NVMLError(failed[0])  # a sick GPU does not lack NVLink
    pairs = zip(wanted, values, strict=True)
    return {key: field_number(value) for key, value in pairs if value.nvmlReturn == nvml.NVML_SUCCESS}


def bit_error_rate(packed: int) -> float:
    """NVML packs a rate as mantissa (bits 8-11) and negative decimal exponent (bits 0-7)."""
    return float((packed >> 8 & 0xF) * 10.0 ** -(packed & 0xFF))


def _spell(links: Any) -> str:
    return ",".join(str(link) for link in links)
