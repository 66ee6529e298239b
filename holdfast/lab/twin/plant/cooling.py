"""Heat: rooms, coolant units, racks, fans and GPUs, with inertia and thermal throttling."""

from dataclasses import dataclass, field
from math import exp, pi, sin

import numpy as np

from holdfast.lab.twin.plant.fault import Distractor, Faults
from holdfast.lab.twin.plant.layout import Layout
from holdfast.lab.twin.plant.measure import Floats

AMBIENT = 24.0
SETPOINT = 32.0
FLOW_PER_NODE = 7.5  # litres per minute
PUMP_SPEED = 0.75
PRESSURE = 150e3
OSCILLATION_SECONDS = 120.0
LIQUID_SHARE = 0.75  # share of the heat; the rest goes into the air
WATER = 4186.0 / 60  # watts that one litre per minute removes per degree
PLATE, AIR = 13.0, 6.0  # watts per degree from a GPU to coolant and to air, at full flow and usual fan speed
FAN_SPEED = 0.55
FANS_REACT = 0.008  # share of full speed per degree above the usual temperature
USUAL_CELSIUS = 69.0
THROTTLE_CELSIUS = 82.0
GPU_INERTIA = 70.0
COOLANT_INERTIA = 40.0
ROOM_INERTIA = 120.0
SUPPLY_FOLLOWS_ROOM = 0.6


@dataclass
class Cooling:
    """The thermal state. `step` advances it; `clock_share` is the share of each GPU's clock that throttling leaves."""

    layout: Layout
    faults: Faults
    distractors: tuple[Distractor, ...]
    random: np.random.Generator
    step_seconds: float
    ambient: Floats = field(init=False)
    temperature: Floats = field(init=False)
    clock_share: Floats = field(init=False)

    def __post_init__(self) -> None:
        plan, gpus = self.layout, len(self.layout.gpus)
        self.ambient = np.full(len(plan.rooms), AMBIENT)
        self.supply = np.full(len(plan.cdus), SETPOINT)
        self.pump = np.full(len(plan.cdus), PUMP_SPEED)
        self.inlet = np.full(len(plan.racks), SETPOINT + 0.4)
        self.warming = np.full(len(plan.racks), 9.0)
        self.temperature = np.full(gpus, 68.0)
        self.clock_share = np.ones(gpus)
        self.fans = np.full(plan.fleet.nodes, FAN_SPEED)
        self._plates = PLATE * (1 + 0.03 * self.random.standard_normal(gpus))
        self._weather = np.zeros(len(plan.rooms))
        self._nodes_of_rack = np.bincount(plan.rack_of_node, minlength=len(plan.racks)).astype(float)
        self.flow = self._nodes_of_rack * FLOW_PER_NODE

    def step(self, now: float, gpu_watts: Floats, rack_watts: Floats) -> None:
        self._rooms(now)
        self._flows(now)
        self._coolant(now, rack_watts)
        self._fans(now)
        self._gpus(gpu_watts)

    def _rooms(self, now: float) -> None:
        self._weather = 0.995 * self._weather + 0.02 * self.random.standard_normal(len(self._weather))
        target = AMBIENT + self._weather
        for fault, degrees in self.faults.strong("cooling.ambient", now):
            target[self.layout.rooms.index(fault.subject)] += degrees
        for one in self.distractors:
            if one.kind == "ambient_wiggle" and one.active(now):
                wave = sin(pi * (now - one.start) / one.seconds)
                target[self.layout.rooms.index(one.subject)] += one.magnitude * wave
        self.ambient += self._towards(ROOM_INERTIA) * (target - self.ambient)

    def _flows(self, now: float) -> None:
        cdus, racks = self.layout.cdus, self.layout.racks
        pump = np.full(len(cdus), PUMP_SPEED)
        moved = np.ones(len(cdus))
        for fault, share in self.faults.strong("cooling.flow_low", now):
            moved[cdus.index(fault.subject)] *= 1 - share
            pump[cdus.index(fault.subject)] += 0.2 * share  # the control requests more flow than it gets
        for fault, swing in self.faults.strong("cooling.pump_oscillation", now):
            wave = 1 + swing * sin(2 * pi * (now - fault.start) / OSCILLATION_SECONDS)
            pump[cdus.index(fault.subject)] *= wave
            moved[cdus.index(fault.subject)] *= wave
        opened = np.ones(len(racks))
        for fault, share in self.faults.strong("cooling.rack_blocked", now):
            opened[racks.index(fault.subject)] *= 1 - share
        self.pump = np.minimum(pump, 1.0)
        wide = self._nodes_of_rack * opened
        of = self.layout.cdu_of_rack
        whole = np.bincount(of, self._nodes_of_rack, len(cdus))
        open_share = np.bincount(of, wide, len(cdus)) / whole
        # With fewer open branches a pump delivers a little less in total, and more through each of them.
        self.cdu_flow = FLOW_PER_NODE * whole * moved * open_share**0.7
        self.flow = wide * (FLOW_PER_NODE * moved * open_share**-0.3)[of]
        self.pressure = PRESSURE * moved**2 * open_share**-0.6

    def _coolant(self, now: float, rack_watts: Floats) -> None:
        room = self.ambient[self.layout.room_of_cdu]
        target = SETPOINT + SUPPLY_FOLLOWS_ROOM * np.maximum(0.0, room - AMBIENT - 2.0)
        for fault, degrees in self.faults.strong("cooling.supply_warm", now):
            target[self.layout.cdus.index(fault.subject)] += degrees
        self.supply += self._towards(COOLANT_INERTIA) * (target - self.supply)
        self.inlet = self.supply[self.layout.cdu_of_rack] + 0.4
        rise = LIQUID_SHARE * rack_watts / (WATER * np.maximum(self.flow, 1.0))
        self.warming += self._towards(COOLANT_INERTIA) * (np.minimum(rise, 60.0) - self.warming)

    def _fans(self, now: float) -> None:
        hottest = self.temperature.reshape(self.layout.fleet.nodes, -1).max(axis=1)
        wanted = np.clip(FAN_SPEED + FANS_REACT * (hottest - USUAL_CELSIUS - 5.0), FAN_SPEED, 1.0)
        for fault, share in self.faults.strong("cooling.fan", now):
            wanted[self.layout.nodes.index(fault.subject)] *= 1 - share
        self.fans += self._towards(20.0) * (wanted - self.fans)

    def _gpus(self, gpu_watts: Floats) -> None:
        plan = self.layout
        rack = plan.rack_of_node[plan.node_of_gpu]
        usual_flow = self._nodes_of_rack * FLOW_PER_NODE
        plate = self._plates * np.maximum(0.02, self.flow / usual_flow)[rack]
        air = AIR * np.maximum(0.02, self.fans[plan.node_of_gpu] / FAN_SPEED) ** 0.8
        coolant = (self.inlet + self.warming / 2)[rack]
        breeze = self.ambient[plan.room_of_node[plan.node_of_gpu]] + 3.0
        target = (gpu_watts + plate * coolant + air * breeze) / (plate + air)
        self.temperature += self._towards(GPU_INERTIA) * (target - self.temperature)
        above = self.temperature - THROTTLE_CELSIUS
        self.clock_share = np.clip(self.clock_share - 0.004 * self.step_seconds / 10 * above, 0.3, 1.0)
        self.clock_share = np.where(above < -4, np.minimum(1.0, self.clock_share + 0.02), self.clock_share)

    def _towards(self, inertia: float) -> float:
        return 1 - exp(-self.step_seconds / inertia)

    def signals(self) -> dict[str, Floats]:
        plan = self.layout
        cdu_watts = np.bincount(plan.cdu_of_rack, self.warming * self.flow, len(plan.cdus))
        return {
            "ambient_celsius": self.ambient,
            "cdu_flow_litres_per_minute": self.cdu_flow,
            "cdu_supply_celsius": self.supply,
            "cdu_return_celsius": self.supply + cdu_watts / np.maximum(self.cdu_flow, 1.0),
            "cdu_pump_speed_ratio": self.pump,
            "cdu_differential_pressure_pascals": self.pressure,
            "rack_inlet_celsius": self.inlet,
            "rack_flow_litres_per_minute": self.flow,
            "node_inlet_celsius": self.ambient[plan.room_of_node] + 3.0,
            "fan_speed_ratio": self.fans,
            "gpu_temperature_celsius": self.temperature,
        }
