"""How the rates of 3-D FFTs are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwise.cli.table import Table
from rankwise.units import format_bandwidth, format_size

if TYPE_CHECKING:
    from rankwise.machine.fft_rates import FftRates


def show_rates(rates: FftRates) -> None:
    """Print the FFT rates of a profile."""
    table = Table("ranks", "triad a rank", "n", "array a rank", "local FFTs", "shuffle", "exchange")
    for of_ranks in rates.rates:
        for i, point in enumerate(of_ranks.points):
            table.add_row(
                f"{of_ranks.ranks}{' (share cores)' if of_ranks.oversubscribed else ''}" if i == 0 else "",
                format_bandwidth(of_ranks.triad_bytes_per_s) if i == 0 else "",
                str(point.n),
                format_size(round(point.bytes_per_rank)),
                f"{point.flop_per_s / 1e9:.3g} Gflop/s",
                *(
                    "–" if rate is None else format_bandwidth(rate)
                    for rate in (point.shuffle_bytes_per_s, point.exchange_bytes_per_s)
                ),
            )
    table.show()
    for counted in rates.counted:
        print(
            f"A = {counted.a:.3g} words a point for {counted.lines} FFT(s) of {counted.n} points, "
            f"{format_size(counted.cache_bytes)} cache ({counted.method})"
        )
    print(f"local FFTs: {rates.library}; rates are those of one rank, all ranks busy")
