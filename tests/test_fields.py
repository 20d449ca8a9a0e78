"""Single members of foreign records."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from stenograph.fields import moment


@given(st.integers(-(10**13), 10**14) | st.integers(0, 10**10).map(lambda s: s * 1000))
def test_a_moment_in_milliseconds_is_spelled_as_the_standard_library_does(told: int) -> None:
    assert moment(told) == datetime.fromtimestamp(told / 1000, UTC).isoformat()


def test_what_is_no_moment_is_none() -> None:
    assert [moment(told) for told in (None, True, 1.5, 10**30, -(10**30), {})] == [None] * 6
    assert moment("yesterday") == "yesterday"
