"""A class as it was graded last: its pages and tables again, from the gradebook alone."""

from contextlib import suppress
from pathlib import Path

from autograder.assignment.assignment import Assignment, Stage, load_assignment
from autograder.errors import UsageError
from autograder.gradebook.adjustments import adjusted_results
from autograder.gradebook.class_analysis import Graded
from autograder.gradebook.gradebook import Gradebook, Record, Run
from autograder.gradebook.similarity import Pair, similar_pairs
from autograder.grading.result_files import write_class, write_student
from autograder.results.details import read_details
from autograder.submissions.entries import Entry as Entry
from autograder.submissions.entries import entries_of as entries_of
from autograder.submissions.roster import Roster
from autograder.submissions.submission import Unreadable


def report_class(out: Path) -> tuple[tuple[Graded, ...], tuple[Stage, ...]]:
    """Write the files of the last run again, from the gradebook alone.

    Args:
        out: The folder that `grade` wrote.

    Returns:
        The results as they count, a teacher's changes applied, and the stages that were graded.

    Raises:
        UsageError: Nothing was graded into the folder.
        MissingRequirement: The files cannot be written.
    """
    with Gradebook(out) as book:
        graded, stages, assignment = last_class(book)
        adjustments = book.adjustments()
        for entry in graded:
            write_student(out, entry, stages, assignment, adjustments)
        similar = book.similar(last_run(book))
        write_class(out, graded, stages, assignment, adjustments, similar)
    counting = adjusted_results([entry.result for entry in graded], adjustments, stages)
    return tuple(map(Graded, counting, (entry.details for entry in graded))), stages


def look_for_similar(out: Path, entries: tuple[Entry, ...]) -> tuple[Pair, ...]:
    """Compare the entries of the last run with one another, and store what was found."""
    with Gradebook(out) as book:
        run = last_run(book)
        pairs = similar_in(entries, assignment_of(run))
        book.keep_similar(run, pairs)
    return pairs


def similar_of(out: Path) -> tuple[Pair, ...] | None:
    """What comparing the last run's submissions found; None if they were not compared."""
    with Gradebook(out) as book:
        return book.similar(last_run(book))


def similar_in(entries: tuple[Entry, ...], assignment: Assignment) -> tuple[Pair, ...]:
    """The pairs of entries that are more alike than the assignment makes likely."""
    read = []
    for entry in entries:
        with suppress(Unreadable):  # reported with its result
            read.append(entry.read(assignment.limits))
    return similar_pairs(read, assignment)


def last_run(book: Gradebook) -> Run:
    """The newest run.

    Raises:
        UsageError: There is none.
    """
    run = book.last_run()
    if run is None:
        raise UsageError(f"{book.folder}: nothing has been graded into this folder yet")
    return run


def last_class(book: Gradebook) -> tuple[tuple[Graded, ...], tuple[Stage, ...], Assignment]:
    """The last run's results as they were graded, its stages, and its assignment."""
    run = last_run(book)
    assignment = assignment_of(run)
    graded = tuple(map(with_details, book.records(run)))
    return graded, stages_of(assignment, run.stages), assignment


def last_roster(out: Path) -> Roster | None:
    """The people with whom the last run's entries were matched; None without a roster."""
    with Gradebook(out) as book:
        run = book.last_run()
        origins = book.origins(run) if run else {}
    known = (person for each in origins.values() for person in each.people if person.student)
    people = tuple(dict.fromkeys(known))
    return Roster(people) if people else None


def with_details(record: Record) -> Graded:
    """A record of the gradebook with its details decoded."""
    return Graded(record.result, read_details(record.details))


def assignment_of(run: Run) -> Assignment:
    """The assignment that a run graded; if it has moved, the one found from here."""
    try:
        return load_assignment(Path(run.assignment))
    except UsageError:
        return load_assignment()


def stages_of(assignment: Assignment, chosen: tuple[str, ...]) -> tuple[Stage, ...]:
    """The chosen stages in the assignment's order; all of them if none is chosen."""
    asked = {assignment.stage(each).id for each in chosen}  # UsageError for an unknown one
    return tuple(stage for stage in assignment.stages if not asked or stage.id in asked)
