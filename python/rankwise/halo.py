"""Halos of numpy arrays: what neighbours own around a rank's own elements, brought by one message a partner.

    from mpi4py import MPI
    import rankwise

    cart = MPI.COMM_WORLD.Create_cart(MPI.Compute_dims(MPI.COMM_WORLD.size, 3), periods=[True] * 3)
    halo = rankwise.Halo(cart, [u, v], width=1)   # u, v: arrays with one more element on every side
    halo.exchange()

The library behind it (docs/halo.md) is built for the MPI that mpi4py has loaded, on first use.
"""

from __future__ import annotations

import ctypes
import math
import os
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from rankwise.errors import InputError
from rankwise.library import Plan, call, load_library, number_of, options, struct

_MOST_AXES = 6


def halo_array(shape: int | Sequence[int], dtype: Any = float) -> Any:
    """Return an array of zeros whose halo the ranks of a node read straight from each other, in place of messages.

    Needs mpi4py (for the MPI that the library is built for), but is not collective. The memory lives as long as the array and
    its views. With it, a halo is complete when the partners of the node have come to wait, too.
    """
    library = load_library()
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    memory = ctypes.c_void_p()
    call(library, "halo_alloc", size, ctypes.byref(memory))
    buffer = (ctypes.c_char * max(size, 1)).from_address(memory.value or 0)
    weakref.finalize(buffer, library.rankwise_halo_free, ctypes.byref(memory)).atexit = False
    return np.frombuffer(buffer, dtype=kind, count=math.prod(shape)).reshape(shape)


class Halo(Plan):
    """The halo of one or more arrays on a Cartesian communicator of mpi4py; making it is collective.

    arrays: numpy arrays that hold the rank's own elements with the halo around them; the first axes are the grid's, further
    ones (components) have no halo. Any strides. Arrays of `halo_array` are read straight from memory. width: elements of the
    halo on each side; an integer, or one an axis, or (lower, upper) an axis. corners: edges and corners, too. algorithm:
    "auto", "direct", "staged", "persistent", "window", "two-step", "three-step" or "leader". exchanges: about how many will
    be made; auto tries its candidates in one of a hundred of these (0: never). overlap: elements that neighbours both own,
    one number an axis (points on the face between two boxes: 1).

    Raises InputError, on all ranks, for arguments that have no meaning or do not fit together, and UnusableEnvironmentError
    where the library cannot be built for the MPI of mpi4py.
    """

    def __init__(
        self, comm: Any, arrays: Sequence[Any], *, width: Any = 1, corners: bool = True, algorithm: str = "auto",
        overlap: int | Sequence[int] = 0, exchanges: int = 4000,
    ) -> None:  # fmt: skip
        number = number_of("algorithm", algorithm, "rankwise_halo_algorithm")
        super().__init__(comm, "halo")
        axes = comm.Get_dim()
        self._widths = _widths(width, axes)
        self._overlap = [overlap] * axes if isinstance(overlap, int) else list(overlap)
        self._fields = self._describe(arrays)
        asked = options("rankwise_halo_options", algorithm=number, corners=int(corners), exchanges=exchanges)
        for axis, (lower, upper) in enumerate(self._widths):
            asked.lower[axis], asked.upper[axis] = lower, upper
        self._call("create_f", comm.py2f(), len(self._fields), self._fields, ctypes.byref(asked), ctypes.byref(self._handle))

    def start(self, arrays: Sequence[Any] | None = None, *, active: Sequence[bool] | None = None) -> None:
        """Start to bring the halo here. arrays: others of the same shapes from now on; active: those that move now."""
        self._call("start", *self._arguments(arrays, active))

    def test(self) -> bool:
        """Go on as far as it goes without waiting; True when the halo is here."""
        return self._test()

    def wait(self) -> None:
        """Complete what was started."""
        self._call("wait", self._handle)

    def exchange(self, arrays: Sequence[Any] | None = None, *, active: Sequence[bool] | None = None) -> None:
        """Bring the halo here: start and wait."""
        self.start(arrays, active=active)
        self.wait()

    def reduce(self, op: Any = None, arrays: Sequence[Any] | None = None, *, active: Sequence[bool] | None = None) -> None:
        """Send the halo back and combine it with its owners' elements by a commutative operation of mpi4py (MPI.SUM)."""
        from mpi4py import MPI

        kinds = {array.dtype.char for array in (self._arrays if arrays is None else arrays)}
        if len(kinds) != 1:
            raise InputError("arrays of different types cannot be reduced together: give those of one type")
        kind = MPI._typedict.get(next(iter(kinds)))
        if kind is None:
            raise InputError(f"MPI has no type for numpy's {next(iter(kinds))!r}: use a type such as float64")
        operation = MPI.SUM if op is None else op
        self._call("reduce_start_f", *self._arguments(arrays, active), kind.py2f(), operation.py2f())
        self.wait()

    def __enter__(self) -> Halo:
        """Start; what stands inside `with` runs while the messages are under way."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.wait()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the pattern, who sends how much to whom, as JSON; collective."""
        self._call("save", self._handle, os.fsencode(path))

    def _arguments(self, arrays: Sequence[Any] | None, active: Sequence[bool] | None) -> tuple[Any, ...]:
        if arrays is not None:
            self._fields = self._describe(arrays)
        flags = None if active is None else (ctypes.c_int * len(self._fields))(*map(int, active))
        return self._handle, len(self._fields), self._fields, flags

    def _describe(self, arrays: Sequence[Any]) -> Any:
        if isinstance(arrays, np.ndarray):
            raise InputError("arrays is one array: give a list of arrays, as in Halo(comm, [u])")
        kind = struct("rankwise_field")
        fields = (kind * len(arrays))()
        for number, array in enumerate(arrays):
            if not isinstance(array, np.ndarray):
                raise InputError(f"arrays[{number}] is no numpy array: arrays in a device's memory are not served yet")
            if array.ndim > _MOST_AXES or not array.flags.writeable:
                raise InputError(f"arrays[{number}] has more than {_MOST_AXES} axes or cannot be written to")
            field = fields[number]
            field.struct_size, field.element_bytes, field.ndims = ctypes.sizeof(kind), array.itemsize, array.ndim
            address = array.__array_interface__["data"][0]
            for axis in range(array.ndim):
                lower, upper = self._widths[axis] if axis < len(self._widths) else (0, 0)
                field.extent[axis] = array.shape[axis] - lower - upper
                field.stride[axis] = array.strides[axis]
                field.overlap[axis] = self._overlap[axis] if axis < len(self._widths) else 0
                address += lower * array.strides[axis]
            field.data = address
        self._arrays = list(arrays)  # they live as long as the plan knows them
        return fields


def _widths(width: Any, axes: int) -> list[tuple[int, int]]:
    """Return (lower, upper) of every axis of the grid."""
    each = [width] * axes if isinstance(width, int) else list(width)
    if len(each) != axes:
        raise InputError(f"width has {len(each)} entries, but the communicator's grid {axes} axes: give one an axis")
    return [(one, one) if isinstance(one, int) else (int(one[0]), int(one[1])) for one in each]
