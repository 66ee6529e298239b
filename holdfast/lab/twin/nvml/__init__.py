"""A library with NVML's ABI whose answers come from a memory-mapped file next to it."""
