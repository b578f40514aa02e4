"""Constructors that name or order their arguments otherwise."""

import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.session import other_names
from autograder.sandbox.guest.loading import arguments
from autograder.sandbox.guest.loading.arguments import read
from tests.conftest import ASSIGNMENT

WANTED = {"d_in": 3, "d_out": 4, "context_length": 6, "dropout": 0.5, "num_heads": 2}


KNOWN = other_names(ASSIGNMENT)
NEAR = {name: others.near for name, others in KNOWN.items()}


def fit(target, wanted):
    return arguments.fit(target, wanted, KNOWN)


def call(target, **wanted):
    """What a callable that returns its own arguments gets."""
    match = fit(target, wanted or dict(WANTED))
    return target(*match.arguments, **match.keywords)


@pytest.mark.parametrize(
    "target",
    [
        lambda d_in, d_out, context_length, dropout, num_heads: (
            (d_in, d_out, context_length, dropout, num_heads)
        ),
        lambda num_heads, dropout, context_length, d_out, d_in: (
            (d_in, d_out, context_length, dropout, num_heads)
        ),
        lambda dim_in, dim_out, block_size, n_heads, drop_rate: (
            (dim_in, dim_out, block_size, drop_rate, n_heads)
        ),
        lambda din, dout, context_len, p, heads: (din, dout, context_len, p, heads),
        lambda D_IN, dOut, ContextLength, Dropout, numHeads: (
            (D_IN, dOut, ContextLength, Dropout, numHeads)
        ),
        lambda d_in, d_out, contxt_length, droput, num_head: (
            (d_in, d_out, contxt_length, droput, num_head)
        ),
        lambda embed_dim, output_dim, max_seq_len, dropout_rate, nhead: (
            (embed_dim, output_dim, max_seq_len, dropout_rate, nhead)
        ),
        lambda a, b, c, d, e: (a, b, c, d, e),
        lambda a, d_out, c, dropout, e: (a, d_out, c, dropout, e),
        lambda a, b, /, c, d, *, heads: (a, b, c, d, heads),
        lambda d_in, d_out, context_length, dropout=0.0, num_heads=8, debug=False: (
            (d_in, d_out, context_length, dropout, num_heads)
        ),
        lambda d_in, d_out, context_length=1024, rate_of_it=0.1, how_many=12, causal=True: (
            (d_in, d_out, context_length, rate_of_it, how_many)
        ),
        lambda *args: args,
        lambda d_in, d_out, **rest: (
            (d_in, d_out, rest["context_length"], rest["dropout"], rest["num_heads"])
        ),
        lambda **kwargs: tuple(kwargs[name] for name in WANTED),
    ],
)
def test_every_argument_finds_its_place(target):
    """By name, by near name, by misspelling, by position, in any order."""
    assert call(target) == tuple(WANTED.values())


@pytest.mark.parametrize("key", NEAR)
def test_every_near_name_of_the_table_is_understood(key):
    """Alone, each means what its row says."""
    for name in NEAR[key]:
        target = eval(f"lambda {name}: {name}")
        assert fit(target, {key: 7}).keywords == {name: 7}


class TestBias:
    """A switch is set where there is one, and never guessed."""

    @pytest.mark.parametrize("name", ["qkv_bias", "bias", "kv_bias", "use_bias", "qvk_bias"])
    def test_it_is_known_by_many_names(self, name):
        """On and off."""
        target = eval(f"lambda d_in, {name}=False: {name}")
        assert call(target, d_in=3, qkv_bias=True) is True

    def test_off_is_no_loss_where_there_is_no_switch(self):
        """There is no bias, as was asked."""
        match = fit(lambda d_in: d_in, {"d_in": 3, "qkv_bias": False})
        assert (match.keywords, match.dropped, match.notes) == ({"d_in": 3}, (), ())

    def test_on_is_told_where_there_is_no_switch(self):
        """Only what needs the bias is lost."""
        match = fit(lambda d_in, verbose=False: d_in, {"d_in": 3, "qkv_bias": True})
        assert match.keywords == {"d_in": 3}
        assert match.dropped == ("qkv_bias",)
        assert match.notes == ("takes no qkv_bias",)

    def test_a_switch_that_must_be_given_is_off(self):
        """The contract has it optional."""
        assert call(lambda d_in, qkv_bias: (d_in, qkv_bias), d_in=3) == (3, False)

    def test_it_is_given_by_position_where_it_must_be_given(self):
        """The one place that is left."""
        assert call(lambda d_in, flag: flag, d_in=3, qkv_bias=True) is True


class TestWhatHasNoPlace:
    """The call goes on without it; what is lost is told."""

    def test_a_context_length_is_no_loss(self):
        """A mask made in `forward` needs none."""
        match = fit(lambda d_in, d_out: 0, {"d_in": 3, "d_out": 4, "context_length": 6})
        assert match.dropped == ()

    def test_dropout_is_a_loss_where_there_is_some(self):
        """Zero is not."""
        assert fit(lambda d_in: 0, {"d_in": 3, "dropout": 0.5}).dropped == ("dropout",)
        assert fit(lambda d_in: 0, {"d_in": 3, "dropout": 0.0}).dropped == ()

    def test_one_size_for_both_is_told(self):
        """`d_model` is the width of the input."""
        match = fit(lambda d_model, num_heads: 0, {"d_in": 4, "d_out": 4, "num_heads": 2})
        assert match.keywords == {"d_model": 4, "num_heads": 2}
        assert match.dropped == ("d_out",)

    def test_a_callable_that_wants_more_raises_by_itself(self):
        """Nothing is made up."""
        with pytest.raises(TypeError, match="extra"):
            call(lambda d_in, extra: 0, d_in=3)


class TestNotes:
    """What was not called by its own name is told."""

    def test_a_near_name(self):
        """Which one it was."""
        match = fit(lambda d_in, block_size: 0, {"d_in": 3, "context_length": 6})
        assert match.notes == ("context_length was given as block_size (a near name)",)

    def test_a_position(self):
        """It may be wrong."""
        assert fit(lambda a: 0, {"d_in": 3}).notes == ("d_in was given as a (by position)",)

    def test_its_own_name(self):
        """Nothing to say, also with other case."""
        assert fit(lambda D_in: 0, {"d_in": 3}).notes == ()


class TestClasses:
    """The constructor counts, wherever it is inherited from."""

    def test_a_constructor_of_a_base_class(self):
        """Nothing of its own."""

        class Base:
            def __init__(self, din, heads):
                self.got = (din, heads)

        class Derived(Base):
            pass

        assert call(Derived, d_in=3, num_heads=2).got == (3, 2)

    def test_a_constructor_that_passes_the_rest_on(self):
        """`**kwargs` go to the base class, under its names."""

        class Base:
            def __init__(self, din, block_size):
                self.got = (din, block_size)

        class Derived(Base):
            def __init__(self, heads, **kwargs):
                super().__init__(**kwargs)
                self.heads = heads

        made = call(Derived, d_in=3, context_length=6, num_heads=2)
        assert (made.got, made.heads) == ((3, 6), 2)

    def test_a_signature_that_lies_or_raises_is_not_asked(self):
        """The code object is read instead."""

        class Meta(type):
            @property
            def __signature__(cls):
                raise SystemExit

            def __getattribute__(cls, name):
                raise SystemExit

        class Odd(metaclass=Meta):
            def __init__(self, heads):
                self.heads = heads

        assert fit(Odd, {"num_heads": 2}).keywords == {"heads": 2}

    def test_a_partial_has_bound_some(self):
        """By position and by name."""

        class Layer:
            def __init__(self, d_in, d_out, context_length, dropout):
                self.got = (d_in, d_out, context_length, dropout)

        bound = functools.partial(Layer, 3, dropout=0.5)
        match = fit(bound, {"d_out": 4, "context_length": 6})
        assert bound(*match.arguments, **match.keywords).got == (3, 4, 6, 0.5)

    def test_a_decorated_constructor_is_read_through_its_decorator(self):
        """`functools.wraps` says what is within."""

        def decorate(function):
            @functools.wraps(function)
            def around(*args, **kwargs):
                return function(*args, **kwargs)

            return around

        class Layer:
            @decorate
            def __init__(self, din):
                self.got = din

        assert call(Layer, d_in=3).got == 3

    def test_a_class_without_a_constructor_gets_what_the_contract_says(self):
        """And raises by itself."""

        class Empty:
            pass

        assert fit(Empty, {"d_in": 3}).keywords == {"d_in": 3}

    def test_what_shows_no_signature_gets_what_the_contract_says(self):
        """Built-in functions, for example."""
        assert read(print) is None
        assert fit(print, {"d_in": 3}).keywords == {"d_in": 3}


@given(
    names=st.lists(
        st.sampled_from([*WANTED, *(name for row in NEAR.values() for name in row), "x", "y"]),
        unique=True,
        max_size=6,
    ),
    keys=st.lists(st.sampled_from(list(WANTED)), unique=True),
)
def test_no_argument_is_given_twice_and_none_is_made_up(names, keys):
    """Whatever the parameters are called."""
    target = eval(f"lambda {', '.join(names)}: 0")
    match = fit(target, {key: WANTED[key] for key in keys})
    given_values = [*match.arguments, *match.keywords.values()]
    assert set(match.keywords) <= set(names)
    assert len(given_values) <= len(names)
    assert set(given_values) <= {*WANTED.values(), False, 1}
