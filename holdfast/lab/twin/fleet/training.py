"""A simulated training job: steps, checkpoints, and what is lost when it dies."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.lab.twin.fleet.fabric import FabricPort, FleetFabric
from holdfast.lab.twin.fleet.node import GPUS, FleetNode

COMPUTE_SECONDS = 4.0
GRADIENT_BYTES = 140e9  # of 70 billion parameters in bfloat16
STEPS_BETWEEN = 60
SAVE_SECONDS = 15.0
FABRIC = FleetFabric()


@dataclass(slots=True, eq=False)
class TrainingJob:
    """Between two checkpoints it goes at one pace: that of its slowest node and its fabric when the stretch began."""

    number: int
    size: int
    steps: int
    saved: int = 0
    lost: int = 0
    deaths: int = 0
    attempts: int = 0  # that ended before the training did
    moved: bool = False  # the last of them saved its state first
    title: str = ""
    wanted: frozenset[int] = frozenset()  # nodes it is to start on first
    nodes: tuple[FleetNode, ...] = ()
    start: float = 0.0
    stretch_began: float = 0.0
    step_seconds: float = COMPUTE_SECONDS
    save_seconds: float = SAVE_SECONDS  # that the checkpoint under way takes
    saved_in: float = SAVE_SECONDS  # and the one before it took

    @property
    def name(self) -> str:
        """Each attempt has its own: twin-7, after a death twin-7.1."""
        return f"{self.training}.{self.attempts}" if self.attempts else self.training

    @property
    def training(self) -> str:
        """The same in every attempt."""
        return self.title or f"twin-{self.number}"

    @property
    def next_steps(self) -> int:
        """Until the next checkpoint, or the end."""
        return min(STEPS_BETWEEN, self.steps - self.saved)

    def begin_stretch(self, now: float, save_seconds: float = SAVE_SECONDS) -> float:
        """The pace is set; when its checkpoint will be written."""
        self.stretch_began = now
        self.saved_in, self.save_seconds = self.save_seconds, save_seconds
        self.step_seconds = step_seconds(self.nodes)
        return now + self.next_steps * self.step_seconds + save_seconds

    def end_stretch(self) -> bool:
        """A checkpoint is written; is that all?"""
        self.saved += self.next_steps
        return self.saved >= self.steps

    def since_checkpoint(self, now: float) -> int:
        """Steps that a death now would lose; a checkpoint half written saves none of them."""
        return min(self.next_steps, int((now - self.stretch_began) / self.step_seconds))

    def die(self, now: float) -> None:
        self.lost += self.since_checkpoint(now)
        self.deaths += 1
        self.attempts += 1
        self.moved = False

    def move(self) -> None:
        """It ends right after a checkpoint, so nothing is lost."""
        self.attempts += 1
        self.moved = True


def step_seconds(nodes: Sequence[FleetNode]) -> float:
    """The slowest GPU computes, then everybody waits for the fabric."""
    slowest = max((node.slows(gpu) for node in nodes for gpu in range(GPUS)), default=1.0)
    return COMPUTE_SECONDS * slowest + FABRIC.all_reduce_seconds(map(_port, nodes), GRADIENT_BYTES)


def _port(node: FleetNode) -> FabricPort:
    down = {part for fault in node.faults if fault.kind.on == "port" for part in fault.parts}
    return FabricPort(node.place.get("leaf", ""), 1 - len(down) / GPUS)
