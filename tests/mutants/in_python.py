"""Mutants of Python modules: the tree of a module's source, changed in one place when it is imported."""

from __future__ import annotations

import ast
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE], ast.LtE: [ast.Lt, ast.Gt], ast.Gt: [ast.GtE, ast.LtE], ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.Is: [ast.IsNot], ast.IsNot: [ast.Is],
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
STATEMENTS = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break)

Change = tuple[ast.stmt | ast.expr, str, Callable[[], object]]


def changes(tree: ast.AST) -> Iterator[Change]:
    """Each place of a tree that can be changed: the node, what is changed, and what changes it."""
    for node in _walk(tree):
        yield from _operators(node)
        yield from _others(node)
        for name in () if isinstance(node, ast.Lambda | ast.IfExp) else ("body", "orelse", "finalbody"):
            for i, one in enumerate(list(getattr(node, name, []))):
                if isinstance(one, STATEMENTS) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)):
                    gone = ast.copy_location(ast.Pass(), one)
                    yield one, f"without {_short(one)}", lambda node=node, name=name, i=i, gone=gone: _put(node, name, i, gone)


def _put(node: ast.AST, name: str, at: int, value: object) -> None:
    getattr(node, name)[at] = value


def _short(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that is run: no annotations, no decorators, nothing for type checkers only."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _operators(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), []):
            what = f"{type(node.ops[0]).__name__} to {other.__name__} in {_short(node)}"
            yield node, what, lambda node=node, other=other: _put(node, "ops", 0, other())
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        if not any(isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str) for side in sides):
            other = OPERATORS[type(node.op)]
            what = f"{type(node.op).__name__} to {other.__name__} in {_short(node)}"
            yield node, what, lambda node=node, other=other: setattr(node, "op", other())
    if isinstance(node, ast.BoolOp):
        for i, value in enumerate(node.values):
            yield value, f"without {_short(value)}", lambda node=node, i=i: node.values.pop(i)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        other = ast.UAdd() if isinstance(node.op, ast.USub) else None
        change = (lambda node=node: setattr(node, "op", ast.UAdd())) if other else lambda node=node: _negate(node, "operand")
        yield node, f"the opposite of {_short(node)}", change


def _negate(node: ast.AST, name: str) -> None:
    value = getattr(node, name)
    setattr(node, name, ast.copy_location(ast.UnaryOp(ast.Not(), value), value))


def _others(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        value = node.value
        if isinstance(value, bool):
            yield node, f"not {value}", lambda: setattr(node, "value", not value)
        elif isinstance(value, int):
            yield node, f"{value} one more", lambda: setattr(node, "value", value + 1)
        else:
            yield node, f"{value} halved", lambda: setattr(node, "value", value / 2 or 1.0)
    if isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield node.test, f"not {_short(node.test)}", lambda: _negate(node, "test")
    if isinstance(node, ast.Call):
        name = "id" if isinstance(node.func, ast.Name) else "attr"
        called = getattr(node.func, name, "")
        if called in NAMES:
            yield node, f"{called} to {NAMES[called]}", lambda: setattr(node.func, name, NAMES[called])


class Importer(importlib.machinery.SourceFileLoader):
    """Imports modules from their sources as they stand in the tree, one of them changed in one place."""

    def __init__(self, modules: Mapping[str, Path], changed: Path | None = None, change: int = -1) -> None:
        self._modules, self._changed, self._change = modules, changed, change

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self._modules:
            return None
        return importlib.util.spec_from_file_location(name, self._modules[name], loader=self)

    def get_filename(self, name: str | None = None) -> str:
        return str(self._modules[str(name)])

    def is_package(self, name: str) -> bool:
        return False

    def get_code(self, name: str) -> CodeType:
        path = self._modules[name]
        tree = ast.parse(path.read_text())
        if path == self._changed:
            list(changes(tree))[self._change][2]()
        return compile(ast.fix_missing_locations(tree), str(path), "exec")

    def install(self) -> None:
        sys.meta_path.insert(0, self)
