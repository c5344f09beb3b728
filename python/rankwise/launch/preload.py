"""Programs run as they are, with librankwise_preload.so loaded: what they need in their environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rankwise.errors import UnusableEnvironmentError

# What the library and the mappings read (docs/mapping-in-mpi.md); launchers that forward only what they are told must know.
VARIABLES = (
    "RANKWISE_MAPPING", "RANKWISE_STENCIL", "RANKWISE_EFFORT", "RANKWISE_VERBOSE", "RANKWISE_GRAPHS", "RANKWISE_NEIGHBOR",
)  # fmt: skip
NEIGHBOR_MODES = ("off", "check", "auto", "always")  # of RANKWISE_NEIGHBOR (docs/halo.md)


def preload_libraries() -> list[Path]:
    """Return the libraries to load: those installed with us, and before them one for RANKWISE_MPI=system.

    Each acts only in programs of the MPI that it was built for. Raises UnusableEnvironmentError where there is none.
    """
    from rankwise.launch.mpi import package_folder, system_compiler

    libraries = sorted((package_folder() / "lib").glob("librankwise_preload*.so"))
    if os.environ.get("RANKWISE_MPI") == "system":
        from rankwise.launch.build import build_preload

        libraries.insert(0, build_preload(system_compiler()))
    if not libraries:
        raise UnusableEnvironmentError(
            f"librankwise_preload.so is not installed ({package_folder() / 'lib'}): reinstall rankwise, or set "
            "RANKWISE_MPI=system"
        )
    return libraries


def preload_environment(options: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of a preloaded program; ``options``: values of ``VARIABLES``, None as the user has it."""
    environment = dict(os.environ)
    environment.update({name: value for name, value in options.items() if value is not None})
    libraries = [str(path) for path in preload_libraries()]
    if environment.get("LD_PRELOAD"):
        libraries.append(environment["LD_PRELOAD"])
    environment["LD_PRELOAD"] = ":".join(libraries)
    # Open MPI takes to other hosts only what it is told to; MPICH and Slurm take everything.
    told = [name for name in ("LD_PRELOAD", *VARIABLES) if name in environment]
    listed = environment.get("OMPI_MCA_mca_base_env_list", "")
    environment["OMPI_MCA_mca_base_env_list"] = ";".join([*filter(None, [listed]), *told])
    return environment
