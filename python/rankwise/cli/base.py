"""What all verbs share: the application, the help that starts with an example, and common options."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from rankwise.cli.terminal import shown
from rankwise.cli.verbs import GROUPS, SAYS
from rankwise.errors import EXIT_UNUSABLE
from rankwise.files import drawable, json_text, writable
from rankwise.progress import tell
from rankwise.questions import Options, words_of

if TYPE_CHECKING:
    from rankwise.api.results import Result
    from rankwise.blocks import Block

__all__ = ["Json", "app", "command_tree", "drawable", "flattened", "group", "print_json", "show", "tell", "verb", "writable"]

Verb = TypeVar("Verb", bound=Callable[..., Any])


def _flag(name: str, help: str, callback: Callable[..., None], hidden: bool = False) -> TyperOption:
    """Return an option that does something as it is read, and leaves nothing behind; ``hidden``: one that shows help."""
    return TyperOption(
        param_decls=[name], is_flag=True, expose_value=False, is_eager=hidden, help=help, callback=callback, hidden=hidden,
        required=False,
    )  # fmt: skip


def _show_help(context: Any, option: Any, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        print(shown(context.command.help_text(context, "-h" in option.opts)))
        context.exit()


class _Helped:
    """A command with two helps: ``-h``, what most people need of it, and ``--help``, all of it."""

    example = ""  # commands that run as they stand, one a line
    _HELPS = tuple(_flag(name, "Show help and exit.", _show_help, hidden=True) for name in ("-h", "--help"))

    def get_help_option(self, ctx: Any) -> None:
        """Return no option of click's own."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [*self.params, *self._HELPS]  # type: ignore[attr-defined]

    def help_text(self, ctx: Any, brief: bool) -> str:
        """Return the help: ``brief``, one that fits on a screen, or all of it."""
        from rankwise.cli import layout

        return (layout.brief if brief else layout.page)(self, ctx)


class _Group(_Helped, TyperGroup):
    """Verbs; without any word it shows its help."""

    default: str | None = None  # which verb is meant where options follow at once, or nothing
    title = "COMMAND"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.default is None:
            return super().parse_args(ctx, args or ["-h"])
        return super().parse_args(ctx, self.with_verb(args))

    def with_verb(self, args: list[str]) -> list[str]:
        """Return words that begin with a verb of a group with a default: one that stands after options, or the default."""
        if self.default is None or (args and not args[0].startswith("-")):
            return args
        flags = {
            name
            for each in self.commands.values()
            for option in each.params
            if getattr(option, "is_flag", False)
            for name in option.opts
        }
        takes_words = any(param.param_type_name == "argument" for param in self.commands[self.default].params)
        for at, word in enumerate([] if takes_words else args):
            before = args[at - 1]
            whole = before in {*flags, "-h", "--help"} or "=" in before or re.match(r"-\w.", before)
            if word in self.commands and (whole or not before.startswith("-")):
                return [word, *args[:at], *args[at + 1 :]]
        return [self.default, *args]


class _Root(_Group):
    """What rankwise is for, how to begin, and the verbs that most people need, by group."""

    def help_text(self, ctx: Any, brief: bool) -> str:
        formatter = ctx.make_formatter()
        formatter.write(f"{inspect.cleandoc(self.help or '')}\n\nUsage: rankwise COMMAND [OPTIONS]\n")
        for group, (listed, _) in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:<8}", SAYS[name]) for name in listed])
        return f"{formatter.getvalue()}{_BELOW_COMMANDS}"


_BELOW_COMMANDS = """
  rankwise COMMAND -h    options and examples
  rankwise help --all    the other commands (version: rankwise --version)
  rankwise help words    the terms on these screens
Exit codes: 0 done, 1 failed, 2 wrong input, 3 slower, 4 not possible here,
            5 inconclusive, 6 too disturbed"""


app = typer.Typer(name="rankwise", cls=_Root, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@cache
def command_tree() -> Any:
    """Return the commands of all verbs that are registered so far."""
    return typer.main.get_command(app)


Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]


def group(name: str, help: str, example: str, default: str | None = None, title: str = "COMMAND") -> typer.Typer:
    """Add a group of verbs, such as ``rankwise profile ...``; ``default`` is meant where options follow at once, or nothing.

    ``title`` stands over the list of its verbs.
    """
    kind = type("_GroupOfVerbs", (_Group,), {"default": default, "title": title, "example": _lines(example)})
    verbs = typer.Typer(name=name, help=help, cls=kind, rich_markup_mode=None)
    command_tree.cache_clear()
    app.add_typer(verbs)
    return verbs


def verb(
    name: str,
    example: str,
    under: typer.Typer = app,
    settings: dict[str, Any] | None = None,
    listed: str | None = None,
    hidden: bool = False,
) -> Callable[[Verb], Verb]:
    """Register a function as a verb whose help shows ``example`` (one command a line) after its first sentence.

    ``settings`` are those of click's context; ``listed`` is what lists say of it, where that is not its first sentence;
    ``hidden``: an old name, in no list.
    """

    class Command(_Helped, TyperCommand):
        def __init__(self, *args: Any, params: Sequence[Any] = (), **others: Any) -> None:
            tabular = any(param.name == "as_json" for param in params)
            own = {name for param in params for name in param.opts}
            added = [_switch(name, help) for name, help in _SWITCHES.items() if tabular and f"--{name}" not in own]
            super().__init__(*args, params=[*params, *added], **others)
            self.example = _lines(example)

        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            rest = super().parse_args(ctx, args)
            for param in self.params:
                value = ctx.params.get(param.name)
                if isinstance(value, int) and abs(value) > sys.maxsize:
                    raise typer.BadParameter(f"{value} is too large a number", ctx, param)
            return rest

    def register(function: Verb) -> Verb:
        told = inspect.cleandoc(function.__doc__ or "")
        made = under.command(name, cls=Command, context_settings=settings, help=told or None, short_help=listed, hidden=hidden)
        made(flattened(function, verb=name))
        command_tree.cache_clear()
        return function

    return register


def _lines(example: str) -> str:
    return "\n".join(line.strip() for line in example.strip().splitlines())


def flattened(
    function: Callable[..., Any],
    options: type[Options] | None = None,
    verb: str = "",
    without: Sequence[str] = (),
    **defaults: Any,
) -> Callable[..., Any]:
    """Return a function that takes the fields of its questions one by one.

    Questions are the parameters annotated as ``Options``; ``options``: what the first is, where that is known by now only.
    ``verb`` leaves out fields that are not for it, ``without`` names more of them, and parameters; ``defaults`` stand before
    those that are declared.
    """
    own_hints = get_type_hints(function, include_extras=True)
    questions: dict[str, type[Options]] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind = own_hints[parameter.name]
        if not parameters and not questions and options is not None:
            kind = options
        if not (isinstance(kind, type) and issubclass(kind, Options)):
            if parameter.name in without:
                continue
            default = defaults.get(parameter.name, parameter.default)
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
            continue
        questions[parameter.name] = kind
        hints = get_type_hints(kind)
        parameters += [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(name, _default(field)),
                annotation=Annotated[_as_text(hints[name]), _parameter(name, field)],
            )
            for name, field in _asked_by(kind, verb, without).items()
        ]  # fmt: skip
    if not questions:
        return function
    fields = {name: list(_asked_by(kind, verb, without)) for name, kind in questions.items()}
    parameters = list({parameter.name: parameter for parameter in reversed(parameters)}.values())[::-1]  # a question's before

    def call(**given: Any) -> Any:
        asked = {name: kind(**{field: given[field] for field in fields[name]}) for name, kind in questions.items()}
        taken = {field for names in fields.values() for field in names}
        return function(**asked, **{name: value for name, value in given.items() if name not in taken})

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__doc__, call.__module__ = function.__doc__, function.__module__
    return call


def _asked_by(kind: type[Options], verb: str, without: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a question that a verb takes."""
    return {
        name: field
        for name, field in kind.__dataclass_fields__.items()
        if name not in without and (not field.metadata["verbs"] or verb in field.metadata["verbs"])
    }


def _as_text(kind: Any) -> Any:
    """Return how an option is read: words as text, which the question itself checks."""
    if not words_of(kind):
        return kind
    return str if get_origin(kind) is Literal else str | None


def _default(field: Any) -> Any:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _parameter(name: str, field: Any) -> Any:
    """Return how a field is given: as an option, or, named in capitals, in its place."""
    told = field.metadata
    names, check = told["names"], told["check"]
    if names and not names[0].startswith("-"):
        return typer.Argument(metavar=names[0], help=told["help"], callback=check)
    option = names or ("--" + name.replace("_", "-"),)
    return typer.Option(*option, help=told["help"], callback=check, min=told["least"], metavar=told["metavar"])


_SWITCHES = {"wide": "Show all columns of tables, however wide.", "all": "Show all rows of tables, however many."}


def _switch(name: str, help: str) -> TyperOption:
    """Return an option of all verbs that may print tables: ``--wide`` or ``--all``."""

    def switch(context: Any, option: Any, value: bool) -> None:
        from rankwise.blocks import terminal

        getattr(terminal, f"show_{name}")(bool(value))

    return _flag(f"--{name}", help, switch)


_printed: list[bool] = []  # whether a verb has printed its JSON


def begin_printing() -> None:
    """Begin a command line: nothing is printed yet."""
    _printed.clear()


def has_printed() -> bool:
    """Whether this command line has printed its JSON."""
    return bool(_printed)


def print_json(value: object) -> None:
    """Print one JSON value on stdout."""
    _printed.append(True)
    print(json_text(value))


def write_plot(found: Result, plot: Path | None, said: str) -> None:
    """Write the picture of an answer where one is wanted, and say so; ``said`` stands before its path."""
    if plot is not None:
        found.plot().save(plot)
        tell(f"{said}{plot}")


def show(found: Result, as_json: bool, blocks: Iterable[Block] | None = None) -> None:
    """Render a result, the last step of every verb: its JSON, or its blocks (``blocks``: others than those of a notebook).

    Leaves with an exit code that says so where the measurement is too poor for the answer.
    """
    if as_json:
        print_json(found.to_dict())
    else:
        from rankwise.blocks import terminal

        terminal.show(found.rendered(blocks))
    if found.is_too_poor:
        raise typer.Exit(EXIT_UNUSABLE)
