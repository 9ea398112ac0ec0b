"""Experiments of the paper, one module each: which runs, at which scale, and how they are read together."""
