"""Names of programs in kernel messages, which users choose. Well-known ones stay, because a diagnosis needs them.
Pure."""

import re

from holdfast.node.capture.redaction.gated import Gated

PROGRAMS = (  # text before a program's name, and the name
    Gated(re.compile(r"(\bpid='?(?:\d{1,10}|<unknown>)'?,?\s{0,4}name=)([^\n]{0,15}(?=, )|[^,\n]{0,64})")),  # Xid
    Gated(
        re.compile(r"(\b(?:process|comm|task|name)=\"?(?!/))([^\s,\"]{1,64})(?=\"?,\s?pid=|\"? (?:exe|pid)=)")
    ),  # oom-kill, audit
    Gated(
        re.compile(r"((?:[Kk]ill(?:ed)?|reaped|Kill) process \d{1,10},? (?:UID \d{1,10},? )?\()([^\n)]{1,64})(?=\))")
    ),
    Gated(re.compile(r"(\bComm: )([^\n]{1,15}?)(?= (?:Not tainted|Tainted|Kdump|G |\())")),
    Gated(re.compile(r"(\bComm: )([^\s,]{1,64})")),
    Gated(re.compile(r"(\btask )([^\s:]{1,15}(?: [^\s:]{1,12})?)(?=:\d{1,10} blocked for)")),
    Gated(re.compile(r"(^(?:\[[ \d.]{5,20}\] |.{0,80}?: )?)([^\s:\[\]]{1,64})(?= invoked oom-killer)", re.MULTILINE)),
    Gated(
        re.compile(r"(\[ *\d{1,10}\](?: +-?\d+){6,8} +)(\S[^\n]{0,63}?)(?=\s*$)", re.MULTILINE)
    ),  # rows of the OOM killer
    Gated(
        re.compile(
            r"(^|[\s(])([^\s\[\](){}<>,:]{1,64})(?=\[\d{1,10}\](?:: segfault at|: bad frame| general protection|"
            r" trap | bad frame|:? unhandled signal))",
            re.MULTILINE,
        )
    ),
    Gated(re.compile(r"(\b(?:process|program|command|executable) [`\"'])([^\n\"']{1,64})(?=[\"'])")),
)
_KNOWN = re.compile(
    r"(?i)python[\d.]*|pt_[\w-]*|nvidia-[\w-]*|nv[-_][\w-]*|dcgm[\w-]*|nccl[\w-]*|kworker.*|ksoftirqd.*|kswapd\d*|swapper.*"
    r"|khugepaged|kcompactd\d*|khungtaskd|migration.*|irq/.*|rcu.*|jbd2.*|uvm[\w -]*|cuda-[\w-]*|systemd[\w-]*"
    r"|\(?sd-pam\)?|sshd|bash|z?sh|sleep|su|sudo|java|go|perl|ruby|node|cron|crond|containerd[\w-]*|docker[\w-]*|runc|crio"
    r"|kubelet|kube-[\w-]*|etcd|coredns|slurm[\w]*|srun|sbatch|munged|torchrun|torch|ray|raylet|gcs_server|mpirun|mpiexec"
    r"|orted|prted|hydra_[\w]*|gpu[-_]burn|nvbandwidth|xhpl|\w+_perf|Xorg|Xwayland|gnome-[\w-]*|tritonserver|vllm|sglang"
    r"|ptxas|nvcc|cicc|cc1(?:plus)?|gcc|g\+\+|ld|ninja|make|cmake|cat|dd|cp|mv|rm|ls|find|grep|rsync|tar|gzip|stress(?:-ng)?"
    r"|fio|mysqld|mariadbd|postgres|redis-server|prometheus|node_exporter|grafana|chronyd|ntpd|rpcbind|rpc\.\w+|dbus-daemon"
    r"|rsyslogd|auditd|agetty|login|opensm|ibacm|init|udevd|snapd|apt(?:-get)?|dpkg|git|curl|wget|holdfast[\w-]*|jupyter[\w-]*"
    r"|ipykernel|nfsd|lockd|ceph[\w-]*|beegfs[\w-]*|mount[\w.]*|umount|modprobe|lspci|rasdaemon|mcelog|ipmitool|<unknown>|unknown"
)


def is_known(name: str) -> bool:
    """Whether the program is well known, also with its folder, and with the text of an Xid after it: a name may
    contain commas."""
    first = name.partition(", ")[0].strip("'\" ")
    folder, slash, last = first.rpartition("/")
    is_of_the_system = not slash or folder.startswith(("/usr", "/bin", "/sbin", "/opt/conda"))
    return not first or bool(_KNOWN.fullmatch(first)) or (is_of_the_system and bool(_KNOWN.fullmatch(last)))
