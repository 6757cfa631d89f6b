"""What long commands show where there is no terminal."""

import itertools

from dpstrata.cli import screen


def test_a_log_is_told_now_and_then_how_far_it_is(capsys, monkeypatch):
    clock = itertools.count(0, 4)  # asked once at the start, once a call, and once more for a line
    monkeypatch.setattr(screen.time, "monotonic", lambda: next(clock))
    with screen.progress_of("letters") as progress:
        for _ in range(9):
            progress(200)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == ["800 letters done.", "1,600 letters done."]


def test_what_is_over_soon_says_nothing(capsys):
    with screen.progress_of("letters") as progress:
        progress(200)
    assert capsys.readouterr().err == ""
