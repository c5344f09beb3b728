"""What becomes of a campaign whose samples do not suffice."""

import json
from pathlib import Path

import pytest

from rankwise.errors import InputError, UnusableFiguresError
from rankwise.measure.campaign import last_campaign
from rankwise.measure.profiles import _profile_of

CAMPAIGN = Path(__file__).parents[2] / "fuzz" / "corpus" / "samples" / "campaign.jsonl"


def _with_two_sizes(path: Path, **witness: float) -> Path:
    """Write a campaign that came to two sizes of plain sends, under such witnesses."""
    records = [json.loads(line) for line in CAMPAIGN.read_text().splitlines()]
    kept = [{**r, **witness} if r["record"] == "witness" else r for r in records
            if r["record"] != "samples" or r["operation"] != "send" or r["size_bytes"] <= 8]  # fmt: skip
    path.write_text("".join(json.dumps(record) + "\n" for record in kept))
    return path


def test_too_few_samples_of_a_busy_machine_are_not_called_wrong_input(tmp_path: Path) -> None:
    path = _with_two_sizes(tmp_path / "m.samples.jsonl", foreign_cpus=3.0)
    with pytest.raises(
        UnusableFiguresError, match="too busy to be measured: .*saved: measure again when it is less busy"
    ) as caught:
        _profile_of(last_campaign(path), path, "median")
    assert caught.value.exit_code == 6


def test_too_few_samples_of_a_quiet_machine_need_more_seconds(tmp_path: Path) -> None:
    path = _with_two_sizes(tmp_path / "m.samples.jsonl", foreign_cpus=0.0, steal_share=0.0, pressure_share=0.0)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record.update({key: 0 for key in ("involuntary_switches", "moved_ranks") if key in record})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    with pytest.raises(InputError, match="at least 3; measure again with more --seconds"):
        _profile_of(last_campaign(path), path, "median")
