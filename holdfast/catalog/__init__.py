"""Facts as data (TOML, CSV) and their readers: Xids, GPUs, NICs, NCCL timers, log messages, prices."""
