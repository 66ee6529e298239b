"""Active measurements. Checks judge them. Measuring needs torch; choosing pairs does not."""
