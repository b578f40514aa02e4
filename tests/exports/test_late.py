"""The late policy: grace, percent a day, cap, extensions, and what is only known to be late."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment.assignment import Late
from autograder.errors import UsageError
from autograder.exports.late import Handed, Lateness, lateness, parse_time, read_times
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

ZONE = timezone(timedelta(hours=2))
DUE = datetime(2026, 10, 1, 23, 59, tzinfo=ZONE)
LATE = Late(DUE, grace_minutes=15, percent_per_day=10, cap_percent=50, flat_percent=20)
NOWHERE = Origin("")


def cost(after: timedelta, extended: datetime | timedelta | None = None) -> Lateness:
    return lateness(LATE, NOWHERE, Handed(DUE + after, extended))


class TestWithTimes:
    @pytest.mark.parametrize(
        ("after", "percent", "reason"),
        [
            (timedelta(days=-1), 0, ""),
            (timedelta(minutes=15), 0, ""),
            (timedelta(minutes=15, seconds=1), 10, "16 min late"),
            (timedelta(days=1), 10, "1 d late"),
            (timedelta(days=1, seconds=1), 20, "1 d 1 min late"),
            (timedelta(days=1, hours=2), 20, "1 d 2 h late"),
            (timedelta(days=30), 50, "30 d late"),
        ],
    )
    def test_a_day_that_has_begun_counts_up_to_the_cap(
        self, after: timedelta, percent: float, reason: str
    ) -> None:
        assert cost(after) == Lateness(percent, reason)

    def test_an_extension_moves_the_due_date(self) -> None:
        assert cost(timedelta(days=2), timedelta(days=2)) == Lateness()
        assert cost(timedelta(days=2), DUE + timedelta(days=1)).percent == 10

    def test_offsets_are_minded(self) -> None:
        same = DUE.astimezone(UTC)
        assert lateness(LATE, NOWHERE, Handed(same)) == Lateness()

    def test_without_a_due_date_a_time_is_wrong_use(self) -> None:
        with pytest.raises(UsageError, match="no due date .* --due, or as due in"):
            lateness(Late(), NOWHERE, Handed(DUE))

    def test_a_due_date_of_ones_own_is_enough(self) -> None:
        late = Late(percent_per_day=10)
        assert lateness(late, NOWHERE, Handed(DUE + timedelta(hours=1), DUE)).percent == 10

    @given(st.floats(-1e7, 1e7), st.floats(0, 1e6))
    def test_later_never_costs_less(self, seconds: float, more: float) -> None:
        earlier = cost(timedelta(seconds=seconds)).percent
        assert 0 <= earlier <= cost(timedelta(seconds=seconds + more)).percent <= 50


class TestWithoutTimes:
    FLAGGED = Origin("canvas", late=True)

    def test_what_is_only_known_to_be_late_costs_the_flat_percent(self) -> None:
        assert lateness(LATE, self.FLAGGED, None) == Lateness(20, "late, unknown by how much")
        assert lateness(LATE, Origin("canvas"), None) == Lateness()

    def test_a_time_counts_before_what_the_platform_says(self) -> None:
        assert lateness(LATE, self.FLAGGED, Handed(DUE)) == Lateness()

    def test_an_extension_without_a_time_costs_nothing(self) -> None:
        given = Handed(None, timedelta(days=2))
        assert lateness(LATE, self.FLAGGED, given) == Lateness(0, "late, with an extension")

    def test_a_platforms_own_time_is_used_where_there_is_a_due_date(self) -> None:
        told = Origin("blackboard", submitted="2026-10-03 00:00:00")
        assert lateness(LATE, told, None).percent == 20
        assert lateness(Late(percent_per_day=10), told, None) == Lateness()


class TestParsing:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-10-01T21:59:00+00:00",
            "2026-10-01 23:59:00 +0200",
            "2026-10-01 23:59",
            "2026-10-01 21:59:00.000000 UTC",
            "2026-10-01 21:59:00.000000000 Z",
            "2026-10-01T21:59Z",
        ],
    )
    def test_times_as_platforms_write_them(self, text: str) -> None:
        assert parse_time(text, ZONE) == DUE

    @pytest.mark.parametrize("text", ["", "tomorrow", "01.10.2026", "2026-13-01", "9" * 50])
    def test_what_is_no_time(self, text: str) -> None:
        assert parse_time(text, ZONE) is None

    def test_without_a_zone_an_offset_is_needed(self) -> None:
        assert parse_time("2026-10-01 23:59", None) is None


class TestReading:
    def read(self, folder: Path, text: str) -> dict[str, Handed]:
        (folder / "times.csv").write_text(text)
        times = read_times(folder / "times.csv", ZONE)
        found = {person.student: times.of([person]) for person in times.people}
        return {name: each[1] for name, each in found.items() if each is not None}

    def test_the_four_columns(self, tmp_path: Path) -> None:
        text = (
            "student,submitted_at,group,extension\n"
            "ada,2026-10-01 23:59,,\n"
            "ben,,,2d\n"
            ",2026-10-01 23:59,Team A,1d 12h\n"
            'cy,2026-10-01T21:59Z,"x\ny",2026-10-02 23:59\n'
        )
        assert self.read(tmp_path, text) == {
            "ada": Handed(DUE),
            "ben": Handed(None, timedelta(days=2)),
            "Team A": Handed(DUE, timedelta(days=1, hours=12)),
            "cy": Handed(DUE, DUE + timedelta(days=1)),
        }

    @pytest.mark.parametrize(
        ("row", "told"),
        [
            ("ada,soon,,", "line 2, submitted_at: expected a time such as .*; found 'soon'"),
            ('"a\nb",2026-10-01 23:59,,two days', "line 2, extension: .* found 'two days'"),
            ('"a\nb",,,\nben,now,,', "line 4, submitted_at: .* found 'now'"),
        ],
    )
    def test_what_is_no_time_is_told_with_line_and_column(
        self, tmp_path: Path, row: str, told: str
    ) -> None:
        with pytest.raises(UsageError, match=f"times.csv: {told}"):
            self.read(tmp_path, f"student,submitted_at,group,extension\n{row}\n")

    def test_a_file_without_times_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="expected a column submitted_at or extension"):
            self.read(tmp_path, "student,score\nada,1\n")

    def test_students_are_found_by_any_mark(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(
            "name,email,submitted_at\nAda Sample,ada@x.org,2026-10-01 23:59\n"
        )
        times = read_times(tmp_path / "t.csv", ZONE)
        for person in (
            Person(name="sample, ada"),
            Person(student="ada"),
            Person(email="ADA@x.org"),
        ):
            found = times.of([Person(), person])
            assert found is not None
            assert found[1] == Handed(DUE)
        assert times.of([Person(student="ben")]) is None
