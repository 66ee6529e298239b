"""What is measured on purpose: costly, asked for, judged elsewhere. Measuring needs torch; choosing pairs does not."""
