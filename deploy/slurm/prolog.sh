#!/bin/sh
# Slurm Prolog: does work start on this node? Install on every node and name it in slurm.conf (see slurm.conf.snippet).
# The gate asks the controller and reads the agent's last verdict (some tens of milliseconds). Before it refuses it drains
# the node with our own reason; Slurm then keeps that reason instead of writing "Prolog error".

here=${0%/*}
# shellcheck source=/dev/null
[ -r "$here/settings.sh" ] && . "$here/settings.sh"
# Slurm gives its scripts no PATH; add the place of scontrol and holdfast if they are elsewhere.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/slurm/bin
export PATH

: "${HOLDFAST:=holdfast}"
: "${HOLDFAST_VERDICT:=/run/holdfast/verdict}"
: "${HOLDFAST_GATE_OPTIONS:=--max-age 120}"
# An unknown verdict (agent down, stale file) says nothing against the node: the job starts and the log tells.
# Where no job may ever start on an unjudged node, say refuse; then a dead agent drains its node.
: "${HOLDFAST_ON_UNKNOWN:=allow}"
# yes: no job starts before a full test newer than the last one. The epilog should have seen to it already.
: "${HOLDFAST_REQUIRE_TEST:=no}"

# The agent's configuration. With a required test the gate asks the controller that it names. If that does not answer
# within 3 s, only the mark of a test since the last job lets the job in.
: "${HOLDFAST_CONFIG:=/etc/holdfast/holdfast.toml}"
if [ "$HOLDFAST_REQUIRE_TEST" = yes ] && [ -r "$HOLDFAST_CONFIG" ]; then
    HOLDFAST_GATE_OPTIONS="$HOLDFAST_GATE_OPTIONS --ask $HOLDFAST_CONFIG"
fi

# Left for the epilog, which Slurm runs also for a job that was refused: nothing ran, so nothing is to be tested anew.
refused="$HOLDFAST_VERDICT.refused.$SLURM_JOB_ID"
rm -f "$refused"

drain_with() {
    case "$(scontrol show node "$SLURMD_NODENAME")" in
        *DRAIN*) ;; # another's note, which stays
        *) scontrol update nodename="$SLURMD_NODENAME" state=drain reason="holdfast: gate: $1" ;;
    esac
}

# A probe of the fabric gives way to work: its agent ends it within a second when this mark is gone.
rm -f "$HOLDFAST_VERDICT.probing"

if [ "$HOLDFAST_REQUIRE_TEST" = yes ] && [ ! -e "$HOLDFAST_VERDICT.tested" ]; then
    echo "not tested since the last job or start of slurmd"
    if [ -e "$HOLDFAST_VERDICT.testing" ]; then
        touch "$refused" # a test is running; it goes on
        drain_with "job $SLURM_JOB_ID came before the end of a test"
    else
        "$here/untested.sh" "job $SLURM_JOB_ID came before a test"
    fi
    exit 1
fi

# shellcheck disable=SC2086  # options are a list of words
answer=$($HOLDFAST gate --on-unknown "$HOLDFAST_ON_UNKNOWN" $HOLDFAST_GATE_OPTIONS)
code=$?

# Code 1 counts as degraded only with the word beside it: a program that crashes also exits 1.
case "$code:$answer" in
    0:*) exit 0 ;;
    1:degraded*) exit 0 ;; # slower, but works: whether it is used last is the scheduler's choice
    2:* | 3:*) touch "$refused"; printf '%s\n' "$answer"; exit 1 ;; # echo would obey its backslashes
esac

echo "holdfast gate could not run (exit code $code)"
[ "$HOLDFAST_ON_UNKNOWN" = refuse ] || exit 0
touch "$refused"
drain_with "could not run (exit code $code)"
exit 1
