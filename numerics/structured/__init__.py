"""Closed forms on long sequences: no L x L array where pattern and mask depend on j - i alone.

``toeplitz`` multiplies by such matrices in O(L log L); ``scores`` holds a pattern centred within its mask; ``pooled``
evaluates what labels see (G1, G2, G3, G4); ``slopes`` what reconstruction sees, sequence by sequence (G1, G7).
Checked by ``tests/numerics/test_structured.py`` against the definition and against the expressions of ``theory``.
"""
