"""What lies behind a profile's points: every sample of its launches, from the raw samples beside it."""

from __future__ import annotations

from pathlib import Path

from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.measure.cells import cells_of, timer_cost_s
from rankwise.measure.samples import read_campaigns
from rankwise.report.curves import Launches

_MOST_BYTES = 2**26  # of a file of samples that is read again


def launches_of(profile: Profile, folder: Path) -> Launches | None:
    """Return for each link class and size the samples (s) of each launch; None where they are not there, or are not whole."""
    name = profile.source.get("samples_file")
    path = folder / str(name)
    found: dict[str, dict[int, list[list[float]]]] = {}
    try:
        if not name or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        campaigns = [c for c in read_campaigns(path) if c.id == profile.source.get("campaign")]
        for campaign in campaigns:
            cost_s = timer_cost_s(campaign)
            for link in profile.links:
                for size, launches in cells_of(campaign, link, cost_s).get("send", {}).items():
                    found.setdefault(link, {})[size] = [[float(t) for t in times_s] for _, times_s in sorted(launches.items())]
    except (InputError, OSError, KeyError, ValueError, TypeError):
        return None  # the report is of the profile; samples that cannot be read only leave out what lies behind
    return found or None
