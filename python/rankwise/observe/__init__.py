"""Observed programs: who sends what to whom, and when."""
