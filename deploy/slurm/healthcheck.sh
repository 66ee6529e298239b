#!/bin/sh
# Slurm HealthCheckProgram. Without a controller it drains a failing node between two jobs, with our own
# reason, and an operator resumes it. With a controller (HOLDFAST_REQUIRE_TEST=yes) it changes nothing: only the controller
# drains and resumes nodes, and the prolog asks it.

# shellcheck source=/dev/null
[ -r "${0%/*}/settings.sh" ] && . "${0%/*}/settings.sh"
# Slurm gives its scripts no PATH; add the folders of scontrol and holdfast if they are not in this list.
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

# The result is the drain. Some Slurm versions do not let slurmd register while this script exits with an error.
exit 0
