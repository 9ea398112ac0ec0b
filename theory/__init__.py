"""What is true: statements of the paper and beyond, derived for every sequence length L and token width d.

>>> from theory import find_claim
>>> [part.label for part in find_claim("P1").parts]
['supervised', 'reconstruction']
"""

from theory.catalogue import claims, find_claim, lemmas

__all__ = ["claims", "find_claim", "lemmas"]
