#!/bin/sh
# Slurm HealthCheckProgram. Without a controller it takes a node that fails out of service between two jobs, with our own
# reason, and an operator returns it. With a controller (HOLDFAST_REQUIRE_TEST=yes) it changes nothing: the controller
# alone drains and returns nodes, and the prolog asks it.

# shellcheck source=/dev/null
[ -r "${0%/*}/settings.sh" ] && . "${0%/*}/settings.sh"
# Slurm gives its scripts no PATH; add the place of scontrol and holdfast if they are elsewhere.
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin:/usr/sbin:/opt/slurm/bin
export PATH

: "${HOLDFAST:=holdfast}"
: "${HOLDFAST_GATE_OPTIONS:=--max-age 120}"

: "${HOLDFAST_REQUIRE_TEST:=no}"
drain=auto
[ "$HOLDFAST_REQUIRE_TEST" = yes ] && drain=never

# Unknown never drains here: the agent may be starting together with slurmd.
# shellcheck disable=SC2086  # options are a list of words
$HOLDFAST gate --on-unknown allow $HOLDFAST_GATE_OPTIONS --drain "$drain"

# The drain is the answer. Some Slurm versions keep slurmd from registering while this exits non-zero.
exit 0
