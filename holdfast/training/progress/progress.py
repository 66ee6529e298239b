"""Progress: reports where each step's time went, per rank.

with Progress(job="llama") as progress:
    progress.watch(model)  # under DDP or FSDP2: separates waiting for other ranks from computing
    for batch in loader:
        with progress.step(tokens=batch.numel()):
            ...
            progress.note(loss=loss)

Time between steps counts as data, time inside a step as compute, except for what `waiting` and `saving` cover. Nothing
here blocks or ends a training, or communicates with another rank.
"""

import logging
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from holdfast.formats.job.progress import Hello, ProgressStep
from holdfast.training.checkpoint.keeper.site import node_name, runtime_folder
from holdfast.training.launch import lifetime
from holdfast.training.progress.clock import HostMarker, Marker, marker_for
from holdfast.training.progress.sender import Sender

LOG = logging.getLogger("holdfast.progress")
HOOKED = 4  # number of parameters whose gradients show the start of a backward pass; some may not take part


class Communicating(Protocol):
    """Receives a call when this rank uses the network; a Checkpoint is one."""

    def communicating(self, now: bool) -> None: ...


class Progress:
    """Progress of a rank, one per process. For the thread of the training loop."""

    def __init__(
        self,
        job: str = "",
        *,
        rank: int | None = None,
        world: int | None = None,
        gpu: int | None = None,
        group: str = "",  # ranks that do the same work: a pipeline stage
        step: int = 0,  # steps before the first one
    ) -> None:
        environ = os.environ
        rank = int(environ.get("RANK", "0")) if rank is None else rank
        hello = Hello(
            job=(job or environ.get("HOLDFAST_JOB") or environ.get("SLURM_JOB_NAME") or "job").replace("/", "_")[:128],
            rank=rank,
            world=max(int(environ.get("WORLD_SIZE", "1")) if world is None else world, rank + 1),
            session=secrets.token_hex(8),
            began=time.time(),
            node=node_name(),
            gpu=_gpu() if gpu is None else gpu,
            group=group,
        )
        self.made = step
        self._sender = Sender(hello, _folder())
        self._marker: Marker = HostMarker()
        self._ended_at = time.perf_counter()
        self._saving_between = 0.0
        self._waited = self._saved_inside = 0.0
        self._device_waits: list[tuple[Any, Any]] = []
        self._links: dict[str, float] = {}
        self._noted: dict[str, Any] = {}
        self._inside = self._backward_open = False
        self._checkpoint: Communicating | None = None
        lifetime.opened(self)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def refused(self) -> str:
        """Why the agent refuses this rank, '' if it does not or is absent."""
        return self._sender.refused

    def happened(self) -> list[tuple[float, str]]:
        """Errors of this rank's hardware that the agent reported since the last call: time and text."""
        reported = self._sender.happened
        return [reported.popleft() for _ in range(len(reported))]

    def close(self) -> None:
        self._sender.close()

    def begin(self) -> None:
        """Begins a step, for callbacks; `step` equals begin and end."""
        self._inside = True
        self._communicates(False)  # a step that raised may have left it open
        self._begun = time.perf_counter()
        self._device_begun = None if isinstance(self._marker, HostMarker) else self._marker.mark()
        self._waited = self._saved_inside = 0.0
        self._device_waits, self._links = [], {}
        self._backward_open = False

    def end(self, tokens: float = 0.0) -> None:
        now, self._inside = time.perf_counter(), False
        self.made += 1
        total = now - self._ended_at
        saved = self._saved_inside + self._saving_between
        data = max(0.0, self._begun - self._ended_at - self._saving_between)
        self._ended_at, self._saving_between = now, 0.0
        host = (self.made, time.time(), total, data, self._waited, saved)
        device = (self._device_begun, None if self._device_begun is None else self._marker.mark(), self._device_waits)
        noted, self._noted = self._noted, {}
        links, marker = self._links, self._marker
        self._sender.put(lambda: _resolved(host, device, marker, float(tokens), noted, links))

    @contextmanager
    def step(self, number: int | None = None, tokens: float = 0.0) -> Iterator["Progress"]:
        """Measures a step. A step that raises is not counted."""
        if number is not None:
            self.made = number - 1
        self.begin()
        yield self
        self.end(tokens)

    def note(self, **values: Any) -> None:
        """Records loss and gradient norm of this step, or of the next one if none is open, as numbers or tensors. A
        tensor is read later, without a wait in the loop."""
        self._noted.update(
            {name: value.detach() if hasattr(value, "detach") else value for name, value in values.items()}
        )

    @contextmanager
    def waiting(self, link: str = "") -> Iterator[None]:
        """Measures a communication in the script. A link's name begins with its kind: 'pipeline:3-4'."""
        begun = time.perf_counter()
        self._communicates(True)
        try:
            yield
        finally:
            self._communicates(False)
        seconds = time.perf_counter() - begun
        self._waited += seconds
        self._sender.split = True
        if link:
            self._links[link] = self._links.get(link, 0.0) + seconds

    @contextmanager
    def saving(self, step: int | None = None) -> Iterator[None]:
        """Measures a checkpoint that blocks the loop; if a step is named, it is safe afterwards."""
        begun = time.perf_counter()
        yield
        seconds = time.perf_counter() - begun
        if self._inside:
            self._saved_inside += seconds
        else:
            self._saving_between += seconds
        if step is not None:
            self.saved(step)

    def saved(self, step: int) -> None:
        """Records that this step is safe: a failure costs the steps after it."""
        self._sender.saved_step = step

    def watch(self, model: Any, checkpoint: Communicating | None = None) -> bool:
        """Separates waiting for other ranks from computing, under DDP and, on CPUs, FSDP2.

        For any other model it logs why it cannot, and returns False. It tells the keeper of a checkpoint when this rank
        communicates, so that it sends in between.
        """
        self._checkpoint = checkpoint
        from torch.distributed.fsdp import FSDPModule
        from torch.nn.parallel import DistributedDataParallel

        if isinstance(model, DistributedDataParallel):
            self._watch_replicas(model)
        elif not isinstance(model, FSDPModule):
            return _not_apart("it is neither under DDP nor under FSDP2")
        else:
            from holdfast.training.progress import sharded as progress_sharded

            try:
                progress_sharded.watch(model, self.waiting)
            except progress_sharded.NotApart as error:
                return _not_apart(str(error))
        self._sender.split = True
        return True

    def _watch_replicas(self, model: Any) -> None:
        self._marker = marker_for(model)
        trained: list[Any] = [one for one in model.parameters() if one.requires_grad]
        for parameter in trained[-HOOKED:]:
            parameter.register_post_accumulate_grad_hook(self._backward_begins)

    def _communicates(self, now: bool) -> None:
        if self._checkpoint is not None:
            self._checkpoint.communicating(now)

    def _backward_begins(self, _: Any) -> None:
        """Marks the start of a backward pass, once per pass.

        The callback queued now runs when all gradients of this rank are ready. The callback queued by it runs after
        DDP, which meanwhile waits for the gradients of the others.
        """
        from torch.autograd import Variable

        if self._backward_open:
            return
        self._backward_open = True
        self._communicates(True)
        engine: Any = Variable._execution_engine
        engine.queue_callback(lambda: self._gradients_there(engine))

    def _gradients_there(self, engine: Any) -> None:
        self._backward_open = False
        before = self._marker.mark()
        engine.queue_callback(lambda: self._all_there(before))

    def _all_there(self, before: Any) -> None:
        self._communicates(False)
        if isinstance(self._marker, HostMarker):
            self._waited += self._marker.mark() - before
        else:
            self._device_waits.append((before, self._marker.mark()))


def _resolved(
    host: tuple[int, float, float, float, float, float],
    device: tuple[Any, Any, list[tuple[Any, Any]]],
    marker: Marker,
    tokens: float,
    noted: dict[str, Any],
    links: dict[str, float],
) -> ProgressStep | None:
    """The step's report; None until the device has finished it."""
    number, at, total, data, waited, saved = host
    begun, ended, waits = device
    if begun is not None:
        on_device = marker.seconds(begun, ended)
        if on_device is None:
            return None
        waited += sum(marker.seconds(*pair) or 0.0 for pair in waits)
        compute = max(0.0, on_device - waited)
    else:
        compute = max(0.0, total - data - waited - saved)
    loss, norm = _number(noted.get("loss")), _number(noted.get("gradient_norm"))
    return ProgressStep(number, at, total, data, compute, waited, saved, tokens, loss, norm, links or None)


def _not_apart(why: str) -> bool:
    LOG.warning("waiting is not distinguished from computing: %s; put `waiting` around communication", why)
    return False


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, RuntimeError):  # not a single number
        return None


def _gpu() -> int | None:
    """The driver's index of this rank's GPU, as far as the environment shows it."""
    local = os.environ.get("LOCAL_RANK", "")
    visible = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    if not local.isdecimal():
        return None
    shown = visible[int(local)] if int(local) < len(visible) else local
    return int(shown) if shown.isdecimal() and int(shown) < 1024 else None


def _folder() -> Path:
    given = os.environ.get("HOLDFAST_PROGRESS_DIR")
    try:
        return Path(given) if given else runtime_folder() / "progress"
    except OSError as error:
        LOG.warning("no agent: the progress of this rank is not recorded: %s", error)
        return Path(os.devnull)
