"""`assignment.assignment`: what is taught, what it is worth, and how strictly the file is read."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.assignment import assignment as module
from autograder.assignment.assignment import Assignment, anchors, load_assignment
from autograder.errors import UsageError
from tests.conftest import ROOT

OURS = ROOT / "assignments" / "attention" / "assignment.toml"

SMALL = """\
schema = 1
id = "small"
title = "A small assignment"
points = 5
solutions = "solutions"

[[forbidden]]
operators = ["_softmax"]
steps = ["softmax"]
within = ["softmax"]

[[stages]]
id = "first"
title = "The first stage"
module = "first"
handout = "first.md"
checks = "autograder.checks.first"
misconceptions = "autograder.attention.misconceptions.first"
points = 5

[stages.names]
scores = { kind = "function", parameters = ["query"] }
softmax = { kind = "function", parameters = ["scores"] }

[[stages.criteria]]
id = "scores"
title = "Scores"
section = "scores"
points = 2
shares = [{ name = "scores", points = 2 }]

[[stages.criteria]]
id = "softmax"
title = "Softmax"
section = "the-softmax"
points = 3
shares = [{ name = "softmax", points = 2 }, { name = "scores", points = 1 }]
"""

# The points that scripts outside rely on: stage, criterion, then name (aspect) and points.
RUBRIC = """
simplified scores: attention_scores 2, attention_weights 1
simplified softmax: softmax 3, attention_weights 2
simplified context: context_vector 2, context_vectors 3
simplified form: softmax 1, attention_weights 1
trainable projections: SelfAttention_v1 3, SelfAttention_v2 3
trainable scores: SelfAttention_v1 1, SelfAttention_v2 1
trainable scaling: SelfAttention_v1 2, SelfAttention_v2 2
trainable softmax: SelfAttention_v1 2, SelfAttention_v2 2
trainable context: SelfAttention_v1 1, SelfAttention_v2 1
trainable state: SelfAttention_v1 1, SelfAttention_v2 1, SelfAttention_v2 (bias) 1
trainable form: SelfAttention_v1 1, SelfAttention_v2 1
trainable copying: copy_weights 2
causal projections: CausalAttention 2
causal scores: CausalAttention 1
causal scaling: CausalAttention 3
causal masking: causal_mask 2, renormalized_weights 1, masked_weights 1, CausalAttention 5
causal softmax: renormalized_weights 2, masked_weights 1, CausalAttention 2
causal dropout: CausalAttention 4
causal context: CausalAttention 2
causal state: CausalAttention 2
causal form: CausalAttention 2
multi_head stacking: MultiHeadAttentionWrapper 4
multi_head projections: MultiHeadAttention 2
multi_head split: MultiHeadAttention 2, MultiHeadAttention (no loop over heads) 1, \
MultiHeadAttention (divisibility) 1
multi_head scores: MultiHeadAttention 1
multi_head scaling: MultiHeadAttention 2
multi_head masking: MultiHeadAttention 2
multi_head softmax: MultiHeadAttention 1
multi_head dropout: MultiHeadAttention 2
multi_head context: MultiHeadAttention 1
multi_head merge: MultiHeadAttention 3
multi_head output: MultiHeadAttention 2
multi_head state: MultiHeadAttentionWrapper 1, MultiHeadAttention 1
multi_head form: MultiHeadAttention 1
multi_head equivalence: merge_heads 2
multi_head gpt2: gpt2_attention 1
"""

Load = Callable[..., Assignment]


@pytest.fixture(scope="module")
def attention() -> Assignment:
    return load_assignment(OURS)


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the small assignment after replacing a piece of its text."""

    def load_changed(old: str = "", new: str = "") -> Assignment:
        assert old in SMALL
        return load_assignment(write_small(tmp_path, SMALL.replace(old, new, 1)))

    return load_changed


def write_small(folder: Path, text: str = SMALL) -> Path:
    (folder / "solutions").mkdir(parents=True, exist_ok=True)
    (folder / "solutions" / "first.py").touch()
    (folder / "first.md").write_text("# First\n\n## Scores\n\n## The softmax\n")
    (folder / "assignment.toml").write_text(text)
    return folder / "assignment.toml"


class TestTheAttentionAssignment:
    def test_its_rubric_is_the_agreed_one(self, attention: Assignment) -> None:
        lines = []
        for stage in attention.stages:
            for criterion in stage.criteria:
                shares = (
                    f"{share.name}{f' ({share.aspect})' if share.aspect else ''} {share.points}"
                    for share in criterion.shares
                )
                lines.append(f"{stage.id} {criterion.id}: {', '.join(shares)}")
        assert lines == RUBRIC.strip().splitlines()

    def test_its_stages_are_worth_a_hundred_points(self, attention: Assignment) -> None:
        assert [stage.points for stage in attention.stages] == [15, 25, 30, 30]
        assert attention.points == 100

    def test_each_name_has_the_parameters_of_the_solution(self, attention: Assignment) -> None:
        for spec in attention.name_specs:
            source = (attention.solutions / f"{spec.module}.py").read_text()
            keyword = "def" if spec.kind == "function" else "class"
            found = re.search(rf"^{keyword} {spec.name}\(.*?(?=^\S|\Z)", source, re.M | re.S)
            assert found is not None, spec.name
            signature = re.search(r"def \w+\((.*?)\)\s*->", found[0], re.S)
            assert signature is not None, spec.name
            parameters = re.findall(r"(\w+)\s*:", signature[1])
            assert tuple(parameters) == spec.parameters, spec.name

    def test_names_are_looked_up_with_their_stage(self, attention: Assignment) -> None:
        assert len(attention.names) == len(set(attention.names)) == 16
        assert attention.stage_of("merge_heads").id == "multi_head"
        assert attention.stage("causal").criterion("masking").points == 9

    def test_an_unknown_stage_is_told_with_the_known_ones(self, attention: Assignment) -> None:
        with pytest.raises(
            UsageError, match=r"'casual'.*simplified, trainable, causal, multi_head"
        ):
            attention.stage("casual")

    def test_library_softmax_counts_within_softmax_only(self, attention: Assignment) -> None:
        within = {each.operators: each.within for each in attention.forbidden}
        assert within["_softmax", "_log_softmax"] == ("softmax",)
        assert within["_scaled_dot_product_*",] == ()

    def test_it_cannot_be_changed_once_loaded(self, attention: Assignment) -> None:
        with pytest.raises(AttributeError):
            attention.points = 99  # type: ignore[misc]


class TestStrictness:
    def test_the_small_assignment_loads(self, load: Load) -> None:
        assert load().stage("first").names == ("scores", "softmax")

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ('id = "first"', 'id = "first"\ncolour = "red"', r"colour.*\$\.stages\[0\] \(first\)"),
            ("points = 2\n", 'points = "2"\n', r"criteria\[0\]\.points"),
            ("points = 2\n", "points = 0\n", r"criteria\[0\]\.points"),
            ('title = "Scores"\n', "", r"title.*criteria\[0\] \(scores\)"),
            ('kind = "function"', 'kind = "method"', r"method.*names"),
            ("schema = 1", "schema = 2", "schema"),
            ("schema = 1", "schema = 1\nblocked_earns = 2", "blocked_earns"),
            ("schema = 1", "schema = 1\nlimits = { call_seconds = 0 }", r"limits\.call_seconds"),
            ("schema = 1", "schema = 1\nlimits = { memory = 512 }", "memory.*limits"),
            ("schema = 1", "schema = ", "line 1"),
        ],
    )
    def test_what_does_not_fit_is_told_with_its_place(
        self, load: Load, old: str, new: str, told: str
    ) -> None:
        with pytest.raises(UsageError, match=rf"assignment\.toml: .*{told}"):
            load(old, new)

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            (
                "points = 2 }]",
                "points = 4 }]",
                r"stages\.first\.criteria\.scores\.shares: 4 adds up to 4 points,"
                " the criterion has 2",
            ),
            (
                'points = 3\nshares = [{ name = "softmax", points = 2 }',
                'points = 4\nshares = [{ name = "softmax", points = 3 }',
                r"stages\.first\.criteria: 2 \+ 4 adds up to 6 points, the stage has 5",
            ),
            ("points = 5\n", "points = 7\n", "stages: 5 adds up to 5 points, the assignment has 7"),
        ],
        ids=["shares", "criteria", "stages"],
    )
    def test_points_that_do_not_add_up_are_told_with_both_sums(
        self, load: Load, old: str, new: str, told: str
    ) -> None:
        with pytest.raises(UsageError, match=told):
            load(old, new)

    @pytest.mark.parametrize(
        ("old", "new", "told"),
        [
            ('[{ name = "scores"', '[{ name = "score"', "no name 'score'; known are scores, soft"),
            ('steps = ["softmax"]', 'steps = ["masking"]', r"forbidden\[0\]\.steps.*'masking'"),
            ('within = ["softmax"]', 'within = ["soft"]', r"forbidden\[0\]\.within.*'soft'"),
            ('id = "softmax"', 'id = "scores"', "the criterion scores appears twice"),
            (
                '{ name = "softmax", points = 2 }, { name = "scores"',
                '{ name = "scores", points = 2 }, { name = "scores"',
                "the share scores appears twice",
            ),
            (
                'name = "softmax", points = 2 }, { name = "scores", points = 1',
                'name = "scores", points = 3',
                r"names\.softmax: no criterion has a share",
            ),
            ('section = "scores"', 'section = "score"', r"first\.md has no heading.*'score'"),
            ('handout = "first.md"', 'handout = "1.md"', r"stages\.first\.handout: .*1\.md"),
            (
                'solutions = "solutions"',
                'solutions = "answers"',
                r"stages\.first\.module: .*answers",
            ),
        ],
    )
    def test_what_refers_to_nothing_is_refused(
        self, load: Load, old: str, new: str, told: str
    ) -> None:
        with pytest.raises(UsageError, match=told):
            load(old, new)

    def test_two_stages_of_one_id_are_refused(self, tmp_path: Path) -> None:
        stage = SMALL[SMALL.index("[[stages]]") :]
        text = SMALL.replace("points = 5", "points = 10", 1) + stage
        with pytest.raises(UsageError, match="the stage first appears twice"):
            load_assignment(write_small(tmp_path, text))

    @given(data=st.data())
    def test_no_points_of_ours_can_be_changed_alone(self, data: st.DataObject) -> None:
        text = OURS.read_text()
        place = data.draw(st.sampled_from(list(re.finditer(r"points = (\d+)", text))))
        points = data.draw(st.integers(1, 200).filter(lambda each: each != int(place[1])))
        changed = f"{text[: place.start()]}points = {points}{text[place.end() :]}"
        contents = module.parse(changed, OURS)
        assert next(module.problems(contents), None) is not None


class TestAnchors:
    def test_headings_become_anchors_as_markdown_viewers_make_them(self) -> None:
        text = "# Stage 1: it's here\n\ntext # no heading\n\n## GPT-2\n### A `b_c`\n"
        assert anchors(text) == ("stage-1-its-here", "gpt-2", "a-b_c")

    def test_what_stands_in_a_code_block_is_no_heading(self) -> None:
        assert anchors("```\n# a comment\n```\n# Heading\n") == ("heading",)
