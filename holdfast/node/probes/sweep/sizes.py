"""Payload sizes of a sweep, and the bytes that a collective moves over the bus. Pure."""

SMALLEST, LARGEST = 8, 2 << 30


def sizes(smallest: int = SMALLEST, largest: int = LARGEST, factor: int = 2) -> list[int]:
    found = []
    size = smallest
    while size <= largest:
        found.append(size)
        size *= factor
    return found


def bus_share(operation: str, world: int) -> float:
    """Bus bytes over payload bytes, so that the figure does not depend on the number of ranks (nccl-tests' words)."""
    if operation == "all_reduce":
        return 2 * (world - 1) / world
    if operation == "send_recv":
        return 1.0
    return (world - 1) / world


def fitting(wanted: list[int], free_bytes: int, copies: int) -> tuple[list[int], str]:
    """The sizes of which `copies` fit into half of the free memory, and the reason if some do not fit."""
    most = free_bytes // 2 // copies
    fit = [size for size in wanted if size <= most]
    if len(fit) == len(wanted):
        return wanted, ""
    reason = f"stopped before {wanted[len(fit)]} bytes: {copies} copies do not fit into half of {free_bytes} free bytes"
    return fit, reason
