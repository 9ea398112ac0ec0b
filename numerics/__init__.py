"""Is it really true: independent numeric routes, the verifier, gradient-checking tools, hypothesis strategies."""
