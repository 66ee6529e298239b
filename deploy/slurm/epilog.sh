#!/bin/sh
# Slurm Epilog: marks the node as untested before Slurm can give it to the next job. If this script is killed or fails,
# Slurm drains the node itself ("Epilog error").

here=${0%/*}
# shellcheck source=/dev/null
[ -r "$here/settings.sh" ] && . "$here/settings.sh"
: "${HOLDFAST_VERDICT:=/run/holdfast/verdict}"

# The prolog refused this job and drained the node: nothing ran here.
if [ -e "$HOLDFAST_VERDICT.refused.$SLURM_JOB_ID" ]; then
    rm -f "$HOLDFAST_VERDICT.refused.$SLURM_JOB_ID"
    exit 0
fi
exec "$here/untested.sh" "job $SLURM_JOB_ID ended here"
