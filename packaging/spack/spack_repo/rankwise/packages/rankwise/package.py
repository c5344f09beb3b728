"""Spack recipe (Spack 1.0 and later): `spack repo add packaging/spack/spack_repo/rankwise && spack install rankwise`.

`make release` writes a copy for the release's tarball into dist/.
"""

import os

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage


class Rankwise(CMakePackage):
    """Communication of process grids on clusters: neighbour exchanges, mappings of ranks to nodes, and an MPI_Cart_create
    that reorders."""

    # The clone that this recipe lies in.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 6))

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("fortran", default=True, description="Build the Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("googletest", type="test")
    depends_on("mpi")

    def cmake_args(self):
        return [
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
            self.define("RANKWISE_PYTHON", False),
            self.define("RANKWISE_TESTS", self.run_tests),
            self.define_from_variant("RANKWISE_FORTRAN", "fortran"),
        ]
