#!/bin/sh
# Before slurmd starts (see slurmd-holdfast.conf): a new, rebooted or restarted node runs nothing until it is tested.
exec "${0%/*}/untested.sh" "slurmd starts"
