"""Which settings of an MPI library make a program's collectives faster, by the cost model, and which are left as they are."""
