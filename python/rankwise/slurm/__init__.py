"""Work handed to Slurm: job scripts, submission, states in words."""
