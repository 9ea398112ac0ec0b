"""Figures of the paper, drawn from records and from data that ship with the project; never trains."""
