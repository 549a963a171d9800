"""Is a group real, and does it come back? Chance tables, held-out rows, other seeds."""
