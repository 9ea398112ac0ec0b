"""The one-head module of section 4 and the pre-norm Transformer of appendix A, as one configurable network."""
