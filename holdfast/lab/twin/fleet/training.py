"""A simulated training job: steps, checkpoints, and the steps lost when it dies."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.lab.twin.fleet.fabric import FabricPort, FleetFabric
from holdfast.lab.twin.fleet.node import GPUS, FleetNode

COMPUTE_SECONDS = 4.0
GRADIENT_BYTES = 140e9  # 70 billion parameters in bfloat16
STEPS_BETWEEN = 60
SAVE_SECONDS = 15.0
FABRIC = FleetFabric()


@dataclass(slots=True, eq=False)
class TrainingJob:
    """A job whose step time is constant between two checkpoints: its slowest node and the fabric set it at the start
    of each stretch."""

    number: int
    size: int
    steps: int
    saved: int = 0
    lost: int = 0
    deaths: int = 0
    attempts: int = 0  # deaths before the end of the training
    moved: bool = False  # moves after a checkpoint
    title: str = ""
    wanted: frozenset[int] = frozenset()  # nodes on which it should start first
    nodes: tuple[FleetNode, ...] = ()
    start: float = 0.0
    stretch_began: float = 0.0
    step_seconds: float = COMPUTE_SECONDS
    save_seconds: float = SAVE_SECONDS  # duration of the current checkpoint
    saved_in: float = SAVE_SECONDS  # duration of the previous checkpoint

    @property
    def name(self) -> str:
        """Name of the current attempt: twin-7, after a death twin-7.1."""
        return f"{self.training}.{self.attempts}" if self.attempts else self.training

    @property
    def training(self) -> str:
        """Name that all attempts share."""
        return self.title or f"twin-{self.number}"

    @property
    def next_steps(self) -> int:
        """Steps until the next checkpoint, or the end."""
        return min(STEPS_BETWEEN, self.steps - self.saved)

    def begin_stretch(self, now: float, save_seconds: float = SAVE_SECONDS) -> float:
        """Sets the step time of the next stretch and returns when its checkpoint is complete."""
        self.stretch_began = now
        self.saved_in, self.save_seconds = self.save_seconds, save_seconds
        self.step_seconds = step_seconds(self.nodes)
        return now + self.next_steps * self.step_seconds + save_seconds

    def end_stretch(self) -> bool:
        """Records a complete checkpoint and returns whether the training is complete."""
        self.saved += self.next_steps
        return self.saved >= self.steps

    def since_checkpoint(self, now: float) -> int:
        """Steps that a death now would lose; an incomplete checkpoint saves none of them."""
        return min(self.next_steps, int((now - self.stretch_began) / self.step_seconds))

    def die(self, now: float) -> None:
        self.lost += self.since_checkpoint(now)
        self.deaths += 1
        self.attempts += 1
        self.moved = False

    def move(self) -> None:
        """Moves the job right after a checkpoint, so that nothing is lost."""
        self.attempts += 1
        self.moved = True


def step_seconds(nodes: Sequence[FleetNode]) -> float:
    """The compute time of the slowest GPU plus the communication time."""
    slowest = max((node.slows(gpu) for node in nodes for gpu in range(GPUS)), default=1.0)
    return COMPUTE_SECONDS * slowest + FABRIC.all_reduce_seconds(map(_port, nodes), GRADIENT_BYTES)


def _port(node: FleetNode) -> FabricPort:
    down = {part for fault in node.faults if fault.kind.on == "port" for part in fault.parts}
    return FabricPort(node.place.get("leaf", ""), 1 - len(down) / GPUS)
