"""The tables of a profile as CSV; ``rankwise profile import`` reads them back to the last digit."""

from __future__ import annotations

import csv
import io

from rankwise.machine.profile import Profile

COLUMNS = ("link", "sending", "size_bytes", "time_s", "time_lo_s", "time_hi_s", "samples", "statistic")


def csv_text(profile: Profile) -> str:
    """Return all tables of a profile, a row for each size."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for name, link in profile.links.items():
        for sending, curve in {"send": link.send, **link.variants}.items():
            for point in curve.table:
                row = point.to_dict()
                writer.writerow(
                    [name, sending, *("" if value is None else repr(value) for value in row.values()), curve.statistic]
                )
    return stream.getvalue()
