"""Making a profile of other programs' figures: CSV tables, OSU micro-benchmarks, Intel MPI Benchmarks."""

from rankwise.measure.imports.profile import import_profile

__all__ = ["import_profile"]
