"""Predictions about training as objects, judged over seeds by fixed rules."""
