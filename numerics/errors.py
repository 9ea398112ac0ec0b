"""Errors that people meet: one sentence with the rule, the value and the remedy."""


class InputError(ValueError):
    """Input that breaks a stated rule; the message names rule, value and remedy. Commands exit with code 2."""
