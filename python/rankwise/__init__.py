"""rankwise: how fast a program's communication can be on a machine, why, and what to change."""

__version__ = "0.1.0"
