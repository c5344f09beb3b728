"""Collectives of MPI libraries: which algorithm a library selects by default."""
