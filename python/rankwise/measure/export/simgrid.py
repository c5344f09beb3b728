"""Two hosts joined by one link as a platform that SimGrid reads, with SMPI's factors for the link's segments.

SMPI takes a message's time as latency · lat-factor + size / (bandwidth · bw-factor), the factors by size. The platform's
link has the alpha of the empty message and the beta of the largest, so that a segment's factors are its alpha over that
alpha and that beta over its own. A factor holds for sizes above its threshold, so a segment from 4096 B on stands at 4095.
"""

from __future__ import annotations

from xml.sax.saxutils import quoteattr

import numpy as np

from rankwise.errors import InputError
from rankwise.machine.link import Curve
from rankwise.machine.profile import Profile
from rankwise.models.fit import find_lines

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
