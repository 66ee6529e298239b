#!/bin/sh
# Slurm Epilog: before Slurm can give the node to the next job, it is marked as untested. If this is killed or fails,
# Slurm drains the node by itself ("Epilog error").

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
