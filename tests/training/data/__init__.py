"""Tests of training.data."""
