"""Errors that people can do something about."""


class InputError(ValueError):
    """Input or options that cannot be used: what was found, what is needed, what to do."""
