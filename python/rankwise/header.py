"""What rankwise.h declares, read from it: the library's C boundary and the Fortran interfaces are made of this at build time,
the declarations of ctypes at run time.

    python -I header.py HEADER FOLDER    # what CMake runs: writes boundary.inc and rankwise_c.f90, needs nothing but Python
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Variable:
    """A parameter or a member: `const rankwise_field fields[]`, `size_t* length`."""

    kind: str  # without const, with the stars that belong to it: "rankwise_field", "size_t*"
    name: str
    length: str | None  # between brackets: "" of a parameter, a number or a constant of a member; None: no array
    is_const: bool

    @classmethod
    def read(cls, text: str) -> Variable:
        """Read a declaration of one name."""
        found = re.fullmatch(r"(.*[ *])(\w+)(?:\[(\w*)\])?", " ".join(text.split()))
        if found is None:
            raise ValueError(f"rankwise.h has a declaration of another form: {text}")
        kind = found[1].replace("const ", "")
        kind = re.sub(r" *\*", "*", " ".join(kind.split()))
        return cls(kind, found[2], found[3], "const" in found[1])


@dataclass(frozen=True)
class Function:
    """A function of the library."""

    result: str
    name: str
    parameters: tuple[Variable, ...]
    declared: str  # its parameters as they stand there

    @property
    def has_mpi_types(self) -> bool:
        """Whether Fortran and Python call its twin instead, whose name ends in _f."""
        return any(parameter.kind.startswith("MPI_") for parameter in self.parameters)


class Header:
    """The constants, structs, handles and functions of a header."""

    def __init__(self, path: Path) -> None:
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        enumerations = {name: body for body, name in re.findall(r"typedef enum \w+ \{([^}]*)\} (\w+);", text)}
        self.choices = {
            name: {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)", body)} for name, body in enumerations.items()
        }
        self.constants = {name: int(value) for name, value in re.findall(r"#define (RANKWISE_\w+) (\d+)\n", text)}
        for choice in self.choices.values():
            self.constants |= choice
        self.structs = {
            name: tuple(Variable.read(member) for member in body.split(";") if member.strip())
            for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} (\w+);", text)
        }
        self.handles = set(re.findall(r"typedef struct \w+\* (\w+);", text))
        self.functions = {
            name: Function(
                result.strip(),
                name,
                tuple(Variable.read(one) for one in declared.split(",") if one.strip() != "void"),
                declared,
            )
            for result, name, declared in re.findall(r"RANKWISE_API (\w[\w ]*[* ])\s*(\w+)\(([^)]*)\);", text)
        }


# The C boundary --------------------------------------------------------------------------------------------------------

# The classes behind handles (src/api), by the functions that make them; what is asked of halos of lists only.
_PLANS = {
    "rankwise_exchange_create": "Plan", "rankwise_halo_create": "HaloBoxes", "rankwise_neighbors_create": "HaloLists",
    "rankwise_fft_create": "FftPlan",
}  # fmt: skip
_OF_LISTS = ("rankwise_neighbors_", "rankwise_halo_received")
_FROM_FORTRAN = {"MPI_Comm": "comm_of", "MPI_Datatype": "type_of", "MPI_Op": "op_of", "MPI_Info": "info_of"}


def boundary(header: Header) -> str:
    """Return the definitions of all functions that do nothing but call their plan, and of the twins for Fortran."""
    made = []
    for function in header.functions.values():
        call = _twin(header, function) if function.name.endswith("_f") else _call(header, function)
        if call is not None:
            made.append(f"{function.result} {function.name}({function.declared}) {{\n  return {call};\n}}\n")
    return "\n".join(made)


def _twin(header: Header, function: Function) -> str:
    """Return the call of the function whose MPI handles are those of C."""
    twin = header.functions[function.name.removesuffix("_f")]
    passed = [
        f"{_FROM_FORTRAN[parameter.kind]}({parameter.name})" if parameter.kind in _FROM_FORTRAN else parameter.name
        for parameter in twin.parameters
    ]
    if twin.parameters[-1].kind != "MPI_Comm*":
        return f"{twin.name}({', '.join(passed)})"
    return f"fill_fortran_comm({passed[-1]}, [&](MPI_Comm* made) {{ return {twin.name}({', '.join(passed[:-1])}, made); }})"


def _call(header: Header, function: Function) -> str | None:
    """Return the call of the plan's function of the same name; None where more is to be done."""
    names = [parameter.name for parameter in function.parameters]
    kinds = [parameter.kind for parameter in function.parameters]
    verb = function.name.split("_", 2)[-1]
    if function.name in _PLANS:
        *arguments, handle = names
        return f'create<{_PLANS[function.name]}>({handle}, "{handle}", {", ".join(arguments)})'
    if verb == "destroy":
        return f"destroy({names[0]})"
    if verb.endswith("init"):
        return f"guarded([&] {{ fill({names[0]}, {names[1]}, defaults<{kinds[0].rstrip('*')}>()); }})"
    if not kinds or kinds[0] not in header.handles:
        return None
    handle, *arguments = names
    plan = f'lists_of({handle}, "{function.name}")' if function.name.startswith(_OF_LISTS) else f"plan_of({handle})"
    if verb == "explain":
        return f"guarded([&] {{ give_text({plan}.explain(), {', '.join(arguments)}); }})"
    if kinds[-1] in ("int*", "size_t*") and sum(kind.endswith("*") for kind in kinds) == 1:
        *arguments, answer = arguments
        return f'ask({answer}, "{answer}", [&] {{ return {plan}.{verb}({", ".join(arguments)}); }})'
    return f"guarded([&] {{ {plan}.{verb}({', '.join(arguments)}); }})"


# The Fortran interfaces ------------------------------------------------------------------------------------------------

_FORTRAN = {
    "int": "integer(c_int)", "rankwise_result": "integer(c_int)", "rankwise_fint": "integer(c_int)",
    "size_t": "integer(c_size_t)", "int64_t": "integer(c_int64_t)", "ptrdiff_t": "integer(c_intptr_t)",
    "long long": "integer(c_long_long)", "double": "real(c_double)",
    "char": "character(kind=c_char)", "rankwise_visit_function": "type(c_funptr)",
}  # fmt: skip


def fortran(header: Header) -> str:
    """Return a module with the constants, structs and functions, and with subroutines of what Fortran may call as it is."""
    lines = [
        "! Made from rankwise.h: its constants and structs, its functions under their names with _c behind them (those with _f",
        "! there as they are), and subroutines of what needs no more than that. Absent arguments are NULL.",
        "module rankwise_c",
        "use, intrinsic :: iso_c_binding",
        "implicit none",
        *(f"integer(c_int), parameter :: {name} = {value}" for name, value in header.constants.items()),
    ]
    for name, members in header.structs.items():
        is_filled = members[0].name == "struct_size"  # by _init; until then only this member must say that it is not
        lines += [f"type, bind(c) :: {name}"]
        lines += [_member(header, member, not is_filled or member is members[0]) for member in members]
        lines += ["end type"]
    functions = [function for function in header.functions.values() if not function.has_mpi_types]
    lines += ["interface", *(line for function in functions for line in _interface(header, function)), "end interface"]
    lines += ["contains", *(line for function in functions for line in _subroutine(header, function)), "end module", ""]
    wrapped = (textwrap.wrap(line, 125, break_long_words=False, break_on_hyphens=False) for line in lines[2:])
    return "\n".join([*lines[:2], *(" &\n    ".join(parts) for parts in wrapped), ""])


def _kind(header: Header, kind: str) -> str:
    """Return Fortran's type of a value."""
    if kind in header.handles or kind.endswith("*"):
        return "type(c_ptr)"
    return _FORTRAN.get(kind, f"type({kind})")


def _member(header: Header, member: Variable, starts: bool) -> str:
    kind = _kind(header, member.kind)
    initial = "c_null_ptr" if kind == "type(c_ptr)" else "0"
    return f"{kind} :: {member.name}{f'({member.length})' if member.length else ''}{f' = {initial}' if starts else ''}"


def _is_value(parameter: Variable) -> bool:
    return parameter.length is None and (not parameter.kind.endswith("*") or parameter.kind == "void*")


def _dummy(header: Header, parameter: Variable, more: str) -> str:
    """Return the declaration of an argument that is passed by its address."""
    is_string = parameter.kind == "char*"
    kind = _kind(header, parameter.kind if parameter.length is not None else parameter.kind[:-1])
    way = "in" if parameter.is_const else "inout"
    return f"{kind}, intent({way}){more} :: {parameter.name}{'(*)' if is_string or parameter.length is not None else ''}"


def _interface(header: Header, function: Function) -> list[str]:
    """Return the interface of a C function."""
    name = function.name if function.name.endswith("_f") else f"{function.name}_c"
    arguments = ", ".join(parameter.name for parameter in function.parameters)
    lines = [f'function {name}({arguments}) result(code) bind(c, name="{function.name}")', "import"]
    for parameter in function.parameters:
        if _is_value(parameter):
            lines.append(f"{_kind(header, parameter.kind)}, value :: {parameter.name}")
        else:
            lines.append(_dummy(header, parameter, ", optional"))
    return [*lines, f"{_kind(header, function.result)} :: code", "end function"]


def _subroutine(header: Header, function: Function) -> list[str]:
    """Return the subroutine that gives a function's result in its last argument; [] where Fortran wants other arguments."""
    if function.name.endswith("_init"):
        struct = function.parameters[0]
        return [
            f"subroutine {function.name.removesuffix('init')}default({struct.name})",
            _dummy(header, struct, ""),
            "integer :: ierror",
            f"ierror = {function.name}_c({struct.name}, int(storage_size({struct.name}) / 8, c_size_t))",
            "end subroutine",
        ]
    numbers = {"int", "size_t", "int64_t", "void*", *header.handles}
    addresses = {f"{kind}*" for kind in numbers}
    simple = all(
        parameter.kind in header.structs if parameter.length is not None
        else parameter.kind in addresses or (parameter.kind in numbers and parameter.kind != "void*")
        for parameter in function.parameters
    )  # fmt: skip
    if function.name.endswith("_f") or function.result != "rankwise_result" or not simple:
        return []
    names = [parameter.name for parameter in function.parameters]
    lines = [f"subroutine {function.name}({', '.join([*names, 'ierror'])})"]
    for parameter in function.parameters:
        if parameter.name == "done":
            lines += ["logical, intent(out) :: done", "integer(c_int) :: flag"]
        elif _is_value(parameter):
            lines.append(f"{_kind(header, parameter.kind)}, intent(in) :: {parameter.name}")
        else:
            lines.append(_dummy(header, parameter, ""))
    lines.append("integer, intent(out) :: ierror")
    passed = ", ".join("flag" if name == "done" else name for name in names)
    call = f"ierror = {function.name}_c({passed})"
    return [*lines, *(["flag = 0", call, "done = flag /= 0"] if "done" in names else [call]), "end subroutine"]


def write(header: Path, folder: Path) -> None:
    """Write what is made of a header at build time; what is there already stays as old as it is."""
    read = Header(header)
    for name, text in (("boundary.inc", boundary(read)), ("rankwise_c.f90", fortran(read))):
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
