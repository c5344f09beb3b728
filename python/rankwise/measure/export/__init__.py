"""A profile for other programs: CSV, text like OSU's, a platform for SimGrid."""

from rankwise.measure.export.csv_text import csv_text
from rankwise.measure.export.osu_text import osu_text
from rankwise.measure.export.simgrid import simgrid_text

__all__ = ["csv_text", "osu_text", "simgrid_text"]
