import os
from pathlib import Path

import pytest

from rankwise.errors import InputError, RankwiseError
from rankwise.measure.samples import SCHEMA, Campaign, SamplesFile, read_campaigns

HEAD = {"record": "campaign", "campaign": "a", "schema": SCHEMA, "plan": {}}
SAMPLE = {"record": "samples", "campaign": "a", "time_s": [1e-6, 2e-6]}


def _with_times(times: str) -> str:
    return '{"record":"campaign","campaign":"a","schema":1}\n{"record":"samples","campaign":"a",' + times + "}\n"


def test_campaigns_are_appended_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "x.samples.jsonl"
    with SamplesFile(path) as samples:
        samples.append(HEAD)
        samples.append(SAMPLE)
    before = path.read_bytes()
    with SamplesFile(path) as samples:
        samples.append({**HEAD, "campaign": "b"})
        samples.append({"record": "complete", "campaign": "b"})
    assert path.read_bytes().startswith(before)
    first, second = read_campaigns(path)
    assert (first.id, len(first.samples), first.complete) == ("a", 1, False)
    assert (second.id, len(second.samples), second.complete) == ("b", 0, True)


def test_a_line_cut_off_by_a_crash_is_skipped_and_the_file_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.samples.jsonl"
    with SamplesFile(path) as samples:
        samples.append(HEAD)
        samples.append(SAMPLE)
    path.write_bytes(path.read_bytes()[:-9])
    with SamplesFile(path) as samples:
        samples.append(SAMPLE)
    (campaign,) = read_campaigns(path)
    assert len(campaign.samples) == 1
    assert "line 2: cut off" in capsys.readouterr().err


def test_a_full_disk_says_how_to_go_on(tmp_path: Path) -> None:
    with SamplesFile(tmp_path / "x.jsonl") as samples, Path("/dev/full").open("ab", buffering=0) as full:
        samples._stream.close()
        samples._stream = full
        with pytest.raises(RankwiseError, match="No space.*--resume"):
            samples.append(HEAD)


def test_what_is_no_file_of_one_s_own_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, says in (
        (tmp_path, "is a folder"),
        (tmp_path / "pipe", "no plain file"),
        (Path("/proc/x/y"), "cannot be written"),
    ):
        with pytest.raises(InputError, match=says):
            SamplesFile(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello\n", "not JSON Lines"),
        ('{"record":"samples","campaign":"z"}\n', "never began"),
        ('{"record":"campaign","campaign":"a","schema":99}\n', "schema 99"),
        ("[1]\n", "not a record"),
        (_with_times('"time_s":[1e-6,0]'), "line 2: time_s holds 0,.*remove the line"),
        (_with_times('"time_s":[-1e-6]'), "line 2: time_s holds -1e-06"),
        (_with_times('"time_s":[NaN]'), "line 2: time_s holds NaN"),
        (_with_times('"time_s":["1 us"]'), "line 2: time_s holds '1 us'"),
        (_with_times('"time_s":[]'), "line 2: no times"),
        (_with_times('"time_us":[1.5]'), "line 2: no times in time_s but a time_us: samples are in seconds"),
    ],
)
def test_a_foreign_file_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_campaigns(path)


def _witness(begun_unix_s: float, seconds: float, jump_s: float) -> dict[str, float]:
    return {"begun_unix_s": begun_unix_s, "seconds": seconds, "clock_jump_s": jump_s}


def test_a_clock_that_was_set_is_seen_and_one_that_slews_is_not() -> None:
    steady = Campaign({}, [], [], [_witness(1000.0, 0.5, 1e-4), _witness(1030.0, 0.5, -0.2)])
    assert (steady.span_s, steady.clock_jump_s) == (30.5, 0.0)
    assert Campaign({}, [], [], [_witness(1000.0, 0.5, -3600.0), _witness(1001.0, 0.5, 2.0)]).clock_jump_s == 3602.0
    assert (Campaign({}, [], []).span_s, Campaign({}, [], [], [{"seconds": 1.0}]).span_s) == (0.0, 0.0)


def test_nodes_that_no_launch_came_to_are_named() -> None:
    head = {"plan": {"places": {"other-node": {"hosts": ["n1", "n2", "n3"]}, "same-socket": {"hosts": []}}}}
    assert Campaign(head, [{"hosts": ["n1", "n2"]}, {}], []).hosts_left_out() == ["n3"]
    assert Campaign(head, [{}], []).hosts_left_out() == []  # of before samples named their hosts
