"""Beside the others: what people would use instead, on the same planted tables. ``make peers``."""
