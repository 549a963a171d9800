"""Why a group loses, and whether it comes back: comparison tables, held-out rows, other seeds."""
