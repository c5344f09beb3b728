import pytest

from rankwise.machine.trust import Reason, Trust, worst


def test_a_verdict_is_read_as_it_was_written_and_unknown_where_there_is_none():
    trust = Trust("poor", (Reason("others", 1.5, "other programs ran", "stop them"),), {"same-socket": {"send": "poor"}})
    assert Trust.from_dict(trust.to_dict()) == trust
    assert trust.line() == "Quality: poor (other programs ran)."
    assert Trust.from_dict(None).level == "unknown"


def test_a_level_that_is_none_is_refused():
    with pytest.raises(ValueError, match="trust.level 'superb' is none of good, limited, poor, unknown"):
        Trust.from_dict({"level": "superb"})


def test_the_worst_level_counts():
    assert worst(["good", "poor", "limited"]) == "poor"
    assert worst(["good", "unknown"]) == worst([]) == "unknown"
