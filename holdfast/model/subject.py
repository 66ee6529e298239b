"""Subjects: addresses of things, as plain strings that read the same in logs, JSON and metrics labels."""

Subject = str  # built only by the functions below


def node(name: str) -> Subject:
    return f"node/{name}"


def gpu(node_name: str, index: int) -> Subject:
    return f"node/{node_name}/gpu/{index}"


def port(node_name: str, device: str, number: int | str) -> Subject:
    return f"node/{node_name}/nic/{device}/{number}"


def pci(node_name: str, address: str) -> Subject:
    return f"node/{node_name}/pci/{address}"


def nvswitch(node_name: str, address: str) -> Subject:
    return f"node/{node_name}/nvswitch/{address}"


def mount(node_name: str, path: str) -> Subject:
    return f"node/{node_name}/mount/{path.strip('/') or 'root'}"


def storage(node_name: str, path: str) -> Subject:
    """A shared file system as this node reaches it. `mount` is for local disks."""
    return f"node/{node_name}/storage/{path.strip('/') or 'root'}"


def job(job_id: str) -> Subject:
    """A job as this node knows it: a Slurm job id, 'pod-UID' or 'pid-N'."""
    return f"job/{job_id.replace('/', '_')}"


def kind(subject: Subject) -> str:
    """The type of a subject: node, gpu, nic, pci, nvswitch, mount, ..."""
    parts = subject.split("/", 3)
    return parts[2] if len(parts) > 2 else parts[0]


def local_name(subject: Subject) -> str:
    """The part below the node, as a person says it: 'gpu 3', 'nic mlx5_4/1'. A port of a switch names the switch."""
    parts = subject.split("/", 3)
    if parts[0] == "switch":
        return " ".join(parts[1:])
    return f"{parts[2]} {parts[3]}" if len(parts) > 3 else parts[-1]
