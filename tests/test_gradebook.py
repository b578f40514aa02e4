"""The gradebook keeps every run and result, one writer at a time."""

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import msgspec
import pytest

from autograder.errors import MissingRequirement, UsageError
from autograder.gradebook.gradebook import Gradebook, Record, Run
from autograder.results.grading_key import GradingKey
from autograder.results.result import Result
from autograder.submissions.downloads.handin import Origin
from autograder.submissions.roster import Person

KEY = GradingKey(*"abcdefghi")
OTHER_KEY = msgspec.structs.replace(KEY, checks="changed")


def record(student: str, score: float = 1.0, digest: str = "d") -> Record:
    return Record(
        Result(1, student, digest, "attention", score, 100.0, (), ("a note",)),
        notes=("a note",),
        details=b"details",
        cpu_seconds=0.25,
        wall_seconds=0.5,
        isolation="landlock",
    )


@pytest.fixture
def book(tmp_path: Path) -> Gradebook:
    return Gradebook(tmp_path / "out", create=True)


def begin(book: Gradebook, key: GradingKey = KEY, stages: tuple[str, ...] = ()) -> Run:
    return book.begin(Path("/assignment"), key, stages)


class TestOrigins:
    ADA = Origin("canvas", Person(name="sampleada", id="1"), (Person("ada"),), True, attempt="9")

    def test_they_are_kept_with_their_run(self, book: Gradebook) -> None:
        first = begin(book)
        book.remember(first, {"ada": self.ADA, "bo": Origin("canvas")})
        book.finish(first, "finished")
        second = begin(book)
        assert book.origins(first) == {"ada": self.ADA, "bo": Origin("canvas")}
        assert book.origins(second) == {}

    def test_a_run_that_goes_on_forgets_who_left(self, book: Gradebook) -> None:
        book.remember(begin(book), {"ada": self.ADA, "bo": Origin("canvas")})
        book.remember(begin(book), {"ada": self.ADA})
        assert list(book.origins(begin(book))) == ["ada"]

    def test_a_gradebook_from_before_they_were_kept_is_opened(self, tmp_path: Path) -> None:
        with Gradebook(tmp_path, create=True) as book:
            begin(book)
        with sqlite3.connect(tmp_path / "gradebook.sqlite") as database:
            database.execute("drop table origins")
        with Gradebook(tmp_path) as book:
            run = book.last_run()
            assert run is not None
            assert book.origins(run) == {}


class TestRuns:
    def test_a_new_gradebook_has_none(self, book: Gradebook) -> None:
        assert book.last_run() is None

    def test_a_finished_run_is_followed_by_a_new_one(self, book: Gradebook) -> None:
        first = begin(book)
        book.finish(first, "finished")
        assert begin(book).id == first.id + 1
        assert book.run(first.id).outcome == "finished"

    def test_a_broken_run_is_gone_on_with(self, book: Gradebook) -> None:
        first = begin(book)
        assert begin(book).id == first.id

    def test_an_interrupted_run_is_gone_on_with(self, book: Gradebook) -> None:
        first = begin(book)
        book.finish(first, "interrupted")
        again = begin(book)
        assert (again.id, again.outcome) == (first.id, "running")

    def test_a_broken_run_with_another_key_is_left_as_it_is(self, book: Gradebook) -> None:
        first = begin(book)
        second = begin(book, OTHER_KEY)
        assert second.id != first.id
        assert book.run(first.id).outcome == "interrupted"

    def test_a_broken_run_of_other_stages_is_left_as_it_is(self, book: Gradebook) -> None:
        first = begin(book)
        assert begin(book, stages=("causal",)).id != first.id

    def test_its_isolation_is_remembered(self, book: Gradebook) -> None:
        run = begin(book)
        book.isolated(run, "bubblewrap")
        assert book.run(run.id).isolation == "bubblewrap"

    def test_an_unknown_number_is_wrong_use(self, book: Gradebook) -> None:
        with pytest.raises(UsageError, match="no run 7"):
            book.run(7)


class TestResults:
    def test_a_record_comes_back_as_it_was(self, book: Gradebook) -> None:
        run = begin(book)
        book.add(run, record("ada"), reusable=True)
        assert book.records(run) == (record("ada"),)

    def test_records_come_by_name(self, book: Gradebook) -> None:
        run = begin(book)
        for name in ("zoë", "ada", "mia"):
            book.add(run, record(name), reusable=True)
        assert [each.result.submission for each in book.records(run)] == ["ada", "mia", "zoë"]

    def test_the_same_work_is_found_again_by_a_later_run(self, book: Gradebook) -> None:
        first = begin(book)
        book.add(first, record("ada", 42.0), reusable=True)
        book.finish(first, "finished")
        second = begin(book)
        number = book.find(second, "ada", "d", ("a note",), fresh=False)
        assert number is not None
        assert book.keep(second, number).result.score == 42.0
        assert len(book.records(second)) == len(book.records(first)) == 1

    @pytest.mark.parametrize(
        ("student", "digest", "notes"),
        [("bob", "d", ("a note",)), ("ada", "e", ("a note",)), ("ada", "d", ())],
    )
    def test_other_work_is_not_found(
        self, book: Gradebook, student: str, digest: str, notes: tuple[str, ...]
    ) -> None:
        run = begin(book)
        book.add(run, record("ada"), reusable=True)
        assert book.find(run, student, digest, notes, fresh=False) is None

    def test_nothing_is_found_under_another_key_or_for_other_stages(self, book: Gradebook) -> None:
        book.add(begin(book), record("ada"), reusable=True)
        for run in (begin(book, OTHER_KEY), begin(book, stages=("causal",))):
            assert book.find(run, "ada", "d", ("a note",), fresh=False) is None

    def test_a_result_that_is_not_reusable_is_not_found(self, book: Gradebook) -> None:
        run = begin(book)
        book.add(run, record("ada"), reusable=False)
        assert book.find(run, "ada", "d", ("a note",), fresh=False) is None
        assert len(book.records(run)) == 1

    def test_a_fresh_run_finds_only_what_it_graded_itself(self, book: Gradebook) -> None:
        first = begin(book)
        book.add(first, record("ada"), reusable=True)
        book.finish(first, "finished")
        second = begin(book)
        assert book.find(second, "ada", "d", ("a note",), fresh=True) is None
        book.add(second, record("ada"), reusable=True)
        assert book.find(second, "ada", "d", ("a note",), fresh=True) is not None

    def test_who_left_the_class_leaves_a_run_that_goes_on(self, book: Gradebook) -> None:
        run = begin(book)
        for name in ("ada", "bob"):
            book.add(run, record(name), reusable=True)
        book.prune(run, {"ada"})
        assert [each.result.submission for each in book.records(run)] == ["ada"]


class TestSurroundings:
    def test_a_folder_without_a_gradebook_is_wrong_use(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=r"no gradebook\.sqlite in it"):
            Gradebook(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_file_that_is_no_gradebook_is_wrong_use(self, tmp_path: Path) -> None:
        (tmp_path / "gradebook.sqlite").write_bytes(b"not a database, but long enough " * 50)
        with pytest.raises(UsageError, match="not a gradebook"):
            Gradebook(tmp_path)

    def test_a_gradebook_of_a_later_kit_is_wrong_use(self, tmp_path: Path) -> None:
        with sqlite3.connect(tmp_path / "gradebook.sqlite") as database:
            database.execute("pragma user_version = 99")
        with pytest.raises(UsageError, match="version 99 of the gradebook"):
            Gradebook(tmp_path)

    def test_a_file_in_place_of_the_folder_is_wrong_use(self, tmp_path: Path) -> None:
        (tmp_path / "out").touch()
        with pytest.raises(UsageError, match="a file, not a folder"):
            Gradebook(tmp_path / "out", create=True)

    def test_a_folder_in_use_is_told_so(self, book: Gradebook) -> None:
        with pytest.raises(MissingRequirement, match="in use by another run"):
            Gradebook(book.folder)

    def test_a_closed_gradebook_gives_the_folder_free(self, book: Gradebook) -> None:
        book.close()
        with Gradebook(book.folder) as again:
            assert again.last_run() is None

    def test_a_folder_that_cannot_be_made_is_told_so(self) -> None:
        with pytest.raises(MissingRequirement, match="cannot be written"):
            Gradebook(Path("/proc/out"), create=True)


WRITE_UNTIL_FULL = """
    import resource, signal, sys
    from pathlib import Path
    from tests_of_gradebook import KEY, begin, record
    from autograder.errors import MissingRequirement
    from autograder.gradebook.gradebook import Gradebook

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with Gradebook(Path(sys.argv[1]), create=True) as book:
        run = begin(book)
        book.add(run, record("ada"), reusable=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
        try:
            for number in range(10_000):
                book.add(run, record(f"student {number}"), reusable=True)
        except MissingRequirement as error:
            print(number, error)
"""


def test_a_full_disk_is_told_and_nothing_graded_is_lost(tmp_path: Path) -> None:
    output = child(WRITE_UNTIL_FULL, tmp_path / "out").communicate()[0]
    kept, _, message = output.partition(" ")
    assert "finished results are kept" in message
    with Gradebook(tmp_path / "out") as book:
        run = book.last_run()
        assert run is not None
        assert len(book.records(run)) == int(kept) + 1


WRITE_FOR_EVER = """
    import sys
    from pathlib import Path
    from tests_of_gradebook import begin, record
    from autograder.gradebook.gradebook import Gradebook

    with Gradebook(Path(sys.argv[1]), create=True) as book:
        run = begin(book)
        for number in range(10**9):
            book.add(run, record(f"student {number}"), reusable=True)
            print(number, flush=True)
"""


def test_a_killed_run_loses_nothing_and_gives_the_folder_free(tmp_path: Path) -> None:
    process = child(WRITE_FOR_EVER, tmp_path / "out")
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert told[-1] == "4\n"
    with Gradebook(tmp_path / "out") as book:
        run = book.last_run()
        assert run is not None
        assert run.outcome == "running"
        assert len(book.records(run)) >= 5


def child(source: str, *args: Path) -> "subprocess.Popen[str]":
    """Run `source` in a process of its own, with this module importable."""
    start = f"""
        import importlib.util, sys
        spec = importlib.util.spec_from_file_location("tests_of_gradebook", {__file__!r})
        module = importlib.util.module_from_spec(spec)
        sys.modules["tests_of_gradebook"] = module
        spec.loader.exec_module(module)
    """
    program = textwrap.dedent(start) + textwrap.dedent(source)
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(os.fspath, args)],
        stdout=subprocess.PIPE,
        text=True,
    )


class TestMemory:
    def test_results_beyond_what_is_kept_in_memory_are_read_as_they_were(
        self, book: Gradebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("autograder.gradebook.gradebook.MOST_KNOWN", 2)
        run = begin(book)
        stored = [record(f"student-{number}", score=number) for number in range(5)]
        for each in stored:
            book.add(run, each, reusable=True)
        assert len(book._known) == 2
        assert list(book.records(run)) == stored
        assert len(book._known) == 2
