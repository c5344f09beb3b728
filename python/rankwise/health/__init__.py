"""The state of a machine's links over weeks: sessions, their history, what is usual, and the alarm."""
