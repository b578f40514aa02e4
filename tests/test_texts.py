"""The texts of misconceptions: a file that a teacher can edit, and that says what is wrong."""

from importlib import import_module
from pathlib import Path

import pytest

from autograder.diagnosis.catalogue import load_catalogue
from autograder.diagnosis.texts import FILE_NAME, Text, Texts, load_texts
from autograder.errors import InternalError, UsageError
from tests.conftest import ASSIGNMENT

WHOLE = """
[no-mask]
title = "no mask"
found = "Every token sees the tokens after it."
expected = "They should be hidden."
look = "Look at the mask."
"""
OWN = WHOLE.replace("[no-mask]", "[causal.no-mask]").replace("no mask", "no mask here")


def texts(tmp_path: Path, source: str) -> Texts:
    file = tmp_path / FILE_NAME
    file.write_text(source)
    return Texts(file)


def test_a_text_is_found_by_the_id_of_its_misconception(tmp_path: Path) -> None:
    assert texts(tmp_path, WHOLE).of("causal", "no-mask") == Text(
        "no mask",
        "Every token sees the tokens after it.",
        "They should be hidden.",
        "Look at the mask.",
    )


def test_a_stage_may_word_it_in_its_own_way(tmp_path: Path) -> None:
    both = texts(tmp_path, WHOLE + OWN)
    assert both.of("causal", "no-mask").title == "no mask here"
    assert both.of("multi_head", "no-mask").title == "no mask"
    assert both.identifiers == {("", "no-mask"), ("causal", "no-mask")}


def test_a_misconception_without_a_text_names_the_file_to_open(tmp_path: Path) -> None:
    with pytest.raises(InternalError, match=rf"{FILE_NAME}: no text for the misconception 'other'"):
        texts(tmp_path, WHOLE).of("causal", "other")


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("[no-mask", "cannot be read"),
        ("title = 'no table'", "title is no table"),
        ("[no-mask]\n", "no-mask is no table"),
        (WHOLE + 'lok = "Look."', r"\[no-mask\]: .*lok"),
        ("[no-mask]\ntitle = 'alone'", r"\[no-mask\]: .*found"),
        (WHOLE.replace('"no mask"', "3"), r"\[no-mask\]: .*title"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_name(
    tmp_path: Path, source: str, told: str
) -> None:
    with pytest.raises(UsageError, match=rf"{FILE_NAME}: .*{told}"):
        texts(tmp_path, source)


def test_a_file_that_is_not_there_is_said_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Texts(tmp_path / FILE_NAME)


def test_every_text_belongs_to_a_misconception_and_every_misconception_has_one() -> None:
    used: set[tuple[str, str]] = set()
    folders: set[Path] = set()
    for stage in ASSIGNMENT.stages:
        file = import_module(stage.misconceptions).__file__
        assert file is not None
        folders.add(Path(file).parent)
        for entry in load_catalogue(stage.misconceptions).misconceptions:
            assert entry.title
            used |= {("", entry.id), (stage.misconceptions.rpartition(".")[2], entry.id)}
    (folder,) = folders
    assert load_texts(folder).identifiers <= used
