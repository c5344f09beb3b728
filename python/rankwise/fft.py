"""3-D FFTs of numpy arrays that are divided among the ranks of an mpi4py communicator.

    from mpi4py import MPI
    import rankwise

    fft = rankwise.Fft(MPI.COMM_WORLD, (64, 64, 64), real=True)
    field, spectrum = fft.arrays()          # this rank's parts: fft.in_box and fft.out_box say which
    fft.forward(field, spectrum)
    fft.backward(spectrum, field, scale=1 / 64**3)

The library behind it (docs/fft.md) is built for the MPI that mpi4py has loaded, on first use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankwise.errors import InputError
from rankwise.library import Plan, number_of, options, struct


class Box(NamedTuple):
    """A rank's part: points lower[a] .. lower[a] + size[a] - 1 of axis a; a size of 0: none."""

    lower: tuple[int, int, int]
    size: tuple[int, int, int]

    @property
    def slices(self) -> tuple[slice, ...]:
        """The part as slices of the whole array."""
        return tuple(slice(low, low + size) for low, size in zip(self.lower, self.size, strict=True))


@dataclass(frozen=True)
class FftPlan:
    """How a transform is done.

    real: a real array, whose spectrum has shape[2] // 2 + 1 points on axis 2. precision: "double" or "single". batch: fields
    that every call transforms, the first axis of the arrays; None: one, without that axis. in_box, out_box: (lower, size) of
    this rank's part of array and spectrum, any that together cover all points once; None: as the plan likes it. order: of a
    spectrum without boxes, "transposed" or "natural" (divided as the array is, for twice the messages). grid: p1 x p2 ranks.
    method: "auto", "alltoall", "pairwise" or "node-aware" (one message from node to node). chunks: slices of a slab whose
    exchange is under way while the next ones are transformed; 1: none, 0: auto. together: fields of a batch whose blocks travel
    as one message; 1: each its own, 0: auto. in_flight: 2: while one group of these is exchanged the next one is transformed;
    1: one after the other, 0: auto. effort: "model" (quick to make), "trials" or "patient". in_place: array and spectrum are
    the same memory, which `arrays` gives.
    """

    real: bool = False
    precision: str = "double"
    batch: int | None = None
    in_box: Any = None
    out_box: Any = None
    order: str = "transposed"
    grid: Sequence[int] | None = None
    method: str = "auto"
    chunks: int = 0
    together: int = 0
    in_flight: int = 0
    effort: str = "trials"
    in_place: bool = False


class Fft(Plan):
    """The transform of an array of `shape` points on a communicator of mpi4py; making it is collective.

    ``plan`` says how, and what is named besides is instead of its own: ``Fft(comm, (64, 64, 64), real=True)``.

    Raises InputError, on all ranks, for arguments that have no meaning or do not fit together and where no FFT library is
    installed, and UnusableEnvironmentError where the library cannot be built for the MPI of mpi4py.
    """

    def __init__(self, comm: Any, shape: Sequence[int], plan: FftPlan | None = None, **ways: Any) -> None:
        try:
            asked = replace(plan or FftPlan(), **ways)
        except TypeError as error:
            raise TypeError(f"Fft: {str(error).removeprefix('FftPlan.__init__() ')}") from None
        real, batch, precision, grid, in_place = asked.real, asked.batch, asked.precision, asked.grid, asked.in_place
        if len(shape) != 3 or (grid is not None and len(grid) != 2):
            raise InputError(f"shape is {tuple(shape)}, grid {grid}: give the points of three axes, and two numbers of ranks")
        super().__init__(comm, "fft")
        self._under_way: tuple[Any, ...] = ()
        numbers = {
            name: number_of(name, getattr(asked, name), f"rankwise_fft_{name}")
            for name in ("precision", "order", "method", "effort")
        }
        given = options(
            "rankwise_fft_options", kind=int(real), in_place=int(in_place), batch=1 if batch is None else batch,
            grid=(0, 0) if grid is None else tuple(grid), chunks=asked.chunks, together=asked.together,
            in_flight=asked.in_flight, **numbers,
        )  # fmt: skip
        points = (ctypes.c_int64 * 3)(*shape)
        box_kind = struct("rankwise_fft_box")
        boxes = [
            None if box is None else ctypes.byref(box_kind(tuple(box[0]), tuple(box[1])))
            for box in (asked.in_box, asked.out_box)
        ]
        self._call("create_f", comm.py2f(), points, *boxes, ctypes.byref(given), ctypes.byref(self._handle))
        found: tuple[Any, Any] = (box_kind(), box_kind())
        self._call("boxes", self._handle, ctypes.byref(found[0]), ctypes.byref(found[1]))
        self.in_box, self.out_box = (Box(tuple(box.lower), tuple(box.size)) for box in found)
        elements = (ctypes.c_int64(), ctypes.c_int64())
        self._call("elements", self._handle, ctypes.byref(elements[0]), ctypes.byref(elements[1]))
        spectrum = np.dtype(np.complex128 if precision == "double" else np.complex64)
        kind = np.dtype(np.float64 if precision == "double" else np.float32) if real else spectrum
        padded = 2 * (self.in_box.size[2] // 2 + 1) if real and in_place and asked.in_box is None else self.in_box.size[2]
        self._in_place = in_place
        self._in = _Side(self.in_box.size, kind, padded, batch, elements[0].value)
        self._out = _Side(self.out_box.size, spectrum, self.out_box.size[2], batch, elements[1].value)

    def arrays(self) -> tuple[Any, Any]:
        """Return zeros for this rank's part of the array and of the spectrum: views of one memory where it is in place."""
        if not self._in_place:
            return self._in.view(np.zeros(self._in.bytes, np.uint8)), self._out.view(np.zeros(self._out.bytes, np.uint8))
        memory = np.zeros(max(self._in.bytes, self._out.bytes), np.uint8)
        return self._in.view(memory), self._out.view(memory)

    def forward(self, array: Any, spectrum: Any, *, scale: float = 1.0) -> None:
        """Transform the array (sum of f exp(-2 pi i k x / n), times scale) into the spectrum; collective."""
        self._transform("forward", array, spectrum, scale)

    def backward(self, spectrum: Any, array: Any, *, scale: float = 1.0) -> None:
        """Transform the spectrum (sum of f exp(2 pi i k x / n), times scale) into the array; collective."""
        self._transform("backward", array, spectrum, scale)

    def begin_forward(self, array: Any, spectrum: Any, *, scale: float = 1.0) -> None:
        """Start `forward` up to its first exchange; neither array is touched until `end`. Collective."""
        self._transform("begin 1", array, spectrum, scale)

    def begin_backward(self, spectrum: Any, array: Any, *, scale: float = 1.0) -> None:
        """Start `backward` likewise."""
        self._transform("begin 0", array, spectrum, scale)

    def test(self) -> bool:
        """Go on as far as it goes without waiting; True when all is done, after which `end` is called all the same."""
        return self._test()

    def end(self) -> None:
        """Complete what was begun."""
        self._call("end", self._handle)
        self._under_way = ()

    def _transform(self, what: str, array: Any, spectrum: Any, scale: float) -> None:
        call_name, _, direction = what.partition(" ")
        sides: list[tuple[int | None, int]] = []
        error = None
        for side, given, name in ((self._in, array, "array"), (self._out, spectrum, "spectrum")):
            try:
                sides.append(side.memory(given, name))
            except InputError as caught:
                error = caught
                sides.append((None, 0))  # the library tells the other ranks
        ahead = call_name == "forward" or direction == "1"
        (first, first_bytes), (second, second_bytes) = sides if ahead else reversed(sides)
        directions = [int(direction)] if direction else []
        try:
            self._call(call_name, self._handle, *directions, first, first_bytes, second, second_bytes, scale)
        finally:
            if error is not None:
                raise error
        self._under_way = (array, spectrum) if direction else ()


class _Side:
    """What this rank has of the array or of the spectrum."""

    def __init__(self, size: tuple[int, int, int], kind: np.dtype[Any], line: int, batch: int | None, elements: int) -> None:
        self.kind, self.bytes = kind, elements * kind.itemsize
        one = size[0] * size[1] * line
        stride = (elements - one) // (batch - 1) if batch is not None and batch > 1 else one
        first = () if batch is None else (batch,)
        self.shape = (*first, *size)
        steps = (*([stride] * len(first)), size[1] * line, line, 1)
        self.strides = tuple(step * kind.itemsize for step in steps)

    def view(self, memory: Any) -> Any:
        return np.ndarray(self.shape, self.kind, memory, strides=self.strides)

    def memory(self, array: Any, name: str) -> tuple[int, int]:
        """Return where an array lies and the bytes that are there. Raises InputError where it is not of this side."""
        if not isinstance(array, np.ndarray):
            raise InputError(f"{name} is no numpy array: give one of Fft.arrays()")
        if array.dtype != self.kind or array.shape != self.shape:
            raise InputError(
                f"{name} has shape {array.shape} and type {array.dtype}, but shape {self.shape} and type {self.kind} "
                "are needed: give one of Fft.arrays()"
            )
        moves = [step for step, length in zip(array.strides, self.shape, strict=True) if length > 1]
        wanted = [step for step, length in zip(self.strides, self.shape, strict=True) if length > 1]
        if array.size > 0 and moves != wanted:
            raise InputError(f"{name} has gaps or another order of its axes in memory: give one of Fft.arrays()")
        if not array.flags.writeable:
            raise InputError(f"{name} cannot be written to: give one of Fft.arrays()")
        start = array.__array_interface__["data"][0]
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return start, owner.__array_interface__["data"][0] + owner.nbytes - start
