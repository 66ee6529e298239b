#!/bin/sh
# Slurm Prolog: decides whether a job starts on this node. Install it on every node and name it in slurm.conf
# (see slurm.conf.snippet).
# The gate asks the controller and reads the agent's last verdict (some tens of milliseconds). Before it refuses it drains
# the node with our own reason; Slurm then keeps that reason instead of writing "Prolog error".

here=${0%/*}
# shellcheck source=/dev/null
[ -r "$here/settings.sh" ] && . "$here/settings.sh"
# Slurm gives its scripts no PATH; add the folders of scontrol and holdfast if they are not in this list.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/slurm/bin
export PATH

: "${HOLDFAST:=holdfast}"
: "${HOLDFAST_VERDICT:=/run/holdfast/verdict}"
: "${HOLDFAST_GATE_OPTIONS:=--max-age 120}"
# An unknown verdict (agent down, stale file) is no evidence against the node: the job starts, and the log records it.
# Set refuse if no job may start on a node without a verdict; then a dead agent drains its node.
: "${HOLDFAST_ON_UNKNOWN:=allow}"
# yes: no job starts unless the last full test is newer than the last job. The epilog normally ensures this.
: "${HOLDFAST_REQUIRE_TEST:=no}"

# The agent's configuration. If a test is required, the gate asks the controller in this file. If the controller does not answer
# within 3 s, the job starts only if the mark of a test since the last job exists.
: "${HOLDFAST_CONFIG:=/etc/holdfast/holdfast.toml}"
if [ "$HOLDFAST_REQUIRE_TEST" = yes ] && [ -r "$HOLDFAST_CONFIG" ]; then
    HOLDFAST_GATE_OPTIONS="$HOLDFAST_GATE_OPTIONS --ask $HOLDFAST_CONFIG"
fi

# A file for the epilog, which Slurm also runs for a refused job: no job ran, so the node needs no new test.
refused="$HOLDFAST_VERDICT.refused.$SLURM_JOB_ID"
rm -f "$refused"

drain_with() {
    case "$(scontrol show node "$SLURMD_NODENAME")" in
        *DRAIN*) ;; # keep the reason of another user
        *) scontrol update nodename="$SLURMD_NODENAME" state=drain reason="holdfast: gate: $1" ;;
    esac
}

# Jobs take precedence over fabric probes: the agent ends a probe within a second after this mark is removed.
rm -f "$HOLDFAST_VERDICT.probing"

if [ "$HOLDFAST_REQUIRE_TEST" = yes ] && [ ! -e "$HOLDFAST_VERDICT.tested" ]; then
    echo "not tested since the last job or start of slurmd"
    if [ -e "$HOLDFAST_VERDICT.testing" ]; then
        touch "$refused" # a test is running; it continues
        drain_with "job $SLURM_JOB_ID came before the end of a test"
    else
        "$here/untested.sh" "job $SLURM_JOB_ID came before a test"
    fi
    exit 1
fi

# shellcheck disable=SC2086  # options are a list of words
answer=$($HOLDFAST gate --on-unknown "$HOLDFAST_ON_UNKNOWN" $HOLDFAST_GATE_OPTIONS)
code=$?

# Code 1 means degraded only together with the word: a program that crashes also exits with 1.
case "$code:$answer" in
    0:*) exit 0 ;;
    1:degraded*) exit 0 ;; # the node is slower but works; the scheduler decides whether to use it last
    2:* | 3:*) touch "$refused"; printf '%s\n' "$answer"; exit 1 ;; # not echo, which interprets backslashes
esac

echo "holdfast gate could not run (exit code $code)"
[ "$HOLDFAST_ON_UNKNOWN" = refuse ] || exit 0
touch "$refused"
drain_with "could not run (exit code $code)"
exit 1
