import re

import pytest

from histories import KEY, session
from rankwise.health.judge import Rules, judge
from rankwise.health.words import gauges as text


def test_each_gauge_is_told_once_and_names_are_escaped() -> None:
    figures = {'odd"\\\nlink.latency_s': 0.0, "other-node.latency_s": -1.0, "other-node.s_per_byte": -20.0}
    history = [session(3 * i, figures) for i in range(10)]
    last = session(40, figures, verdict="slower")
    lines = text(last, judge(last, history, Rules(least_single=10))).splitlines()
    gauges = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(gauges) == len(set(gauges)) == len([line for line in lines if line.startswith("# HELP")]) == 4
    sample = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\[\\"n])*",?)+\})? \S+')
    assert all(sample.fullmatch(line) for line in lines if line[0] != "#")
    assert r'rankwise_link_latency_seconds{link="odd\"\\\nlink",way="send",bound="value"} 1' in lines
    assert [line for line in lines if 'state="' in line and line.endswith(" 1")] == ['rankwise_health_state{state="slower"} 1']
    bounds = [float(line.split()[1]) for line in lines if line.startswith('rankwise_link_seconds_per_byte{link="other-node"')]
    assert bounds[1] < bounds[0] < bounds[2] and bounds[0] == pytest.approx(2.0611536e-9)
    assert 'bound="low"' not in text(last, judge(last, [])) and KEY["hostname"] not in "".join(lines)
