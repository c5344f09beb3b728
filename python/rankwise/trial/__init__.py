"""Two placements of a program by turns: which is faster, and how sure that is."""
