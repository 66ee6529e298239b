"""AMD GPUs: amd-smi and rocm-smi, the driver's sysfs files, and exporters."""
