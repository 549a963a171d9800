"""Why does a group lose, and does it replicate? Surrogates, halves, subsamples, restarts."""
