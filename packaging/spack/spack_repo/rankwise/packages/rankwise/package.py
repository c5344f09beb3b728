# Copyright The rankwise developers. See LICENSE for details.
#
# SPDX-License-Identifier: BSD-3-Clause

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.python import PythonExtension, PythonPipBuilder

from spack.package import *


class Rankwise(CMakePackage, PythonExtension):
    """Measures, models, maps and explains the communication of MPI programs: the command
    rankwise, and a library of halo exchanges, FFTs and process mappings for C, C++ and Fortran."""

    homepage = "https://example.org/rankwise"
    url = "https://example.org/rankwise/rankwise-0.2.0.tar.gz"
    git = "https://example.org/rankwise/rankwise.git"

    maintainers("rankwise-developers")

    license("BSD-3-Clause", checked_by="rankwise-developers")

    version("main", branch="main")
    version("0.2.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    variant(
        "python", default=True, description="Install the command rankwise and the Python package"
    )
    variant("fortran", default=True, description="Build the Fortran modules")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("googletest", type="test")
    depends_on("mpi")

    with when("+python"):
        extends("python@3.11:")
        depends_on("py-pip", type="build")
        depends_on("py-scikit-build-core@0.10:", type="build")
        depends_on("py-nanobind@2.4:", type="build")
        # The tarball of a release has the script that it makes.
        depends_on("py-vl-convert-python@1.9:", type="build", when="@main")
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-highspy@1.8:", type=("build", "run"))
        depends_on("py-typer@0.19:0.28", type=("build", "run"))
        depends_on("py-rich@13:", type=("build", "run"))
        depends_on("py-jinja2@3.1.6:", type=("build", "run"))

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        env.set("RANKWISE_MPI", self.spec["mpi"].mpicxx)

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+python"):
            env.set("RANKWISE_MPI", self.spec["mpi"].mpicxx)

    def cmake_args(self):
        return [
            self.define("MPI_CXX_COMPILER", self.spec["mpi"].mpicxx),
            self.define("RANKWISE_PYTHON", False),
            self.define("RANKWISE_TESTS", self.run_tests),
            self.define_from_variant("RANKWISE_FORTRAN", "fortran"),
        ]

    @run_before("install")
    def install_python(self):
        # First: the library of the CMake build, with its SONAME, then takes the place of the
        # one that the wheel has.
        if self.spec.satisfies("+python"):
            with working_dir(self.stage.source_path):
                pip(*PythonPipBuilder.std_args(self), f"--prefix={self.prefix}", ".")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_command(self):
        if self.spec.satisfies("+python"):
            Executable(self.prefix.bin.rankwise)("--version")
