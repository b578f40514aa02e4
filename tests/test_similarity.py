"""Pairs that stand out are told, what everybody has is not; comparing itself needs the extra."""

import importlib.util
from pathlib import Path

import pytest

from autograder.errors import MissingRequirement
from autograder.gradebook.similarity import (
    LEAST_COMMON,
    MANY,
    known_sources,
    pieces_of,
    ranked,
    similar_pairs,
    source_of,
)
from autograder.submissions.submission import SourceFile, Submission, read_submission
from tests.conftest import ASSIGNMENT

HAVE = importlib.util.find_spec("copydetect") is not None
needs_copydetect = pytest.mark.skipif(not HAVE, reason="the extra `similarity` is not installed")


def alone(number: int, size: int = 1000) -> frozenset[int]:
    """Pieces that nobody else has."""
    return frozenset(range(10_000 * number, 10_000 * number + size))


class TestRanked:
    def test_a_copy_stands_out(self) -> None:
        (pair,) = ranked({"ada": alone(1), "bob": alone(2), "eve": alone(1)})
        assert (pair.first, pair.second, pair.of_first, pair.of_second) == ("ada", "eve", 1.0, 1.0)
        assert pair.common == 1000

    def test_a_copy_that_was_added_to_stands_out_too(self) -> None:
        (pair,) = ranked({"ada": alone(1), "eve": alone(1) | alone(2, 9000)})
        assert pair.of_first == 1.0
        assert pair.of_second == 0.1

    def test_the_most_alike_come_first(self) -> None:
        pairs = ranked(
            {
                "ada": alone(1),
                "bob": alone(1, 600) | alone(3, 400),
                "eve": alone(1, 900) | alone(4, 100),
            }
        )
        assert (pairs[0].first, pairs[0].second) == ("ada", "eve")
        assert [pair.share for pair in pairs] == sorted(
            (pair.share for pair in pairs), reverse=True
        )

    def test_a_few_common_lines_are_nothing(self) -> None:
        little = LEAST_COMMON - 1
        assert ranked({"ada": alone(1, little), "bob": alone(1, little)}) == ()

    def test_what_many_have_comes_from_elsewhere(self) -> None:
        book = alone(0)
        several = {f"s{number}": book | alone(1 + number, 500) for number in range(MANY + 1)}
        assert ranked(several) == ()

    def test_where_all_are_a_little_alike_only_the_odd_pair_is_told(self) -> None:
        pieces = {
            f"s{number}": alone(1 + number, 600) | alone(20 + number // 2, 400)
            for number in range(16)
        }
        for number in range(15):  # a part in common with the next
            pieces[f"s{number}"] |= alone(50 + number, 300)
            pieces[f"s{number + 1}"] |= alone(50 + number, 300)
        pieces["copy"] = pieces["s3"]
        assert (ranked(pieces)[0].first, ranked(pieces)[0].second) == ("s3", "copy")

    def test_nobody_and_empty_work_are_no_pair(self) -> None:
        assert ranked({}) == ()
        assert ranked({"ada": frozenset(), "bob": frozenset()}) == ()


class TestSources:
    def test_modules_and_cells_count_and_data_does_not(self) -> None:
        files = (
            SourceFile("a.py", "module", b"x = 1"),
            SourceFile("b.ipynb", "notebook", cells=("y = 2", "z = 3")),
            SourceFile("c.csv", "data", b"1,2"),
        )
        assert source_of(Submission("ada", files, "d")) == "x = 1\ny = 2\nz = 3"

    def test_bytes_that_are_no_text_are_read_all_the_same(self) -> None:
        files = (SourceFile("a.py", "module", b"x = '\xff'"),)
        assert source_of(Submission("ada", files, "d")) == "x = '\N{REPLACEMENT CHARACTER}'"

    def test_solutions_template_and_handouts_are_known(self) -> None:
        known = "\n".join(known_sources(ASSIGNMENT))
        assert "class MultiHeadAttention(" in known
        assert "raise NotImplementedError" in known
        assert len(known_sources(ASSIGNMENT)) > len(list(ASSIGNMENT.solutions.rglob("*.py")))


@pytest.mark.skipif(HAVE, reason="the extra `similarity` is installed")
def test_without_the_extra_it_says_what_to_install() -> None:
    with pytest.raises(
        MissingRequirement, match=r"pip install 'attention-autograder\[similarity\]'"
    ):
        pieces_of("x = 1")


@needs_copydetect
class TestComparing:
    def work(self, name: str, source: str) -> Submission:
        return Submission(name, (SourceFile("a.py", "module", source.encode()),), name)

    def test_renaming_does_not_hide_a_copy(self) -> None:
        source = "def f(alpha, beta):\n    gamma = alpha * beta + 3\n    return gamma / alpha\n" * 5
        renamed = source.replace("alpha", "first").replace("gamma", "third")
        assert pieces_of(source) == pieces_of(renamed)

    def test_the_solutions_and_the_stubs_are_known(self) -> None:
        read = [
            read_submission(folder, ASSIGNMENT.limits, name)
            for name, folder in [("a", ASSIGNMENT.solutions), ("b", ASSIGNMENT.template)]
            if folder is not None
        ]
        read += [Submission(each.name + "2", each.files, each.digest) for each in read]
        assert similar_pairs(read, ASSIGNMENT) == ()

    def test_a_copy_in_a_class_is_told(self) -> None:
        root = Path(__file__).resolve().parents[1] / "examples" / "submissions"
        read = [
            read_submission(root / name, ASSIGNMENT.limits) for name in ("ben.py", "dinesh", "lena")
        ]
        read.append(Submission("twin", read[0].files, "d"))
        first, *_ = similar_pairs(read, ASSIGNMENT)
        assert (first.first, first.second, first.share) == ("ben", "twin", 1.0)
