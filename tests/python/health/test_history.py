import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

from histories import KEY, launches, session, slower
from rankwise.errors import InputError
from rankwise.health import record as history
from rankwise.health.record import Session, value_of


def test_a_session_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "health.jsonl"
    assert history.read(path) == []
    one = Session.of(session(0).at, KEY, launches([1e-6 * (1 + i / 10) for i in range(12)], 0.1), "d1").judged("same", ())
    history.add(path, one)
    history.add(path, replace(session(1), poor=True))
    assert history.read(path) == [one, replace(session(1), poor=True)]
    assert path.read_text().count("\n") == 2


def test_broken_lines_are_named_and_the_others_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "health.jsonl"
    history.add(path, session(0))
    good = path.read_text()
    newer, odd = json.loads(good) | {"schema": 2}, json.loads(good) | {"at": "yesterday"}
    path.write_text("\n".join(["{cut", good.strip(), json.dumps(newer), json.dumps(odd), "[]", good.strip()[:90]]))
    history.add(path, session(1))  # after a line without an end
    assert [one.at for one in history.read(path)] == [session(0).at, session(1).at]
    told = capsys.readouterr().err
    assert [f"line {n}" in told for n in (1, 2, 3, 4, 5, 6, 7)] == [True, False, True, True, True, True, False]
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no session that can be read"):
        history.read(path)


def _add_many(path: Path, first: int) -> None:
    for i in range(first, first + 20):
        history.add(path, session(i))


def test_several_programs_write_at_once_and_no_line_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "health.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_add_many, args=(path, 100 * k)) for k in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(history.read(path)) == 60


def test_accepting_takes_the_run_that_was_slower(tmp_path: Path) -> None:
    path = tmp_path / "health.jsonl"
    run = [slower(10, verdict="unclear"), slower(11), slower(12)]
    for one in [session(0), slower(1, verdict="unclear"), session(2), *run]:
        history.add(path, one)
    assert history.to_accept(history.read(path)) == run
    history.accept(path, run)
    assert [bool(one.accepted) for one in history.read(path)] == [False] * 3 + [True] * 3
    assert history.to_accept(history.read(path)) == []
    assert history.to_accept([session(0), slower(1, verdict="unclear")]) == []


def test_the_quartile_is_of_the_undisturbed_launches() -> None:
    quiet, busy = launches([1.0] * 3 + [2.718281828459045] * 9), launches([1e-9] * 5, foreign_cpus=0.6)
    assert list(value_of([*quiet, *busy]).values()) == pytest.approx([0.75] * 3)
