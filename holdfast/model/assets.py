"""The asset record of a node: which parts it has, which it had, and the tickets about them."""

import msgspec

NODE, GPU, NIC = "node", "gpu", "nic"
TICKET_STATES = ("open", "sent", "replaced", "closed")


class Part(msgspec.Struct, frozen=True):
    """The part in one slot of a node. `serial` identifies it: a serial number, a UUID or a GUID."""

    place: str  # 'node', 'gpu/3', 'nic/mlx5_4'
    serial: str
    model: str = ""

    @property
    def kind(self) -> str:
        return self.place.partition("/")[0]


class PartTime(msgspec.Struct, frozen=True):
    part: Part
    since: float
    until: float | None = None


class PartTicket(msgspec.Struct, frozen=True):
    """A ticket in another system, and the state of the part in the RMA."""

    id: str
    state: str
    place: str = ""
    serial: str = ""
    by: str = ""
    at: float = 0.0
    note: str = ""


class AssetRecord(msgspec.Struct, frozen=True):
    parts: tuple[PartTime, ...] = ()
    earlier: tuple[PartTime, ...] = ()  # newest last
    tickets: tuple[PartTicket, ...] = ()  # newest last
