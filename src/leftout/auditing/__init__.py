"""The whole audit, in the order in which people ask."""
