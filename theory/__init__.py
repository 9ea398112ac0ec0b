"""What is true: statements of the paper and beyond, derived for every sequence length L and token width d.

>>> from theory import claim
>>> [part.label for part in claim("P1").parts]
['supervised', 'reconstruction']
"""

from theory.catalogue import claim, claims, lemmas

__all__ = ["claim", "claims", "lemmas"]
