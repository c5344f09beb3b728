"""Files that are written whole or not at all, and JSON Lines that only ever grow."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from rankwise.errors import InputError, unreadable

_LARGE = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{300}")  # what may be beyond any floating-point number
_HANDED = ("/dev/stdin", "/dev/fd/", "/proc/")  # what the shell hands us begins so
_PAGE_BYTES = 3 << 20  # the most that a page takes
_MOST_LINKS = 40  # on the way to a file, as Linux has it
MOST_DIGITS = 4300  # of a whole number, as Python has it


def require_folder(path: Path) -> None:
    """Raise InputError when a folder could not be written into, or made, before it costs anything to find out."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file: name a folder")
    _probe(path, next(folder for folder in (path, *path.absolute().parents) if folder.exists()), "name a folder of your own")


def make_folder(path: Path) -> list[Path]:
    """Make a folder that can be written into; return what was made for it, the innermost first. Raises InputError."""
    require_folder(path)
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): name a folder of your own") from None
    return missing


def require_output(path: Path) -> None:
    """Raise InputError when a file could not be written, before it costs anything to find out; a page takes some MB."""
    target = _target(path)
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{path} cannot be written (it is read-only): name another file, or make it writable")
    folder = next(folder for folder in target.parents if folder.exists())
    _probe(path, folder, "name a file in a folder of your own", _PAGE_BYTES if target.suffix == ".html" else 4096)


def writable(value: Path | None) -> Path | None:
    """Check a file that is written at the end when the question is read. Raises InputError."""
    if value is not None:
        require_output(value)
    return value


def require_picture(path: Path, option: str = "") -> Path:
    """Return a path that a picture can be written to. Raises InputError."""
    if path.suffix not in (".svg", ".html"):
        raise InputError(f"{option}{path} is no picture that can be drawn: give it the ending .svg or .html")
    return path


def drawable(value: Path | None) -> Path | None:
    """Check a file for a picture when the question is read. Raises InputError for another ending than .svg and .html."""
    return None if value is None else writable(require_picture(value, "--plot "))


def _probe(path: Path, folder: Path, mend: str, size_bytes: int = 4096) -> None:
    """Write a file in a folder that goes at once. Raises InputError."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, size_bytes)
    except OSError as error:
        room = "make room, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        raise InputError(f"{path} cannot be written ({error.strerror}): {room}{mend}") from None


def _target(path: Path) -> Path:
    """Return the file that a path leads to, links followed. Raises InputError where something else is there."""
    target = path if path.exists() and not (path.is_file() or path.is_dir()) else followed(path)
    if target.is_dir():
        raise InputError(f"{path} is a folder: name a file in it")
    if target.exists() and not target.is_file():
        raise InputError(f"{path} is no plain file (a device or a pipe): name a file")
    return target


def followed(path: Path) -> Path:
    """Return where a path leads, its links followed. Raises InputError.

    What is written must not go where somebody else wants it. As Linux does in /tmp, only those links are followed that are
    ours, root's, or of the owner of the folder that they lie in.
    """
    at, words, links = Path("/"), [*reversed(path.absolute().parts[1:])], 0
    while words:
        word = words.pop()
        if word == "..":
            at = at.parent
            continue
        try:
            about = (at / word).lstat()
            if not stat.S_ISLNK(about.st_mode):
                at /= word
                continue
            owner, link = at.stat().st_uid, os.readlink(at / word)
        except OSError:  # what is not there yet, or may not be seen, says so when it is opened
            at /= word
            continue
        if about.st_uid not in (os.geteuid(), 0, owner):
            raise InputError(f"{at / word} is a link that another user has put there, to {link}: name another file")
        links += 1
        if links > _MOST_LINKS:
            raise InputError(f"{path} is a link that leads nowhere: name a file")
        at = Path("/") if link.startswith("/") else at
        words += reversed([part for part in link.split("/") if part not in ("", ".")])
    return at


def opened_to_append(path: Path) -> io.FileIO:
    """Open a file to add to it, which is made where it is not there, and its folder. Raises OSError and InputError."""
    plain(path)
    target = path if str(path).startswith(_HANDED) else followed(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (os.O_NOFOLLOW if target is not path else 0)
    return io.FileIO(os.open(target, flags, 0o666), "ab+")


def own_folder(path: Path) -> None:
    """Make a folder that nobody else enters, or take one that is ours already. Raises OSError, and InputError for another's."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        about = path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            raise InputError(f"{path} is not a folder of yours: remove it, or name another file") from None
        path.chmod(0o700)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file (text as UTF-8) so that a reader sees the old content or the new, never a part; a link stays one.

    Raises OSError, and InputError where a folder, a device or a pipe is there.
    """
    path = _target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append_json_line(path: Path, value: object) -> None:
    """Add one JSON value as a line, in a folder that is made where need be; as append_json_lines does. Raises OSError."""
    append_json_lines(path, [value])


def append_json_lines(path: Path, values: Iterable[object]) -> None:
    """Add JSON values as lines: on the disk, all or none, and not amid another's, whoever else writes. Raises OSError."""
    lines = b"".join(json.dumps(value, allow_nan=False, separators=(",", ":")).encode() + b"\n" for value in values)
    with opened_to_append(path) as stream:
        locked(stream, wait=True)
        end = stream.seek(0, os.SEEK_END)
        if end:
            stream.seek(end - 1)
            lines = (b"" if stream.read(1) == b"\n" else b"\n") + lines  # what was cut off in mid-line stays a line of its own
        try:
            while lines:
                lines = lines[stream.write(lines) :]
            os.fsync(stream.fileno())
        except OSError as error:
            stream.truncate(end)  # a full disk
            raise OSError(error.errno, error.strerror, str(path)) from None


def lock(stream: IO[Any], path: Path) -> None:
    """Keep other sessions from writing to an open file until it is closed, or this process ends. Raises InputError."""
    if not locked(stream):
        who = _holder(os.fstat(stream.fileno()).st_ino)
        raise InputError(f"{path} is being written by {who}: wait for its end, or name another file with -o")


def locked(file: IO[Any] | int, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file until it is closed, or this process ends; False: another process holds the lock.

    A file system that has no locks, as some homes on NFS, grants each.
    """
    import fcntl

    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _holder(inode: int) -> str:
    """Say which process of this node holds the lock of a file."""
    try:
        for line in Path("/proc/locks").read_text(encoding="utf-8").splitlines():
            words = line.split()
            if "->" not in words and len(words) > 5 and words[5].rpartition(":")[2] == str(inode):
                return f"process {words[4]}"
    except OSError:
        pass
    return "another session"


def json_text(value: object) -> str:
    """Return a value as JSON that a person can read, too: indented, lists of plain values on one line.

    Raises ValueError for not-a-number and infinity, which JSON does not have.
    """
    return _json_text(value, "\n")


def _json_text(value: object, line: str) -> str:
    inner = line + " "
    if isinstance(value, dict) and value:
        items = (f"{json.dumps(str(key))}: {_json_text(item, inner)}" for key, item in value.items())
        return "{" + inner + f",{inner}".join(items) + line + "}"
    if isinstance(value, list | tuple) and any(isinstance(item, dict | list | tuple) for item in value):
        return "[" + inner + f",{inner}".join(_json_text(item, inner) for item in value) + line + "]"
    return json.dumps(value, allow_nan=False)


def write_json(path: Path, value: object) -> None:
    """Write one JSON value as a whole file; not-a-number is refused rather than written. Raises OSError."""
    write_whole(path, json_text(value) + "\n")


def plain(path: Path) -> Path:
    """Return a path that can be read, or added to, to its end: not a pipe, nor a device, but for what the shell hands us
    (``<(command)``, standard input). Raises OSError."""
    if not str(path).startswith(_HANDED):
        mode = path.stat().st_mode if path.exists() else 0
        if stat.S_ISFIFO(mode):
            raise OSError(errno.ESPIPE, "is a pipe", str(path))
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "is a device", str(path))
    return path


def read_text(path: Path, what: str, mend: str) -> str:
    """Read a text file; ``what`` and ``mend`` complete the message of the InputError that a bad file raises."""
    try:
        return plain(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{what} {path} {unreadable(error)}: {mend}") from None


_KINDS = {
    "a program": re.compile(rb"\x7fELF|#!"),
    "a record of a program": re.compile(rb"RWcomm\r\n"),
    "raw samples": re.compile(rb'\s*\{[^\n]*"record": ?"'),
    "a profile": re.compile(rb'\s*\{\s*"schema": ?\d+,\s*"(?:machine|created|links|source)"'),
}


def kind_of(path: Path) -> str:
    """Return what kind of rankwise's files, or program, a file is by how it begins; nothing where it is none or unreadable."""
    try:
        with path.open("rb") if path.is_file() else io.BytesIO() as stream:  # what comes from a pipe is read once only
            begin = stream.read(4096)
    except OSError:
        return ""
    return next((kind for kind, pattern in _KINDS.items() if pattern.match(begin)), "")


def read_json(path: Path, what: str, mend: str) -> Any:
    """Read a JSON file, as :func:`read_text` does."""
    text = read_text(path, what, mend)
    try:
        return load_json(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{what} {path} is not complete JSON (line {error.lineno}: {error.msg}): {mend}") from None
    except ValueError as error:
        raise InputError(f"{what} {path}: {error}: {mend}") from None


def load_json(text: str | bytes) -> Any:
    """Read one JSON value whose numbers are finite, as JSON has them. Raises ValueError."""
    if isinstance(text, bytes):
        text = text.decode()
    try:
        parse_float, parse_int = (_finite, _whole) if _LARGE.search(text) else (None, None)
        return json.loads(text, parse_constant=_no_number, parse_float=parse_float, parse_int=parse_int)
    except RecursionError:
        raise ValueError("values are nested too deeply") from None
    except _NoNumber as error:
        found = re.search(r'"([^"\\]{1,60})"\s*:[^"{}]*?' + re.escape(error.word), text)
        where = f"line {text.count(chr(10), 0, found.end()) + 1}, {found[1]}: " if found and "\n" in text.strip() else ""
        raise ValueError(f"{where or (f'{found[1]} holds ' if found else '')}{error.word:.40}, {error.why}") from None


class _NoNumber(Exception):
    def __init__(self, word: str, why: str = "which is not a finite number") -> None:
        self.word, self.why = word, why


def _no_number(word: str) -> float:
    raise _NoNumber(word)


def _finite(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _no_number(word)


def _whole(word: str) -> int:
    if len(word) > MOST_DIGITS:
        raise _NoNumber(word, f"a whole number of more than {MOST_DIGITS} digits")
    return int(word)
