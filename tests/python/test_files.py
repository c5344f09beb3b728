import json
import os
from pathlib import Path

import pytest

from rankwise.errors import InputError
from rankwise.files import read_json, write_json, write_whole


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
    [(b'{"schema": 1, "lin', "not complete JSON"), (b"\xff\xfe", "cannot be read"), (b"[" * 100_000, "too deeply|not complete")],
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


def test_json_reads_back(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": [1, 2.5]})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": [1, 2.5]}
