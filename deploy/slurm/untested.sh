#!/bin/sh
# From now on this node runs nothing until it is tested: the last test is forgotten, and the node drained with our note.
# The controller sees the note, has the node tested, and lifts it. usage: untested.sh WHY

here=${0%/*}
# shellcheck source=/dev/null
[ -r "$here/settings.sh" ] && . "$here/settings.sh"
# Slurm gives its scripts no PATH; add the place of scontrol if it is elsewhere.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/slurm/bin
export PATH

why=$1
node=${SLURMD_NODENAME:-$(uname -n | cut -d. -f1)}
: "${HOLDFAST_VERDICT:=/run/holdfast/verdict}"
: "${HOLDFAST_REQUIRE_TEST:=no}"

# Local, so it works with Slurm away. Also a test that is running now is no longer worth anything.
rm -f "$HOLDFAST_VERDICT.tested" "$HOLDFAST_VERDICT.testing" || exit 1

not_drained() {
    echo "holdfast: $node is not drained ($why): $1"
    # The prolog refuses what comes too early. Where it does not, an error here makes Slurm drain the node itself.
    [ "$HOLDFAST_REQUIRE_TEST" = yes ]
    exit $?
}

shown=$(timeout 10 scontrol show node "$node" 2>&1) || not_drained "$shown"
state=$(printf '%s\n' "$shown" | sed -n 's/^ *State=\([^ ]*\).*/\1/p')
note=$(printf '%s\n' "$shown" | sed -n 's/^ *Reason=//p')
[ -n "$state" ] || not_drained "scontrol did not print its state"

# A note that says more than ours, or that is another's, stays; so does the drain it explains.
case "$note" in
    "holdfast: untested"*) ;;
    "Not responding"* | "Node unexpectedly rebooted"*) case "$state" in *DRAIN*) exit 0 ;; esac ;;
    ?*) case "$state" in *DRAIN* | *DOWN* | *FAIL*) exit 0 ;; esac ;;
esac
error=$(timeout 10 scontrol update nodename="$node" state=drain reason="holdfast: untested: $why" 2>&1) ||
    not_drained "$error"
