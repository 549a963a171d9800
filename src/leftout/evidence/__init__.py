"""Why does a group lose, and does it come back? Comparison tables, halves of the rows, starts."""
