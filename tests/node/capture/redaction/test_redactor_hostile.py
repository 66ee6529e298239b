"""Redaction of lines that people and programs write as they like: one property for each class of secret or name."""

import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.node.capture.redaction.redactor import Redactor
from tests.counts import draws

KEY = b"k" * 32
SEEDS = st.integers(0, 500)
SOME = settings(max_examples=draws(20, 150), deadline=None)
LETTERS_AND_DIGITS = string.ascii_letters + string.digits
HOST = st.from_regex(r"[g-z]{3,6}[0-9]{2,4}(-[a-z]{2,4})?", fullmatch=True)
NAME = st.from_regex(r"[q-z]{5,8}", fullmatch=True)
PASSWORD = st.text("qvxz0189@!#%+*~^", min_size=8, max_size=16).filter(lambda text: text[0] not in "@#~")


def redacted(text: str) -> str:
    return Redactor(KEY).text(text)


def random_word(seed: int, length: int, letters: str = LETTERS_AND_DIGITS) -> str:
    drawn = random.Random(seed)
    return "".join(drawn.choice(letters) for _ in range(length))


@SOME
@given(
    HOST,
    st.sampled_from(["git.{}.example.org", "{}", "{}.internal"]),
    st.sampled_from(
        ["https://ab:cd1@{}/x", "https://ab@{}/x", "postgres://u:p@ss@{}:5432/d", "http://{}:9090/m", "tcp://{}"]
    ),
)
def test_no_host_of_a_url_survives(host, form, around):
    assert host not in redacted("see " + around.format(form.format(host)) + " now")


@SOME
@given(
    SEEDS,
    st.sampled_from(
        [
            "https://hooks.slack.com/services/T0A1B2C3D/B0Z9Y8X7W/{}",
            "https://x.example.org/api/{}",
            "https://h.example.org/v1?q={}",
        ]
    ),
)
def test_no_random_part_of_a_path_survives(seed, around):
    text = redacted("POST " + around.format(random_word(seed, 24)) + " failed")
    assert random_word(seed, 24) not in text and "T0A1B2C3D" not in text
    assert text.startswith("POST https://") and text.endswith(" failed")


@SOME
@given(SEEDS, st.sampled_from(["{}", "key {} x", "k={};", '"{}"', "/tmp/{}/x"]))
def test_no_long_random_word_survives(seed, around):
    word = random_word(seed, 44)
    assert word not in redacted(around.format(word))


@SOME
@given(SEEDS, st.sampled_from([" ", "\n", " : ", " secret "]))
def test_no_key_survives_beside_its_id(seed, between):
    word = random_word(seed, 40, LETTERS_AND_DIGITS + "+/")
    assert word not in redacted(f"AKIA{'Q7' * 8}{between}{word} end")


@SOME
@given(SEEDS, st.sampled_from(["{}", "key {}", "/run/{}/x"]))
def test_a_long_number_in_hex_becomes_another_of_its_length(seed, around):
    word = random_word(seed, 64, "0123456789abcdef")
    text = redacted(around.format(word))
    assert word not in text and len(text) == len(around.format(word))
    assert text == redacted(around.format(word))


NAMES_OF_SECRETS = [
    "MYSQL_PWD",
    "db_passwd",
    "Password",
    "client-secret",
    "HF_TOKEN",
    "OPENAI_API_KEY",
    "aws.credential",
]


@SOME
@given(
    st.sampled_from(NAMES_OF_SECRETS), PASSWORD, PASSWORD, st.sampled_from("\"'"), st.sampled_from(["=", ": ", " = "])
)
def test_a_quoted_secret_ends_at_its_quote(name, first, second, quote, sign):
    text = redacted(f"a {name}{sign}{quote}{first}, {second}{quote} after")
    assert first not in text and second not in text and text.endswith(" after")
    text = redacted(f'{{"{name}":"{first},{second}","rank":7}}')
    assert first not in text and second not in text and text.endswith('"rank":7}')


@SOME
@given(
    PASSWORD, st.sampled_from(["MYSQL_PWD={}", "run -p {}", "passwd '{} 77'", "--password {}", '\\"pwd\\":\\"{}\\"'])
)
def test_no_secret_survives_in_any_form(word, around):
    assert word not in redacted(f"x {around.format(word)} y")


FORMS = [
    "Authorization: Token {}",
    "Set-Cookie: sid={}; Path=/",
    "SLACK_WEBHOOK={}",
    "passcode={}",
    "wifi psk={}",
    "munge.key: {}",
    "snmp-server community {} RO",
    "ipmitool -I lanplus -H bmc1 -U admin -P {} sel list",
    "AWS_SECRET_ACCESS_KEY {}",
    "licence_key={}",
]


@SOME
@given(PASSWORD.map(lambda text: f"q{text}9".replace(",", "")), st.sampled_from(FORMS))
def test_no_secret_survives_in_what_programs_print(word, around):
    assert word not in redacted(f"x {around.format(word)}")


PROGRAMS = [
    "NVRM: Xid (PCI:0000:9b:00): 31, pid=4711, name={}, Ch 00000008, intr 10000000",
    "NVRM: Xid (PCI:0000:9b:00): 43, pid='4711', name={}, Ch 00000008",
    "Out of memory: Killed process 4711 ({}) total-vm:1kB, anon-rss:1kB",
    "oom_reaper: reaped process 4711 ({}), now anon-rss:0kB",
    "{} invoked oom-killer: gfp_mask=0x140cca, order=0",
    "[  100.000001] {} invoked oom-killer: gfp_mask=0x140cca, order=0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/x,task={},pid=4711,uid=0",
    "CPU: 3 PID: 4711 Comm: {} Not tainted 6.1.0",
    "[   4711]  1000  4711   123456    7890   81920        0             0 {}",
    "INFO: task {}:4711 blocked for more than 120 seconds.",
    "{}[4711]: segfault at 0 ip 0000 sp 0000 error 4",
    "python3[4711]: segfault at 0 ip 0000 sp 0000 error 4 in {}[7f00+1000]",
    "[  100.0] {} (4711): drop_caches: 3",
    "warning: `{}' uses wireless extensions",
    "        Process ID                        : 4711\n            Type                          : C\n"
    "            Name                          : {}\n            Used GPU Memory     : 1 MiB",
    "<pid>4711</pid><type>C</type><process_name>{}</process_name>",
    "|    0   N/A  N/A            4711      C   {}                    1234MiB |",
    "|    0      4711      C   {}                        1234MiB |",
    "        PROCESS_INFO:\n            NAME: {}\n            PID: 4711",
    '{{"process_info": {{"name": "{}", "pid": 4711}}}}',
    '{{"system": {{"PID4711": "{}, 1, 0, 0, unknown"}}}}',
]


@SOME
@given(NAME, st.sampled_from(PROGRAMS))
def test_no_program_of_a_user_survives_and_known_ones_do(name, around):
    text = redacted(around.format(f"{name}_llm"))
    assert name not in text and "program-" in text
    assert "python3" in redacted(around.format("python3"))
    assert redacted(around.format("nvidia-smi")).count("nvidia-smi") == 1


@SOME
@given(
    HOST,
    st.sampled_from(
        [
            '{{"host":"{}"}}',
            '{{"node": "{}", "x": 1}}',
            '{{\\"hostname\\":\\"{}\\"}}',
            "mount //{}/share on /mnt",
            "nfs: server {} not responding, still trying",
            "NFS: state manager: lease failed on NFSv4 server {} with error 13",
            "lockd: server {} OK",
            "LustreError: 11-0: operation ost_statfs to node {} failed: rc = -107",
            "beegfs: Connect failed: beegfs-storage {} [ID: 3]",
            "CIFS: VFS: server {} has not responded in 180 seconds",
            "{}:/export/data on /data type nfs4",
        ]
    ),
)
def test_no_host_survives_in_fields_and_messages_of_storage(host, around):
    assert host not in redacted(around.format(host))


@SOME
@given(HOST, st.sampled_from(["{} is down", "to {}: refused", "({})", "{}-eth0 up"]))
def test_a_short_name_goes_where_its_full_name_was_seen(host, around):
    redactor = Redactor(KEY)
    assert host in redactor.text(around.format(host))
    redactor.learn(f"ping {host}.rack7.example.org")
    assert host not in redactor.text(around.format(host))
    assert host not in redacted(f"{host}.example.org up\n{around.format(host)}")


PERSONS = [
    "login of ACME\\{} failed",
    "acme\\{} failed",
    "user name is '{}'",
    "user name is {}",
    'account "{}" is locked',
    "AccountName={} x",
    "TargetUserName: {}",
    "cd /home/{}/x",
    "/home/{}",
    "C:\\Users\\{}\\x",
    "CN={} Jones,OU=Staff",
    "ssh {}@10.0.0.1",
    "sshd[1]: Invalid user {} from 10.0.0.1 port 22",
    "sshd[1]: Disconnected from user {} 10.0.0.1 port 5",
    "MailUser={} MailType=END",
    "ReservationName={}",
]


@SOME
@given(st.text("müßéøñžqwz", min_size=5, max_size=9), st.sampled_from(PERSONS))
def test_no_user_survives_in_any_alphabet(name, around):
    assert name not in redacted(around.format(name))


@SOME
@given(NAME, st.sampled_from(["/home/zoe/{}/train.py", "/home/zoe/{}", "cwd /users/zoe/{}/a/b"]))
def test_no_folder_of_a_project_survives(name, around):
    assert name not in redacted(around.format(name))


@SOME
@given(st.integers(10**9, 10**13), st.sampled_from(["serial {}", "Serial Number {}", "s/n {}", "serial is {}"]))
def test_no_serial_survives_without_a_sign(number, around):
    assert str(number) not in redacted(f"board {around.format(number)} replaced")


@SOME
@given(SEEDS)
def test_no_fingerprint_survives(seed):
    word = random_word(seed, 43, LETTERS_AND_DIGITS + "+/")
    assert word not in redacted(f"Accepted key ED25519 SHA256:{word} found")


@SOME
@given(SEEDS, st.integers(0, 6), st.booleans(), st.sampled_from(["\n", "\\n"]))
def test_a_private_key_ends_where_its_base64_ends(seed, lines, has_end, line_end):
    words = [random_word(seed + line, 64, LETTERS_AND_DIGITS + "+/") for line in range(lines)]
    end = ["-----END PRIVATE KEY-----"] if has_end else []
    key = line_end.join(["-----BEGIN PRIVATE KEY-----", *words, *end])
    text = redacted(f"before\n{key}\nNVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\nlast line")
    assert not any(word in text for word in words)
    assert text == "before\n[private key]\nNVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\nlast line"


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:9b:00): 31, pid=4711, name=python3, Ch 00000008, intr 10000000. MMU Fault: GRAPHICS",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.570.86.15",
        "image sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "see https://docs.nvidia.com/deploy/xid-errors/index.html for details",
        "mask ffffffffffffffffffffffffffffffffffffffff",
        "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
        "gpu_nvlink_crc_flit_error_count_total_link17 0",
        "srun -p batch -N 2",
        "ssh -p 2222 localhost",
        "ERROR\\nTraceback (most recent call last)",
        "PASSWORD authentication failed",
        "serial8250: ttyS0 at I/O 0x3f8",
        "nfs: server not responding",
    ],
)
def test_what_only_looks_like_a_secret_stays(text):
    assert redacted(text) == text


HOSTILE = [
    "token",
    "a.",
    "://a:",
    "\\",
    "-----BEGIN PRIVATE KEY-----\n",
    "password='",
    " -p ",
    "nfs server ",
    "a@",
    "de.",
    "\n",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_repetition_ends(piece):
    """A rule that goes back over all of it at every character would not end within the limit of a test."""
    assert isinstance(redacted(piece * (50_000 // len(piece))), str)
