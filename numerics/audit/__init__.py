"""The audit of a person's own sequences: can labels see a score pattern at uniform attention, and can reconstruction?

``sequences`` and ``measurement`` read and measure in one pass; ``intervals`` says how certain each number is;
``descent``, ``positions`` and ``correlation`` hold the directions that reconstruction pushes scores in; ``verdict``
holds the rule; ``report``, ``picture`` and ``command`` show it.  Closed forms are those of ``numerics.structured``.
Checked by ``tests/numerics/audit``.
"""
