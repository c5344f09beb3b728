import errno
import json
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.errors import InputError
from rankwise.files import (
    append_json_line,
    json_text,
    lock,
    locked,
    own_folder,
    read_json,
    require_output,
    write_json,
    write_whole,
)
from rankwise.measure.samples import SamplesFile


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "profile.json"
    write_whole(path, "old")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_not_a_number_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Out of range|not JSON compliant"):
        write_json(tmp_path / "x.json", {"time_s": float("nan")})
    assert not (tmp_path / "x.json").exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"schema": 1, "lin', "not complete JSON"),
        (b"\xff\xfe", "cannot be read"),
        (b"[" * 100_000, "too deeply|not complete"),
        (b'{"size": ' + b"1" * 5000 + b"}", "more than 4300 digits"),
    ],
)
def test_an_unreadable_file_is_named_with_its_mend(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "machine.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_json(path, "profile", "measure again")
    assert str(path) in str(caught.value)
    assert "measure again" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_json(tmp_path / "none.json", "profile", "measure")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_JSON)
def test_json_reads_back(value: object) -> None:
    assert json.loads(json_text(value)) == value


def test_lists_of_plain_values_stay_on_one_line() -> None:
    assert json_text({"a": [1, 2], "b": [{"c": None}], "d": {}}) == (
        '{\n "a": [1, 2],\n "b": [\n  {\n   "c": null\n  }\n ],\n "d": {}\n}'
    )


def test_a_link_is_followed_and_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "new"


def test_what_is_no_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        tmp_path: "is a folder",
        tmp_path / "pipe": "no plain file",
        Path("/dev/full"): "no plain file",
        Path("/proc/x/y"): "cannot be written",
    }
    for path, why in cases.items():
        with pytest.raises(InputError, match=why):
            require_output(path)
    with pytest.raises(InputError, match="nowhere|cannot be written"):
        require_output(tmp_path / "loop")
    require_output(tmp_path / "not" / "there" / "yet.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["loop", "pipe"]
    with pytest.raises(InputError, match="is a pipe"):
        read_json(tmp_path / "pipe", "profile", "name a file")


def test_the_one_that_writes_is_named(tmp_path: Path) -> None:
    path = tmp_path / "samples"
    with path.open("ab") as first:
        lock(first, path)
        with path.open("ab") as second, pytest.raises(InputError, match=f"is being written by process {os.getpid()}: wait"):
            lock(second, path)
    with path.open("ab") as third:
        lock(third, path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes links of another user")
@pytest.mark.parametrize("where", ["out.csv", "ours.csv", "folder/out.csv", "folder/../out.csv"])
@pytest.mark.parametrize(
    "write", [lambda path: write_whole(path, "x"), require_output, lambda path: append_json_line(path, {}), SamplesFile]
)
def test_links_that_others_have_planted_are_not_followed(tmp_path: Path, where: str, write: Callable[[Path], object]) -> None:
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    for folder in (shared, victim):
        folder.mkdir()
    shared.chmod(0o1777)
    (victim / ".bashrc").write_text("kept")
    (shared / "out.csv").symlink_to("../victim/.bashrc")
    (shared / "folder").symlink_to(victim)
    (shared / "ours.csv").symlink_to("out.csv")
    for planted in ("out.csv", "folder"):
        os.lchown(shared / planted, 65534, 65534)
    with pytest.raises(InputError, match="is a link that another user has put there"):
        write(shared / where)
    assert [path.name for path in victim.iterdir()] == [".bashrc"] and (victim / ".bashrc").read_text() == "kept"


def test_a_folder_of_ours_is_a_folder_and_ours(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir(mode=0o777)
    own_folder(tmp_path / "left")
    own_folder(tmp_path / "new")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("left", "new")} == {0o700}
    (tmp_path / "link").symlink_to("left")
    others = ["link", "file"]
    (tmp_path / "file").touch()
    if os.geteuid() == 0:
        (tmp_path / "other").mkdir()
        os.chown(tmp_path / "other", 65534, 65534)
        others.append("other")
    for name in others:
        with pytest.raises(InputError, match="is not a folder of yours"):
            own_folder(tmp_path / name)


def test_a_full_disk_is_found_before_and_named_after(tmp_path: Path) -> None:
    page, lines = tmp_path / "page.html", tmp_path / "lines.jsonl"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(InputError, match="page.html cannot be written"):
            require_output(page)
        require_output(lines)
        for write in (lambda: write_whole(page, bytes(2 << 20)), lambda: append_json_line(lines, "x" * (2 << 20))):
            with pytest.raises(OSError, match="page.html|lines.jsonl"):
                write()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("lines.jsonl", 0)]


def test_a_lock_is_anothers_or_granted_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "lock").open("ab") as first, (tmp_path / "lock").open("ab") as second:
        assert locked(first) and not locked(second) and not locked(second, shared=True)

        def no_locks(*_: object) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))  # as of NFS without its lock daemon

        monkeypatch.setattr("fcntl.flock", no_locks)
        assert locked(second) and locked(second, wait=True)
