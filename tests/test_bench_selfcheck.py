"""`bench.selfcheck` ends whatever happens, and tells what it waited for."""

from pathlib import Path

import pytest

pytest.importorskip("pexpect", reason="a terminal is played on POSIX systems")
from bench import selfcheck
from bench.selfcheck import DidNotCome, Terminal, timed

HANGS = "print('so far', flush=True)\nimport time\ntime.sleep(600)\n"


def folder_with(tmp_path: Path, program: str) -> Path:
    """A student's folder whose self-check is this program."""
    (tmp_path / "selfcheck").mkdir()
    (tmp_path / "selfcheck" / "__main__.py").write_text(program, "utf-8")
    return tmp_path


def test_a_run_that_does_not_end_is_told_with_what_it_said(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, HANGS)
    with pytest.raises(DidNotCome, match=r"^a run did not end within 2 s; it said: so far$"):
        timed("a run", folder, ("-m", "selfcheck"), 2.0)


@pytest.mark.parametrize(
    ("program", "how"), [(HANGS, "2 s have gone by"), ("print('so far')", "ended")]
)
def test_a_screen_that_does_not_come_is_told_with_what_was_shown(
    tmp_path: Path, program: str, how: str
) -> None:
    terminal = Terminal(folder_with(tmp_path, program), 2.0)
    try:
        with pytest.raises(DidNotCome) as told:
            terminal.see("never shown", "the first screen")
    finally:
        terminal.end()
    assert f"the first screen did not come: {how}" in str(told.value)
    assert "so far" in str(told.value)


def test_what_was_measured_is_shown_beside_what_did_not_come(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def late(*arguments: object) -> None:
        raise DidNotCome("the first screen did not come")

    monkeypatch.setattr(selfcheck, "watched", late)
    monkeypatch.setattr(selfcheck, "timed", lambda name, *rest: (2.0 + len(name) / 100, 1.0))
    with pytest.raises(SystemExit) as ended:
        selfcheck.main(["--runs", "1"])
    assert ended.value.code == 1
    out = capsys.readouterr().out
    assert "watch: the first screen did not come" in out
    assert "times import torch  at most 1.6 times: met" in out
    *_, last = out.splitlines()
    assert "selfcheck on stubs 1.0 times (at most 1.6 times)" in last
    assert last.endswith("watch FAILED")
