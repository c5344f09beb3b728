"""A profile for other programs: CSV, text like OSU's, a platform for SimGrid.

The tables of a profile as CSV; ``rankwise profile import`` reads them back to the last digit.

The send curve of one link as text like osu_latency's, for programs that read that.

Two hosts joined by one link as a platform that SimGrid reads, with SMPI's factors for the link's segments.

SMPI takes a message's time as latency · lat-factor + size / (bandwidth · bw-factor), the factors by size. The platform's
link has the alpha of the empty message and the beta of the largest, so that a segment's factors are its alpha over that
alpha and that beta over its own. A factor holds for sizes above its threshold, so a segment from 4096 B on stands at 4095.
"""

from __future__ import annotations

import csv
import io
from xml.sax.saxutils import quoteattr

import numpy as np

from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import Profile
from rankwise.models.fit import find_lines

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


def osu_text(profile: Profile, link: str) -> str:
    """Return the table of a link's send curve.

    A median stands under the title that OSU gives to one; everything else under the plain title, and the first line
    says what it is.
    """
    curve = profile.links[link].send
    title = "P50 Tail Lat(us)" if curve.statistic == "median" else "Avg Latency(us)"
    # OSU prints two decimals, and six when built with FLOAT_PRECISION=6: two would round a short message's time away.
    rows = "".join(f"{point.size_bytes:<10}{point.time_s * 1e6:20.6f}\n" for point in curve.table)
    return (
        f"# Written by rankwise, not by OSU: {profile.machine.get('hostname', 'a machine')}, {link}, {curve.statistic}\n"
        "# OSU MPI Latency Test\n# Datatype: MPI_CHAR.\n"
        f"# {'Size':<8}{title:>20}\n{rows}"
    )


_TABLE_NOISE = 0.05  # relative: lines are not bent for less


def simgrid_text(profile: Profile, link: str) -> str:
    """Return the platform XML. Raises InputError when the link's table has no latency or no bandwidth in it."""
    curve = profile.links[link].send
    segments = _segments(curve)
    latency_s, beta = curve.alpha_s or curve.table[0].time_s, segments[-1][2]
    if beta <= 0:
        raise InputError(f"{link}: the time does not grow with the size, so there is no bandwidth: measure larger sizes")
    latency_factors = ";".join(f"{max(0, start - 1)}:{max(alpha / latency_s, 1e-6):.6g}" for start, alpha, _ in segments)
    bandwidth_factors = ";".join(f"{max(0, start - 1)}:{beta / max(b, beta * 1e-6):.6g}" for start, _, b in segments)
    options = {
        "network/model": "SMPI",
        "network/TCP-gamma": "0",
        "smpi/lat-factor": latency_factors,
        "smpi/bw-factor": bandwidth_factors,
    }
    props = "".join(f"    <prop id={quoteattr(key)} value={quoteattr(value)}/>\n" for key, value in options.items())
    what = f"{profile.machine.get('hostname', 'a machine')}, {link}".replace("--", "- -")
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f"<!-- Written by rankwise: two ranks of {what} -->\n"
        '<platform version="4.1">\n'
        f"  <config>\n{props}  </config>\n"
        '  <zone id="world" routing="Full">\n'
        '    <host id="rank-0" speed="1Gf"/>\n    <host id="rank-1" speed="1Gf"/>\n'
        f'    <link id={quoteattr(link)} latency="{latency_s:.9g}s" bandwidth="{1 / beta:.9g}Bps" '
        'sharing_policy="SPLITDUPLEX"/>\n'
        f'    <route src="rank-0" dst="rank-1" symmetrical="NO"><link_ctn id={quoteattr(link)} direction="UP"/></route>\n'
        f'    <route src="rank-1" dst="rank-0" symmetrical="NO"><link_ctn id={quoteattr(link)} direction="DOWN"/></route>\n'
        "  </zone>\n</platform>\n"
    )


def _segments(curve: Curve) -> list[tuple[int, float, float]]:
    """Return (from_bytes, alpha_s, beta_s_per_byte) of lines with parameters of at least 0."""
    lines = [(s.from_bytes, s.alpha_s, s.beta_s_per_byte) for s in curve.models["piecewise"].segments]
    if all(alpha > 0 and beta > 0 for _, alpha, beta in lines) and len(lines) < len(curve.table) - 1:
        return lines
    # An interpolated table has a segment for each two rows, some of them falling: fit lines to it.
    x = np.array([point.size_bytes for point in curve.table], dtype=np.float64)
    y = np.array([point.time_s for point in curve.table])
    fitted = find_lines(x, y, _TABLE_NOISE)
    return [(0 if i == 0 else int(x[f.first]), f.alpha_s, f.beta_s_per_byte) for i, f in enumerate(fitted)]
