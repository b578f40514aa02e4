"""Running one check the way pytest does, or seeing that this is not needed."""

from __future__ import annotations

import inspect

import pytest
from _pytest.fixtures import FixtureDef


def plain_fixture(item: pytest.Function, name: str) -> FixtureDef[object] | None:
    """A fixture that is a function of this test alone, with nothing to take down afterwards."""
    (*_, fixture) = item._fixtureinfo.name2fixturedefs.get(name, (None,))
    if fixture is None or fixture.scope != "function" or fixture.params is not None:
        return None
    return None if inspect.isgeneratorfunction(fixture.func) else fixture


def end_by_pytest(item: pytest.Function) -> BaseException | None:
    """Set up and run one test, after tearing down the one before; what it raised.

    This is what pytest's own protocol does, without the reports that nobody prints.
    """
    state = item.session._setupstate
    state.teardown_exact(item)
    item._initrequest()
    try:
        state.setup(item)
        item.runtest()
    except Exception as error:
        return error
    finally:
        item._request = False  # type: ignore[assignment]
        item.funcargs = None  # type: ignore[assignment]
    return None
