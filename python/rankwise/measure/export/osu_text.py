"""The send curve of one link as text like osu_latency's, for programs that read that."""

from __future__ import annotations

from rankwise.machine.profile import Profile


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
