"""Mutants of C++ sources: one copy of each file in which every mutant can be chosen when the program starts (mutant.hpp)."""

from __future__ import annotations

import functools
import re
import subprocess
from collections import defaultdict
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, TypeKind

FUNCTIONS = {
    "+": "plus", "-": "minus", "*": "multiplies", "/": "divides", "%": "modulus",
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal_to", "!=": "not_equal_to",
}  # fmt: skip
OTHERS = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="],
}  # fmt: skip
STATEMENTS = {
    CursorKind.CALL_EXPR, CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.UNARY_OPERATOR,
    CursorKind.UNEXPOSED_EXPR, CursorKind.CXX_THROW_EXPR,
}  # fmt: skip
JUMPS = {CursorKind.CONTINUE_STMT, CursorKind.BREAK_STMT, CursorKind.RETURN_STMT}
BODIES = {CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.CXX_FOR_RANGE_STMT, CursorKind.WHILE_STMT}
LEFT_OUT = {CursorKind.STATIC_ASSERT, CursorKind.ENUM_DECL, CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPEDEF_DECL}
NUMBERS = {getattr(TypeKind, name) for name in (
    "BOOL", "INT", "UINT", "LONG", "ULONG", "LONGLONG", "ULONGLONG", "SHORT", "USHORT", "UCHAR", "SCHAR", "FLOAT", "DOUBLE"
)}  # fmt: skip
COMPARED = NUMBERS | {TypeKind.ENUM, TypeKind.POINTER, TypeKind.NULLPTR}


@functools.cache
def arguments(source_root: Path) -> list[str]:
    """What the compiler is told. libclang comes without its own headers: GCC's do as well."""
    headers = subprocess.run(["c++", "-print-file-name=include"], capture_output=True, text=True, check=True).stdout.strip()
    return ["-x", "c++", "-std=c++20", f"-I{source_root}", "-isystem", headers]


class Copy:
    """A source, where it is changed, and what each change is called."""

    def __init__(self, path: Path, source_root: Path, first: int) -> None:
        self.path, self.text, self.first = path, path.read_bytes(), first
        self.changes: list[tuple[int, str]] = []  # line and name of each mutant, from number `first` on
        self._wrapped: list[tuple[range, int, int, str, str]] = []  # by which mutants; from, to, and the text around it
        self._replaced: list[tuple[range, int, int, str]] = []
        unit = TranslationUnit.from_source(str(path), arguments(source_root), index=Index.create())
        wrong = [str(d) for d in unit.diagnostics if d.severity >= d.Error]
        if wrong:
            raise SystemExit("\n".join(wrong))
        for child in unit.cursor.get_children():
            if child.location.file and child.location.file.name == str(path):
                self._visit(child, unit.cursor)

    def render(self, chosen: set[int]) -> bytes:
        """Return the source with some of its mutants."""
        before, after = defaultdict[int, str](str), defaultdict[int, str](str)
        for numbers, start, end, opening, closing in self._wrapped:
            if chosen.intersection(numbers):
                before[start] += opening
                after[end] = closing + after[end]
        wanted = (one for one in self._replaced if not one[0] or chosen.intersection(one[0]))
        replaced = {start: (end, text) for _, start, end, text in wanted}
        parts, at = [b'#include "mutant.hpp"\n'], 0
        for place in sorted({*before, *after, *replaced}):
            parts += [self.text[at:place], after[place].encode(), before[place].encode()]
            at, text = replaced.get(place, (place, ""))
            parts.append(text.encode())
        return b"".join([*parts, self.text[at:]])

    def _new(self, cursor: Cursor, what: str) -> int:
        self.changes.append((cursor.extent.start.line, what))
        return self.first + len(self.changes) - 1

    def _of(self, cursor: Cursor) -> str:
        return self.text[cursor.extent.start.offset : cursor.extent.end.offset].decode()

    def _wrap(self, number: int, cursor: Cursor, before: str, after: str = ")", count: int = 1) -> None:
        extent = cursor.extent
        self._wrapped.append((range(number, number + count), extent.start.offset, extent.end.offset, before, after))

    def _replace(self, number: int, start: int, end: int, text: str, count: int = 1) -> None:
        self._replaced.append((range(number, number + count), start, end, text))

    def _is_argument(self, cursor: Cursor, parent: Cursor) -> bool:
        """Tell whether a constant is a template's argument or an array's size."""
        if parent.kind == CursorKind.BINARY_OPERATOR:
            return False
        before = self.text[: cursor.extent.start.offset].rstrip()[-1:]
        after = self.text[cursor.extent.end.offset :].lstrip()[:1]
        in_declaration = parent.kind in (CursorKind.VAR_DECL, CursorKind.FIELD_DECL)
        return before == b"<" or after == b">" or (before == b"[" and in_declaration)

    def _visit(self, cursor: Cursor, parent: Cursor) -> None:
        kind, children = cursor.kind, list(cursor.get_children())
        place = cursor.extent.start.file  # of default arguments: a header
        if kind in LEFT_OUT or place is None or place.name != str(self.path) or not self._is_run_time(cursor):
            return
        for change in (self._operator, self._constant, self._member, self._call, self._condition):
            change(cursor, parent, children)
        if kind == CursorKind.COMPOUND_STMT:
            self._statements(children)
        elif kind in BODIES:
            first = 1 if children[0].kind.is_expression() else 2  # after a declaration the condition
            bodies = children[first:] if kind == CursorKind.IF_STMT else children[-1:]
            self._statements(bodies, jumps=len(bodies) == 1)
        constant_first = kind == CursorKind.CASE_STMT or self._is_if_constexpr(cursor)
        for child in children[1 if constant_first else 0 :]:
            self._visit(child, cursor)

    def _is_if_constexpr(self, cursor: Cursor) -> bool:
        return cursor.kind == CursorKind.IF_STMT and re.match(r"if\s+constexpr", self._of(cursor)) is not None

    def _is_run_time(self, cursor: Cursor) -> bool:
        """Tell whether what is declared is not needed by the compiler; numbers that need not be constants become none."""
        if not cursor.kind.is_declaration():
            return True
        start = cursor.extent.start.offset
        head = self.text[start : cursor.location.offset].decode()
        found = re.search(r"\b(static\s+)?(constexpr|consteval)\b", head)
        if not found:
            return True
        of_class = cursor.semantic_parent.kind in (CursorKind.STRUCT_DECL, CursorKind.CLASS_DECL)
        if cursor.kind != CursorKind.VAR_DECL or of_class or cursor.type.get_canonical().kind not in NUMBERS:
            return False
        self._replace(0, start + found.start(), start + found.end(), "static const", count=0)
        return True

    def _operator(self, cursor: Cursor, parent: Cursor, children: list[Cursor]) -> None:
        if cursor.kind == CursorKind.UNARY_OPERATOR and children[0].extent.start.offset > cursor.extent.start.offset:
            start, operand = cursor.extent.start.offset, children[0].extent.start.offset
            operator = self.text[start:operand].decode().strip()
            if operator == "!":
                number = self._new(cursor, "without !")
                self._wrap(number, cursor, f"mutant::negated({number}, ")
            elif operator == "-" and cursor.type.get_canonical().kind in NUMBERS:
                number = self._new(cursor, "without -")
                self._wrap(number, cursor, "")
                self._replace(number, start, operand, f"mutant::minus({number}, ")
        if cursor.kind == CursorKind.COMPOUND_ASSIGNMENT_OPERATOR and all(
            c.type.get_canonical().kind in NUMBERS for c in children
        ):
            operator = self._between(children)
            if operator in ("+=", "-="):
                number = self._new(cursor, f"{operator} to {'-=' if operator == '+=' else '+='}")
                self._wrap(number, children[1], f"mutant::opposite({number}, ")
        if cursor.kind != CursorKind.BINARY_OPERATOR:
            return
        operator = self._between(children)
        kinds = {child.type.get_canonical().kind for child in children}
        if operator in ("&&", "||"):
            for child in children:
                number = self._new(child, f"without {' '.join(self._of(child).split())}")
                opening = f"(mutant::is({number}) || (" if operator == "&&" else f"(!mutant::is({number}) && ("
                self._wrap(number, child, opening, "))")
        elif operator in OTHERS and kinds <= (NUMBERS if operator in "+-*/%" else COMPARED):
            numbers = [self._new(cursor, f"{operator} to {other}") for other in OTHERS[operator]]
            names = ", ".join(f"std::{FUNCTIONS[o]}<>" for o in (operator, *OTHERS[operator]))
            self._wrap(numbers[0], cursor, f"mutant::either<{names}>({numbers[0]}, ", count=len(numbers))
            self._replace(numbers[0], children[0].extent.end.offset, children[1].extent.start.offset, ", ", count=len(numbers))

    def _between(self, children: list[Cursor]) -> str:
        return self.text[children[0].extent.end.offset : children[1].extent.start.offset].decode().strip()

    def _constant(self, cursor: Cursor, parent: Cursor, children: list[Cursor]) -> None:
        kinds = {
            CursorKind.INTEGER_LITERAL: ("more", "{} one more"),
            CursorKind.FLOATING_LITERAL: ("half", "{} halved"),
            CursorKind.CXX_BOOL_LITERAL_EXPR: ("negated", "not {}"),
        }
        is_written = self._of(cursor)[:1] in "0123456789tf"  # a comparison by <=> has a 0 of its own
        if cursor.kind in kinds and is_written and not self._is_argument(cursor, parent):
            function, what = kinds[cursor.kind]
            number = self._new(cursor, what.format(self._of(cursor)))
            self._wrap(number, cursor, f"mutant::{function}({number}, ")

    def _member(self, cursor: Cursor, parent: Cursor, children: list[Cursor]) -> None:
        """Another member of the same type, another constant of the same enumeration."""
        wanted = {CursorKind.MEMBER_REF_EXPR: CursorKind.FIELD_DECL, CursorKind.DECL_REF_EXPR: CursorKind.ENUM_CONSTANT_DECL}
        found = cursor.referenced
        if found is None or wanted.get(cursor.kind) != found.kind or self._is_argument(cursor, parent):
            return
        text, name = self._of(cursor), found.spelling
        alike = [
            other.spelling
            for other in found.semantic_parent.get_children()
            if other.kind == found.kind and other.access_specifier == found.access_specifier
            and other.type.get_canonical().spelling == found.type.get_canonical().spelling
        ]  # fmt: skip
        if len(alike) > 1 and text.endswith(name):
            other = alike[(alike.index(name) + 1) % len(alike)]
            number = self._new(cursor, f"{' '.join(text.split())} to {other}")
            self._wrap(number, cursor, f"(mutant::is({number}) ? {text[: -len(name)]}{other} : ")

    def _call(self, cursor: Cursor, parent: Cursor, children: list[Cursor]) -> None:
        text = self._of(children[0]) if cursor.kind == CursorKind.CALL_EXPR and children else ""
        found = re.match(r"std::(min|max)\b(?!_)", text)
        if found:
            number = self._new(cursor, f"{found[0]} to {'min' if found[1] == 'max' else 'max'}")
            start = children[0].extent.start.offset
            self._replace(number, start, start + len(found[0]), f"mutant::swapped<{number}>::{found[1]}")

    def _condition(self, cursor: Cursor, parent: Cursor, children: list[Cursor]) -> None:
        if cursor.kind not in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR) or not children[0].kind.is_expression():
            return
        inner = children[0]
        while inner.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR) and len(list(inner.get_children())) == 1:
            inner = next(iter(inner.get_children()))
        if inner.kind not in (CursorKind.BINARY_OPERATOR, CursorKind.UNARY_OPERATOR, CursorKind.CXX_BOOL_LITERAL_EXPR):
            if not self._is_if_constexpr(cursor):
                number = self._new(children[0], f"not {' '.join(self._of(children[0]).split())}")
                self._wrap(number, children[0], f"mutant::negated({number}, ")

    def _statements(self, statements: list[Cursor], jumps: bool = True) -> None:
        for cursor in statements:
            is_jump = cursor.kind in JUMPS and jumps and not list(cursor.get_children())
            if not is_jump and cursor.kind not in STATEMENTS:
                continue
            number = self._new(cursor, f"without {' '.join(self._of(cursor).split())}")
            around = (f"if (!mutant::is({number})) ", "") if is_jump else (f"(mutant::is({number}) ? void() : void(", "))")
            self._wrap(number, cursor, *around)
