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
    Gated(re.compile(r"(\bwarning: `)([^\n']{1,15})(?=' )")),
    Gated(re.compile(r"((?:^|\] |: ))([^\s()\[\]:]{1,15})(?= \(\d{1,10}\): (?:drop_caches|/proc/|[Uu]ses ))", re.M)),
    Gated(re.compile(r"(\berror [0-9a-f]{1,8} in )([^\s\[]{1,128})(?=\[[0-9a-f]+\+)")),  # the library of a segfault
    # processes as nvidia-smi lists them: -q, -x, the table
    Gated(
        re.compile(
            r"(^[ \t]+Type[ \t]+: [CGM+]{1,3}[ \t]*\n[ \t]+Name[ \t]+:[ \t]?)(\S[^\n]{0,255}?)(?=[ \t]*$)", re.MULTILINE
        )
    ),
    Gated(re.compile(r"(<process_name>)([^<\n]{1,255})(?=</process_name>)")),
    Gated(
        re.compile(
            r"(^\|[ \t]+\d+[ \t]+(?:(?:N/A|\d+)[ \t]+){0,2}\d+[ \t]+[CGM+]{1,3}[ \t]+)(\S[^\n|]{0,100}?)"
            r"(?=[ \t]{1,80}(?:\d+MiB|N/A)[ \t]+\|)",
            re.MULTILINE,
        )
    ),
    # as amd-smi and rocm-smi do
    Gated(re.compile(r"(^[ \t]+NAME: )([^\n]{1,255}?)(?=[ \t]*\n[ \t]+PID: \d)", re.MULTILINE)),
    Gated(re.compile(r"(\"name\"\s{0,4}:\s{0,4}\")([^\"\n]{1,255})(?=\",\s{1,80}\"pid\"\s{0,4}:)")),
    Gated(re.compile(r"(\"PID\d{1,10}\"\s{0,4}:\s{0,4}\")([^\",\n]{1,255})(?=[\",])")),
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
    r"|ipykernel|nfsd|lockd|ceph[\w-]*|beegfs[\w-]*|mount[\w.]*|umount|modprobe|lspci|rasdaemon|mcelog|ipmitool|<unknown>|unknown|N/A"
    r"|\[Insufficient Permissions\]"
    r"|lib(?:c|m|pthread|dl|rt|stdc\+\+|gcc_s|gomp|i?omp5?|cu\w*|nv[\w-]*|nccl\w*|rccl\w*|torch\w*|c10\w*|python[\d.]*|mpi\w*"
    r"|open-\w+|uc[pst]\w*|ibverbs|mlx5|efa|fabric|hsa[\w-]*|amd\w*|roc\w*|hip\w*|mkl\w*|ssl|crypto|z|jvm)(?:[.-][\w.-]*)?"
)


def is_known(name: str) -> bool:
    """Whether the program is well known, also with its folder, and with the text of an Xid after it: a name may
    contain commas."""
    first = name.partition(", ")[0].strip("'\" ")
    folder, slash, last = first.rpartition("/")
    is_of_the_system = not slash or folder.startswith(("/usr", "/bin", "/sbin", "/opt/conda"))
    return not first or bool(_KNOWN.fullmatch(first)) or (is_of_the_system and bool(_KNOWN.fullmatch(last)))
