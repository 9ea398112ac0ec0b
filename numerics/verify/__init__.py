"""The verifier: grades, runs, records and reports."""
