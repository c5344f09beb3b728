"""rankwise: how fast a program's communication can be on a machine, why, and what to change."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankwise.fft import Fft as Fft
    from rankwise.halo import Halo as Halo
    from rankwise.halo import halo_array as halo_array

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Load what needs numpy only where it is used."""
    if name == "Fft":
        import rankwise.fft

        return rankwise.fft.Fft
    if name in ("Halo", "halo_array"):
        import rankwise.halo

        return getattr(rankwise.halo, name)
    raise AttributeError(f"module 'rankwise' has no attribute {name!r}")
