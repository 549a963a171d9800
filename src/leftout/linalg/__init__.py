"""The mathematics, on arrays alone: moments, the losses that are functions of them, bounds."""
