"""Errors of the training room; all are ``InputError``: one sentence with rule, value and remedy, exit code 2."""

from numerics.errors import InputError


class CheckpointError(InputError):
    """A checkpoint that cannot be used: truncated, or of another configuration."""


class StorageError(InputError):
    """A file that could not be written; nothing half-written is left."""


class MissingRecord(InputError):
    """A record, or a measurement in one, that is not there; running an experiment makes it."""
