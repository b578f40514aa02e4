"""`autograder.release.stubs`: from a solution's source to what a student gets."""

import ast

import pytest

from autograder.errors import InternalError
from autograder.release.stubs import find_regions, leaks, solution_lines, stub

SOLUTION = '''\
"""Doubling."""

import math

import torch
from torch import nn

from .earlier import Halving


def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    """Double it."""
    ### BEGIN SOLUTION
    factor = math.sqrt(times * times)
    return x * factor
    ### END SOLUTION


class Doubling(nn.Module):
    """Doubles."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ### BEGIN SOLUTION
        # The function above does it.
        return double(x)
        ### END SOLUTION
'''


def stub_of(source: str) -> str:
    return stub(source, "doubling.py", lambda name: f"{name}: not written yet")


class TestStub:
    def test_bodies_give_way_to_an_error_that_names_what_is_missing(self) -> None:
        text = stub_of(SOLUTION)
        assert '    raise NotImplementedError("double: not written yet")\n' in text
        assert '        raise NotImplementedError("Doubling.forward: not written yet")\n' in text

    def test_nothing_of_a_body_is_left(self) -> None:
        text = stub_of(SOLUTION)
        assert leaks(text, solution_lines(SOLUTION, "doubling.py")) == ()
        assert "SOLUTION" not in text
        assert "above" not in text

    def test_signatures_docstrings_and_class_lines_stay(self) -> None:
        text = stub_of(SOLUTION)
        assert "def double(x: torch.Tensor, times: int = 2) -> torch.Tensor:\n" in text
        assert '    """Double it."""\n' in text
        assert 'class Doubling(nn.Module):\n    """Doubles."""\n' in text

    def test_only_imports_that_are_needed_stay(self) -> None:
        imports = [node for node in ast.parse(stub_of(SOLUTION)).body if "Import" in str(node)]
        shown = [ast.unparse(node) for node in imports]
        assert shown == ["import torch", "from torch import nn", "from .earlier import Halving"]

    def test_a_long_message_is_wrapped(self) -> None:
        text = stub(SOLUTION, "doubling.py", lambda name: "x" * 80)
        assert max(map(len, text.splitlines())) <= 100
        assert "NotImplementedError(\n" in text

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ("    ### BEGIN SOLUTION\n    factor", "    factor", "'### END SOLUTION' without"),
            ("    return x * factor\n    ### END SOLUTION", "    return x", "without its partner"),
            (
                "        return double(x)\n        ### END SOLUTION\n",
                "        return x\n",
                "partner",
            ),
            (
                "    factor = math.sqrt(times * times)\n",
                "    ### END SOLUTION\n    factor = math.sqrt(times * times)\n"
                "    ### BEGIN SOLUTION\n",
                "the body of double is not all between the marks",
            ),
            (
                "    ### BEGIN SOLUTION\n    factor",
                "    times += 1\n    ### BEGIN SOLUTION\n    factor",
                "the body of double is not all between the marks",
            ),
            (
                "class Doubling",
                "### BEGIN SOLUTION\nHALF = 0.5\n### END SOLUTION\n\n\nclass Doubling",
                "must be a function's whole body",
            ),
        ],
    )
    def test_marks_that_do_not_hold_a_whole_body_are_the_kits_fault(
        self, old: str, new: str, told: str
    ) -> None:
        assert old in SOLUTION
        with pytest.raises(InternalError, match=rf"doubling\.py:\d+: .*{told}"):
            stub_of(SOLUTION.replace(old, new, 1))


class TestLeaks:
    def test_a_solution_is_found_in_whatever_white_space(self) -> None:
        secrets = solution_lines(SOLUTION, "doubling.py")
        assert leaks("  factor =   math.sqrt( times*times )\n", secrets)
        assert leaks("factor = math.sqrt(\n    times * times\n)", secrets)

    def test_short_lines_tell_nothing(self) -> None:
        secrets = solution_lines(SOLUTION, "doubling.py")
        assert "returndouble(x)" not in secrets
        assert secrets == {
            "factor=math.sqrt(times*times)",
            "returnx*factor",
            "#Thefunctionabovedoesit.",
        } - {"returnx*factor"}

    def test_regions_are_found_with_their_marks(self) -> None:
        lines = SOLUTION.splitlines()
        found = [
            (lines[each.first - 1], lines[each.last - 1])
            for each in find_regions(SOLUTION, "doubling.py")
        ]
        assert [(a.strip(), b.strip()) for a, b in found] == [
            ("### BEGIN SOLUTION", "### END SOLUTION")
        ] * 2
