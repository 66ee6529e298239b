"""Redaction: whatever stands around it, an address, a name or a secret does not survive; what is needed does."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.node.capture.redaction.patterns import KEPT_ADDRESSES, LEAST_LETTERS, UNNAMED_USERS
from holdfast.node.capture.redaction.redactor import Redactor
from tests.counts import draws

KEY = b"k" * 32
AROUND = st.sampled_from(
    ["{}", "from {} port 22", "addr={},", "[{}]", '"{}"', "({})", "a {}\nb", "inet {}/24 brd", "{}:8080"]
)
NAME = st.from_regex(r"[a-z]{2,6}[0-9]{2,4}(-[a-z]{2,4})?", fullmatch=True)


@settings(max_examples=draws(40, 300), deadline=None)
@given(st.ip_addresses(v=4).map(str), AROUND)
def test_no_ipv4_address_survives(address, around):
    assume(address not in KEPT_ADDRESSES)
    assert address not in Redactor(KEY).text(around.format(address))


@settings(max_examples=draws(40, 300), deadline=None)
@given(st.ip_addresses(v=6), AROUND.filter(lambda around: ":8080" not in around))
def test_no_ipv6_address_survives(address, around):
    for text in (address.compressed, address.exploded):
        assume(text not in KEPT_ADDRESSES and "." not in text)
        assert text not in Redactor(KEY).text(around.format(text))


@settings(max_examples=draws(40, 200), deadline=None)
@given(NAME, st.sampled_from(["{}", "{}.cluster.local", "on {}:", "node/{}/gpu/3", "host={};", "{}-eth0", "/{}/"]))
def test_no_name_of_this_machine_survives(name, around):
    assert not re.search(rf"(?<![a-z0-9]){name}(?![a-z0-9])", Redactor(KEY, [name]).text(around.format(name)))


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("export HF_TOKEN=abcdef123456", "abcdef123456"),
        ("Authorization: Bearer abc.def.ghi123", "abc.def.ghi123"),
        ("curl -u x https://me:pass1@example.org/x", "pass1"),
        ('{"api_key": "s3cr3tvalue"}', "s3cr3tvalue"),
        ("AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("cd /home/jdoe/run && ls", "jdoe"),
        ("Accepted publickey for alice from host", "alice"),
        ("UserId=bob(1001) GroupId=x", "bob"),
        ("Linux version 6.1 (builder@buildhost)", "buildhost"),
        ("Nov 17 01:00:00 gpu-rack7-n3 kernel: x", "gpu-rack7-n3"),
        ("Serial Number : 1650000000001", "1650000000001"),
        ("Port GUID: 0x506b4b03005c2740", "506b4b03005c2740"),
        ("GPU UUID : GPU-5269b708-678a-b1a8-60f0-c90406537486", "5269b708"),
        ("link/infiniband 00:00:10:49:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:5c:27:40 brd", "50:6b:4b:03"),
        ("login01.hpc.example.edu said", "example.edu"),
        ("NodeName=a17 Arch=x86_64 NodeAddr=b18 NodeHostName=c19", "a17"),
        ("NodeName=a17 Arch=x86_64 NodeAddr=b18 NodeHostName=c19", "b18"),
        ("NodeName=a17 Arch=x86_64 NodeAddr=b18 NodeHostName=c19", "c19"),
        ("   NodeList=rack7n[1-4,9] BatchHost=rack7n1", "rack7n"),
        ('TEMP{gpu="0",Hostname="frontier123"} 40', "frontier123"),
        ('{"_HOSTNAME":"frontier123"}', "frontier123"),
        (" Static hostname: frontier123", "frontier123"),
        ("frontier123:1234:1256 [0] NCCL INFO Bootstrap", "frontier123"),
        ("Linux rack7n1 6.1.0-18-amd64 #1 SMP", "rack7n1"),
        ("systemd[1]: Hostname set to <rack7n1>.", "rack7n1"),
        ("ip=10.1.2.4::10.1.2.1:255.255.255.0:rack7n1:eth0:off", "rack7n1"),
        ("nfs: server filer01 not responding", "filer01"),
        (r"CIFS: \\filer01\share", "filer01"),
        ("ip-10-1-2-3 is up", "10-1-2-3"),
        ("from 10.1.2.3.", "10.1.2.3"),
        ("GroupId=mylab(2001) Account=acme_ai JobName=new_llm", "mylab"),
        ("GroupId=mylab(2001) Account=acme_ai JobName=new_llm", "acme_ai"),
        ("GroupId=mylab(2001) Account=acme_ai JobName=new_llm", "new_llm"),
        ('{"account": "acme_ai", "user_name": "carol"}', "acme_ai"),
        ('{"account": "acme_ai", "user_name": "carol"}', "carol"),
        ("uid=1001(zoe) gid=2002(mylab) groups=2002(mylab),7(lp)", "zoe"),
        ("uid=1001(zoe) gid=2002(mylab) groups=2002(mylab),7(lp)", "mylab"),
        ("zoe   4242  99.0  1.2 123456 7890 ?  Rl 10:00 1:00 python", "zoe"),
        ("systemd-logind[1]: New session 3 of user zoe.", "zoe"),
        ("CRON[77]: (zoe) CMD (run)", "zoe"),
        ("python[4242] (user zoe)", "zoe"),
        ("|  4242      C   /data/zoe/venv/bin/python   1000MiB |", "zoe"),
        ("WorkDir=/lustre/zoe", "zoe"),
        ("train.py --hf-token abcdefgh12345 --x 1", "abcdefgh12345"),
        ("curl -u alice:hunter2secret http://x", "hunter2secret"),
        ("sshpass -p hunter2secret ssh n1", "hunter2secret"),
        ("glpat-abcdefghij1234567890", "glpat-abcdefghij1234567890"),
        ("https://store/c?sv=1&sig=abc%2Fdef123456", "abc%2Fdef123456"),
        ("<serial>1650000000001</serial>", "1650000000001"),
        ("Base MAC:  00007cfe90fae7c0", "00007cfe90fae7c0"),
        ("hwaddr 0c42.a11d.d12a", "0c42.a11d.d12a"),
        ("4: enxa0369f1a2b3c: <BROADCAST> mtu 1500", "a0369f1a2b3c"),
        ("S-a0369f03001a2b3c port 12", "a0369f03001a2b3c"),
        ("MAC Address      | a0369f1a2b3c", "a0369f1a2b3c"),
        ("JobId=77 JobName=merger with acmecorp\n   UserId=x(1)", "acmecorp"),
        ("AdminComment=for beatrix alone WorkDir=/x", "beatrix"),
        ("su: (to root) beatrix on pts/0", "beatrix"),
        ("Reason=bad gpu [beatrix@2026-11-17T01:00:00]", "beatrix"),
        ("Set hostname to <quartz9>.", "quartz9"),
        ("slurmstepd-quartz9: error: *** JOB 77 ON quartz9 CANCELLED AT", "quartz9"),
        ("srun: error: quartz9: task 3: Killed", "quartz9"),
        ("ssh: connect to host quartz9 port 22: No route to host", "quartz9"),
        ("joined with abcdef.0123456789abcdef today", "0123456789abcdef"),
        ("mysql -u root -phunter2 -h db", "hunter2"),
        ("adapter SN: MT1943X00498", "MT1943X00498"),
        ("inet6 fe80::a00:27ff:fe4e:66a1%eth0 scope link", "a00:27ff:fe4e:66a1"),
        ("connect to [2001:db8:beef::17]:443 failed", "beef::17"),
        ("BOOTIF=01-a0-36-9f-1a-2b-3c quiet", "a0-36-9f"),
        ("task_memcg=/slurm/uid_20031/job_77,task=python,pid=9,uid=20031", "20031"),
    ],
)
def test_secrets_users_serials_and_hosts_do_not_survive(text, gone):
    assert gone not in Redactor(KEY).text(text)


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.",
        "0000:9b:00.0 3D controller: NVIDIA Corporation Device 2330",
        "mlx5_core 0000:1a:00.0: Port: 1 Link DOWN",
        "Driver Version : 570.86.15",
        "[Tue Nov 17 01:00:00 2026] listening on 127.0.0.1",
        "Reason=bad cable [root@2026-11-17T01:00:00]",
        "gpu_temperature_celsius 41.5",
        "rate: 400 Gb/sec (4X NDR)",
        "took 123456.0123456789012345 s",
        "mlx5_core 0000:1a:00.0 enp26s0np0: Link up",
        "srun: error: task 3 launch failed",
    ],
)
def test_what_a_diagnosis_needs_stays(text):
    assert Redactor(KEY, ["n17"], ["jane"]).text(text) == text


def test_a_pseudonym_is_equal_within_a_bundle_and_leads_nowhere():
    first, other = Redactor(b"a" * 32, ["n17"]), Redactor(b"b" * 32, ["n17"])
    assert first.text("n17 and n17.example.org").count(first.name("n17")) >= 1
    assert first.text("10.0.0.1") == first.text("10.0.0.1") != first.text("10.0.0.2")
    assert first.text("10.0.0.1") != other.text("10.0.0.1")


@settings(max_examples=draws(25, 100), deadline=None)
@given(st.text(max_size=300))
def test_no_text_breaks_it(text):
    redactor = Redactor(KEY, ["n17"], ["jane"])
    redactor.text(text)


@pytest.mark.parametrize("text", ["GPU17 rebooted", "gpu17.Example.org", "GPU17_ETH0"])
def test_a_name_is_found_in_any_spelling(text):
    assert "gpu17" not in Redactor(KEY, ["gpu17.example.org"]).text(text).lower()


@pytest.mark.parametrize(
    "text",
    [
        "BUG for user space",
        "/usr/lib/x86_64-linux-gnu/libcuda.so",
        "/sys/bus/pci/devices/0000:b3:00.0/vendor",
        "node=0",
    ],
)
def test_words_of_the_system_stay(text):
    assert Redactor(KEY, ["gpu17"], ["zoe"]).text(text) == text


LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABC_-./", max_size=6)


@settings(max_examples=draws(60, 400), deadline=None)
@given(NAME.filter(lambda name: len(name) >= LEAST_LETTERS), LETTERS, LETTERS, st.booleans())
def test_no_known_name_survives_inside_a_longer_word(name, before, behind, is_user):
    redactor = Redactor(KEY, *(([], [name]) if is_user else ([name], [])))
    assume(not re.fullmatch(r"[0-9a-f-]+", name))  # any number in hex may hold those
    assert name not in redactor.text(f"x {before}{name}{behind} y").lower()


NUMBERED = [
    "uid={}",
    "oom-kill:task=python,pid=4711,uid={}",
    "audit: auid={0} uid={0} gid={0}",
    "UserId=zoe({}) GroupId=root(0)",
    "uid={0}(zoe) gid={0}(lab) groups={0}(lab),7(lp)",
    '{{"user_id": {}, "job_id": 7}}',
    '{{"user_id": {{"set": true, "number": {}}}}}',
    "/run/user/{}/bus",
    "user@{}.service: killed",
    "user-{}.slice",
    "User slice of UID {}",
    "Uid:\t{0}\t{0}\t{0}\t{0}",
]


@settings(max_examples=draws(60, 400), deadline=None)
@given(st.integers(1000, 4_000_000_000).filter(lambda number: number != UNNAMED_USERS), st.sampled_from(NUMBERED))
def test_no_number_of_a_user_survives_and_a_number_stays_a_number(number, around):
    redacted = Redactor(KEY).text(around.format(number))
    assert not re.search(rf"(?<!\d){number}(?!\d)", redacted)
    assert re.search(r"(?<!\d)1\d{8}(?!\d)", redacted)
    assert redacted == Redactor(KEY).text(around.format(number))


@pytest.mark.parametrize(
    "text",
    ["uid=0(root)", "uid=117", "uid=65534", "pid=4711", "gpu170 and gpu/3", "node1 nodename", "0xdeadbeef1"],
)
def test_numbers_of_the_system_and_other_names_stay(text):
    assert Redactor(KEY, ["gpu17", "node", "beef"], ["zoe1"]).text(text) == text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("host: mercury\nstate: up\n", "mercury"),
        ("- node: gpu17\n", "gpu17"),
        ("unhealthy node: dgx-h100-04 since noon", "dgx-h100-04"),
        ('{"nodes": ["mercury", "venus"], "count": 2}', "mercury"),
        ('{"nodes": ["mercury", "venus"], "count": 2}', "venus"),
        ('{"allocated_nodes": [\n  "rack3n17",\n  "rack3n18"\n]}', "rack3n18"),
        ('{"hosts": [], "hostlist": ["a1b"]}', "a1b"),
        ("Lustre: scratch7-OST0004-osc-ffff8a: Connection to scratch7-OST0004 was lost", "scratch7"),
        ("Lustre: Mounted scratch7-client", "scratch7"),
        ("mgs@o2ib:/scratch7 on /mnt type lustre", "scratch7"),
    ],
)
def test_hosts_without_quotes_in_lists_and_file_systems_do_not_survive(text: str, name: str) -> None:
    assert name not in Redactor(b"k" * 32).text(text)


@pytest.mark.parametrize(
    "text",
    ["NUMA node: none", "node: not found here", "host: the peer went away", '{"nodes": [1, 2]}', "GPU-0 OST"],
)
def test_words_that_are_no_names_stay(text: str) -> None:
    assert Redactor(b"k" * 32).text(text) == text
