"""What to change in a program that was observed, why, and what it gains."""
