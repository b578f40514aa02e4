"""`autograder.release.handouts`, and the handouts themselves."""

import re

import msgspec
import pytest

from autograder.assignment.assignment import Stage
from autograder.errors import UsageError
from autograder.release.handouts import rubric, with_rubric
from tests.conftest import ASSIGNMENT

STAGES = pytest.mark.parametrize("stage", ASSIGNMENT.stages, ids=lambda stage: stage.id)


def text_of(stage: Stage) -> str:
    return stage.handout.read_text(encoding="utf-8")


@STAGES
class TestOurHandouts:
    def test_the_points_told_are_the_points_given(self, stage: Stage) -> None:
        assert with_rubric(text_of(stage), stage) == text_of(stage)

    def test_every_name_is_said_with_its_parameters(self, stage: Stage) -> None:
        specs = {spec.name: spec for spec in ASSIGNMENT.name_specs}
        written = text_of(stage).partition("## What to write")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)\(([^)]*)\)`", written, flags=re.MULTILINE)
        found = {name: tuple(re.findall(r"(\w+)(?:=\w+)?", each)) for name, each in rows}
        told = {name: tuple(p for p in each if p != "False") for name, each in found.items()}
        assert told == {name: specs[name].parameters for name in stage.names}

    @pytest.mark.parametrize("needed", ["Goal", "Read along", "Common slips", "How it is judged"])
    def test_it_says_all_that_a_handout_says(self, stage: Stage, needed: str) -> None:
        assert needed in text_of(stage)

    def test_it_shows_a_figure_and_says_in_words_what_is_in_it(self, stage: Stage) -> None:
        shown = re.findall(r"!\[([^]]+)\]\((figures/\w+\.svg)\)", text_of(stage))
        assert shown
        for words, path in shown:
            assert len(words.split()) > 4
            assert (stage.handout.parent / path).is_file()

    def test_it_ends_with_questions_whose_answers_fold_out(self, stage: Stage) -> None:
        section = text_of(stage).partition("## Concept check\n")[2]
        found = re.findall(
            r"<details>\n<summary>([^\n]+[?.])</summary>\n\n(.+?)\n\n</details>", section, re.S
        )
        assert 4 <= len(found) <= 6
        assert section.count("<details>") == len(found)
        assert all(len(answer.split()) >= 20 for _, answer in found)

    def test_every_section_that_teaches_says_something(self, stage: Stage) -> None:
        for title, body in re.findall(
            r"^## ([^\n]+)\n\n(.*?)(?=^## |\Z)", text_of(stage), re.M | re.S
        ):
            assert len(body.split()) > 25, title


class TestRubric:
    def test_a_row_links_to_the_section_and_names_each_share(self) -> None:
        rows = rubric(ASSIGNMENT.stage("trainable")).splitlines()
        assert rows[7] == (
            "| [The weights are parameters that can be trained](#parameters) | 3"
            " | `SelfAttention_v1` 1, `SelfAttention_v2` 1, `SelfAttention_v2` (bias) 1 |"
        )
        assert rows[-1] == "| total | 25 | |"

    def test_changed_points_reach_the_handout(self) -> None:
        stage = ASSIGNMENT.stage("simplified")
        dearer = msgspec.structs.replace(stage, points=99)
        assert "| total | 99 | |" in with_rubric(text_of(stage), dearer)

    def test_a_handout_without_a_place_for_it_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"1_simplified\.md has no place"):
            with_rubric("# Stage 1\n", ASSIGNMENT.stage("simplified"))
