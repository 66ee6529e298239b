"""Active measurements, which checks evaluate. Measuring needs torch; choosing pairs does not."""
