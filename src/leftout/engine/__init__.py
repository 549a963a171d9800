"""Larger than memory, more than one machine: summaries of chunks, merged."""
