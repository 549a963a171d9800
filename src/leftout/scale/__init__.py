"""Tables larger than memory, and on more than one machine."""
