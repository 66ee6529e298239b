"""NVML queries of one GPU: an answer becomes a signal, an error becomes an absence with its reason."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from holdfast.model.signal import Signal, Value
from holdfast.model.subject import Subject
from holdfast.node.sources.gpu.nvml_session import NOT_THE_GPU, NVML_ERRORS, NvmlDevice, code_of, nvml

ASK_AGAIN_SECONDS = 900.0  # "not supported" stays true until the driver is replaced, which can happen at any time

NEVER = {
    nvml.NVML_ERROR_NOT_SUPPORTED,
    nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    nvml.NVML_ERROR_INVALID_ARGUMENT,
    nvml.NVML_ERROR_NOT_FOUND,
    nvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    nvml.NVML_ERROR_DEPRECATED,
    None,  # the binding found no such function
}
_WORDS = {
    nvml.NVML_ERROR_NO_PERMISSION: "permission denied by the NVIDIA driver",
    nvml.NVML_ERROR_TIMEOUT: "the GPU did not answer the driver in time",
    nvml.NVML_ERROR_RESET_REQUIRED: "the GPU must be reset before it answers",
}
_MEMBER = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by NVML value type


class Ask(NamedTuple):
    """One call and the signals that it returns, in order."""

    names: tuple[str, ...]
    call: Callable[[Any], Sequence[Value]]


class NvmlField(NamedTuple):
    """A value that NVML provides by field number; one call reads many."""

    name: str
    number: int
    signed: bool = False
    zero_is_absent: bool = False  # a GPU without this sensor answers 0


class GpuLostError(Exception):
    """The GPU was lost during a read."""


@dataclass(slots=True)
class Answers:
    """The result of one read of one GPU."""

    subject: Subject
    signals: list[Signal] = field(default_factory=list)
    absent: dict[tuple[Subject, str], str] = field(default_factory=dict)
    reset_required: bool = False
    answered: int = 0  # calls the driver carried out, "not supported" among them
    failed: list[str] = field(default_factory=list)  # its error for those it did not

    def put(self, name: str, value: Value) -> None:
        self.signals.append(Signal(self.subject, name, value))

    def miss(self, names: Sequence[str], reason: str) -> None:
        for name in names:
            self.absent[(self.subject, name)] = reason


class Interview:
    """Queries GPUs. Unsupported queries are remembered per GPU and repeated only rarely."""

    def __init__(self) -> None:
        self._refused: dict[tuple[Subject, str], tuple[float, str]] = {}

    def ask(self, device: NvmlDevice, asks: Sequence[Ask], answers: Answers, now: float) -> None:
        for names, call in asks:
            if refused := self.refused(device, names[0], now):
                answers.miss(names, refused)
                continue
            try:
                values = call(device.handle)
            except NVML_ERRORS as error:
                answers.miss(names, self.explain(device, names[0], code_of(error), answers, now))
                continue
            answers.answered += 1
            for name, value in zip(names, values, strict=True):
                answers.put(name, value)

    def ask_fields(self, device: NvmlDevice, fields: Sequence[NvmlField], answers: Answers, now: float) -> None:
        wanted = []
        for request in fields:
            if refused := self.refused(device, request.name, now):
                answers.miss((request.name,), refused)
            else:
                wanted.append(request)
        try:
            values = (
                nvml.nvmlDeviceGetFieldValues(device.handle, [request.number for request in wanted]) if wanted else ()
            )
        except NVML_ERRORS as error:
            for request in wanted:
                answers.miss((request.name,), self.explain(device, request.name, code_of(error), answers, now))
            return
        for request, value in zip(wanted, values, strict=True):
            if value.nvmlReturn == nvml.NVML_SUCCESS:
                answers.answered += 1
                number = field_number(value, request.signed)
                if number == 0.0 and request.zero_is_absent:
                    answers.miss((request.name,), "not supported by this GPU/driver: it reports 0")
                else:
                    answers.put(request.name, number)
            else:
                answers.miss((request.name,), self.explain(device, request.name, value.nvmlReturn, answers, now))

    def refused(self, device: NvmlDevice, name: str, now: float) -> str:
        until, reason = self._refused.get((device.subject, name), (0.0, ""))
        return reason if now < until <= now + ASK_AGAIN_SECONDS else ""

    def explain(self, device: NvmlDevice, name: str, code: int | None, answers: Answers, now: float) -> str:
        """Why a call failed, as text for operators. A lost GPU ends its read."""
        if code == nvml.NVML_ERROR_GPU_IS_LOST:
            raise GpuLostError
        if code in NEVER:
            answers.answered += 1
            reason = "not supported by this GPU/driver" + (" while MIG is enabled" if device.mig else "")
            self._refused[(device.subject, name)] = (now + ASK_AGAIN_SECONDS, reason)
            return reason
        answers.reset_required |= code == nvml.NVML_ERROR_RESET_REQUIRED
        reason = _WORDS.get(code or 0) or f"the NVIDIA driver answered: {nvml.NVMLError(code)}"
        if code not in NOT_THE_GPU:
            answers.failed.append(reason)
        return reason


def field_number(value: Any, signed: bool = False) -> float:
    """A field's value by its type tag. Some drivers return a negative margin as an unsigned int."""
    kind = value.valueType
    number = float(
        getattr(value.value, _MEMBER[kind if kind < len(_MEMBER) else nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG])
    )
    return number - 2.0**32 if signed and number >= 2.0**31 else number


def either(
    first: Callable[[Any], Sequence[Value]], second: Callable[[Any], Sequence[Value]]
) -> Callable[[Any], Sequence[Value]]:
    """The newer call, and the older one where the driver does not know it."""

    def call(handle: Any) -> Sequence[Value]:
        try:
            return first(handle)
        except NVML_ERRORS as error:
            if code_of(error) not in NEVER:
                raise
            return second(handle)

    return call
