#!/bin/sh
# Slurm Epilog: before Slurm can give the node to the next job, it is marked as untested. If this is killed or fails,
# Slurm drains the node by itself ("Epilog error").
exec "${0%/*}/untested.sh" "job $SLURM_JOB_ID ended here"
