"""What is read of rankwise.h: ctypes has C's structs, and what is made of the header follows it."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rankwise.header import Header, boundary, fortran
from rankwise.launch.mpi import Mpi
from rankwise.library import number_of, struct

HEADER = Path(__file__).parents[2] / "include" / "rankwise" / "rankwise.h"


@pytest.fixture
def changed(tmp_path: Path) -> Callable[[str], Header]:
    """The header with more declarations."""

    def make(more: str) -> Header:
        path = tmp_path / "rankwise.h"
        path.write_text(HEADER.read_text(encoding="utf-8") + more, encoding="utf-8")
        return Header(path)

    return make


def test_structs_of_ctypes_are_those_of_c(mpi: Mpi, tmp_path: Path) -> None:
    header = Header(HEADER)
    names = [name for name in header.structs if name != "rankwise_visit"]
    places = [f"offsetof({name}, {member.name})" for name in names for member in header.structs[name]]
    asked = [*(f"sizeof({name})" for name in names), *places]
    shown = "".join(f'printf("%zu\\n", {one});' for one in asked)
    source = tmp_path / "sizes.c"
    source.write_text(f"#include <stdio.h>\n#include <rankwise/rankwise.h>\nint main(void) {{ {shown} return 0; }}\n")
    compiler = mpi.launcher_path.parent / "mpicc_abi"
    subprocess.run([compiler, "-I", HEADER.parents[1], source, "-o", tmp_path / "sizes"], check=True)
    said = [
        int(line) for line in subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout.split()
    ]
    ours = [getattr(struct(name), member.name).offset for name in names for member in header.structs[name]]
    assert said == [*(ctypes.sizeof(struct(name)) for name in names), *ours]


def test_a_new_function_calls_the_plan_and_has_its_twin(changed: Callable[[str], Header]) -> None:
    header = changed(
        "RANKWISE_API rankwise_result rankwise_halo_pause(rankwise_halo halo, int seconds);\n"
        "RANKWISE_API rankwise_result rankwise_stencil_draw(MPI_Comm comm, const int stencil[], MPI_Comm* made);\n"
        "RANKWISE_API rankwise_result rankwise_stencil_draw_f(rankwise_fint comm, const int stencil[], rankwise_fint* made);\n"
    )
    made = boundary(header)
    assert (
        "rankwise_halo_pause(rankwise_halo halo, int seconds) {\n  return guarded([&] { plan_of(halo).pause(seconds); });\n}"
        in made
    )
    assert "[&](MPI_Comm* made) { return rankwise_stencil_draw(comm_of(comm), stencil, made); }" in made
    assert "rankwise_result rankwise_stencil_draw(" not in made, "it is written by hand"
    module = fortran(header)
    assert "subroutine rankwise_halo_pause(halo, seconds, ierror)\n" in module
    assert 'bind(c, name="rankwise_stencil_draw_f")' in module.replace(" &\n    ", " ")
    assert 'name="rankwise_stencil_draw")' not in module, "Fortran has no MPI_Comm of C"


def test_what_cannot_be_read_is_named(changed: Callable[[str], Header]) -> None:
    with pytest.raises(ValueError, match="another form"):
        changed("RANKWISE_API int rankwise_odd(int first, 3);\n")


def test_names_of_enumerations_are_ours() -> None:
    assert number_of("algorithm", "three-step", "rankwise_halo_algorithm") == 6
    assert number_of("effort", "patient", "rankwise_fft_effort") == 2
    with pytest.raises(Exception, match="order is 'odd': take one of transposed, natural"):
        number_of("order", "odd", "rankwise_fft_order")
