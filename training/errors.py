"""Errors of the training room; all are ``InputError``: one sentence with rule, value and remedy, exit code 2."""

from numerics.errors import InputError


class CheckpointError(InputError):
    """A checkpoint that cannot be used: truncated, or of another configuration."""


class StorageError(InputError):
    """A file that could not be written; nothing half-written is left."""
