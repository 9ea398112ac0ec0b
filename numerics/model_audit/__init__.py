"""Audit of a torch model: which score patterns its label loss can see, layer by layer and head by head.

>>> from numerics.model_audit import Verdict
>>> [verdict.value for verdict in Verdict][-2:]
['label-blind', 'visible']
"""

from numerics.model_audit.audit import audit_model
from numerics.model_audit.report import ModelReport
from numerics.model_audit.verdict import Verdict

__all__ = ["ModelReport", "Verdict", "audit_model"]
