"""Downstream: what a model that sees components instead of columns loses, and for whom."""
