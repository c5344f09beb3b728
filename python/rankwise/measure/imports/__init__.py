"""Making a profile of other programs' figures: CSV tables, OSU micro-benchmarks, Intel MPI Benchmarks."""

from rankwise.measure.imports.profile import import_profile, read_tables

__all__ = ["import_profile", "read_tables"]
