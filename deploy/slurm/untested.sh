#!/bin/sh
# Marks this node as untested, so that no job starts before a test: deletes the mark of the last test and drains the
# node with our reason.
# The controller sees the reason, requests a test, and removes the drain. usage: untested.sh WHY

here=${0%/*}
# shellcheck source=/dev/null
[ -r "$here/settings.sh" ] && . "$here/settings.sh"
# Slurm gives its scripts no PATH; add the folder of scontrol if it is not in this list.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/slurm/bin
export PATH

why=$1
node=${SLURMD_NODENAME:-$(uname -n | cut -d. -f1)}
: "${HOLDFAST_VERDICT:=/run/holdfast/verdict}"
: "${HOLDFAST_REQUIRE_TEST:=no}"

# Local, so it works while Slurm is down. It also makes a test that is running now invalid.
rm -f "$HOLDFAST_VERDICT.tested" "$HOLDFAST_VERDICT.testing" || exit 1

not_drained() {
    echo "holdfast: $node is not drained ($why): $1"
    # If a test is required, the prolog refuses jobs; otherwise an error here makes Slurm drain the node.
    [ "$HOLDFAST_REQUIRE_TEST" = yes ]
    exit $?
}

shown=$(timeout 10 scontrol show node "$node" 2>&1) || not_drained "$shown"
state=$(printf '%s\n' "$shown" | sed -n 's/^ *State=\([^ ]*\).*/\1/p')
note=$(printf '%s\n' "$shown" | sed -n 's/^ *Reason=//p')
[ -n "$state" ] || not_drained "scontrol did not print its state"

# A longer reason than ours, or a reason of another user, stays, and so does its drain.
case "$note" in
    "holdfast: untested"*) ;;
    "Not responding"* | "Node unexpectedly rebooted"*) case "$state" in *DRAIN*) exit 0 ;; esac ;;
    ?*) case "$state" in *DRAIN* | *DOWN* | *FAIL*) exit 0 ;; esac ;;
esac
error=$(timeout 10 scontrol update nodename="$node" state=drain reason="holdfast: untested: $why" 2>&1) ||
    not_drained "$error"
