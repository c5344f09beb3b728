"""Models of raw samples or of a table, as a profile."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Literal

from rankwise.api.profiles import Machine
from rankwise.api.questions import LinkClass, Statistic, writable
from rankwise.errors import InputError
from rankwise.machine.profile import Profile
from rankwise.questions import Options, option


@dataclass(frozen=True)
class Fitting(Options):
    """What is fitted, by which model, and where the profile goes."""

    samples: Path = option(
        MISSING, "Raw samples (what 'measure' keeps), or a CSV table as 'profile import' reads it.", "SAMPLES"
    )
    model: str = option("auto", "auto, hockney, piecewise, loggp, max-rate, or pchip: the table itself, joined smoothly.")
    statistic: Statistic = option("median", "What a table's row is: median, minimum, mean or smallest-20.")
    method: Literal["regression", "table"] = option(
        "regression", "Piecewise by regression (lines and breaks from the data), or the table itself: table."
    )
    link: LinkClass = option("other-node", "The link class of a CSV table.")
    output: Path | None = option(None, "Write the profile here.", "--output", "-o", check=writable)
    force: bool = option(False, "Write over a profile that has what the new one lacks.", "--force")


def fit(asked: Fitting) -> Machine:
    """Fit all link models, choose one of each link, and write the profile where one is wanted.

    Raises InputError for what cannot be fitted, and for an output that would lose the samples or a figure.
    """
    from rankwise.measure.fitting import fit_table
    from rankwise.measure.profiles import profile_of_samples

    samples, output = asked.samples, asked.output
    if output is not None and output.exists() and samples.exists() and output.samefile(samples):
        raise InputError(f"--output {output} holds the samples: name another file, they would be lost")
    if samples.suffix.lower() == ".csv":
        profile = fit_table(samples, asked.link, asked.model, asked.method)
    else:
        profile = profile_of_samples(samples, asked.statistic, asked.model, asked.method)
    if output is not None:
        if output.exists() and not asked.force and (lost := Profile.load(output).lost_in(profile)):
            raise InputError(f"{output} has what the new profile lacks ({', '.join(lost)}): give another --output, or --force")
        profile.save(output)
    return Machine(profile, output or samples)
