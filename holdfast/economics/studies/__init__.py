"""Studies with the simulation: scenario files, replicas, sweeps, calibration."""
