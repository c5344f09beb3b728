"""What ``import rankwise`` offers: each function asks what a verb of the command line asks, and verbs call these functions."""
