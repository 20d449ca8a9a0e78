"""Tool calls written as XML in a model's text (the reader's rules, section 6)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stenograph.agents.cline.task import TOOL_NAMES, XMLToolCall, names, parse_xml_tools


def call(name: str, *, partial: bool = False, **params: str) -> XMLToolCall:
    return XMLToolCall(name=name, params=params, partial=partial)


READ = "<read_file>\n<path>a.py</path>\n</read_file>"


def test_a_call_is_a_known_tools_tag_with_parameters_as_children() -> None:
    assert parse_xml_tools(f"First this.\n{READ}\nThen that.") == [call("read_file", path="a.py")]


def test_other_text_is_ignored() -> None:
    assert parse_xml_tools("no call, 3 < 4 > 2, <b>bold</b> </read_file> <path>x</path>") == []
    assert parse_xml_tools("") == []


@pytest.mark.parametrize("name", TOOL_NAMES)
def test_every_tool_of_both_agents_is_known(name: str) -> None:
    assert parse_xml_tools(f"<{name}></{name}>") == [call(name)]


def test_the_names_hold_the_seeds_and_those_of_other_releases() -> None:
    assert len(TOOL_NAMES) == len(set(TOOL_NAMES)) == 40
    assert {"generate_explanation", "use_skill", "plan_mode_response", "inspect_site"} < set(TOOL_NAMES)


@pytest.mark.parametrize(
    "text",
    [
        "<read_files><path>a</path></read_files>",
        "<Read_File></Read_File>",
        '<read_file path="a"></read_file>',
        "<read_file ></read_file>",
        "< read_file></read_file>",
        "<wait_time>15</wait_time>",
        "<task_progress>\n- [x] look\n</task_progress>\n</task_progress>",
        "&lt;read_file&gt;",
    ],
)
def test_only_the_exact_tag_of_a_known_tool_opens_a_call(text: str) -> None:
    assert parse_xml_tools(text) == []


def test_only_listed_parameters_open_a_parameter() -> None:
    text = "<read_file><wait_time>15</wait_time><path>a</path><line_range>1-2</line_range></read_file>"
    assert parse_xml_tools(text) == [call("read_file", path="a")]


def test_values_are_trimmed_and_raw() -> None:
    text = "<execute_command><command>\n\u00a0 echo &lt; <b>\n<path>x</path> \n</command></execute_command>"
    assert parse_xml_tools(text) == [call("execute_command", command="echo &lt; <b>\n<path>x</path>")]


def test_a_parameter_ends_at_its_first_closing_tag() -> None:
    text = "<attempt_completion><result>a</result>b</result></attempt_completion>"
    assert parse_xml_tools(text) == [call("attempt_completion", result="a")]


def test_a_tools_closing_tag_inside_a_parameter_closes_nothing() -> None:
    text = "<execute_command><command>echo '</execute_command>'</command></execute_command>"
    assert parse_xml_tools(text) == [call("execute_command", command="echo '</execute_command>'")]


def test_the_last_of_repeated_parameters_counts() -> None:
    text = "<read_file><path>a</path><path>b</path></read_file>"
    assert parse_xml_tools(text) == [call("read_file", path="b")]


def test_the_content_of_a_written_file_reaches_to_the_last_closing_tag() -> None:
    text = (
        "<write_to_file><path>a.xml</path><content>\n<content>inner</content>\n<path>b</path>\n</content>"
        "</write_to_file>"
    )
    assert parse_xml_tools(text) == [
        call("write_to_file", path="b", content="<content>inner</content>\n<path>b</path>")
    ]
    other = text.replace("write_to_file", "insert_content")
    assert parse_xml_tools(other)[0].params["content"] == "<content>inner"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<read_file>", call("read_file", partial=True)),
        ("<read_file>\n<path>a", call("read_file", path="a", partial=True)),
        ("<read_file><path>a</pat", call("read_file", path="a</pat", partial=True)),
        ("<read_file><path>a</path>", call("read_file", path="a", partial=True)),
        ("<read_file><path>a</path></read_fil", call("read_file", path="a", partial=True)),
        (
            "<write_to_file><path>a</path><content>x</content>y</content>",
            call("write_to_file", path="a", content="x", partial=True),
        ),
    ],
)
def test_a_call_without_its_closing_tag_is_partial_and_keeps_what_is_there(
    text: str, found: XMLToolCall
) -> None:
    assert parse_xml_tools(text) == [found]


def test_calls_are_found_in_code_fences_and_in_thinking() -> None:
    assert (
        parse_xml_tools(f"```xml\n{READ}\n```\n<thinking>{READ}</thinking>")
        == [call("read_file", path="a.py")] * 2
    )


def test_a_call_opened_in_thinking_goes_on_to_the_first_closing_tag() -> None:
    text = f"<thinking>I should <read_file> it.</thinking>\n{READ}"
    assert parse_xml_tools(text) == [call("read_file", path="a.py")]


def test_another_tools_tags_inside_a_call_are_ignored() -> None:
    text = "<read_file><search_files><path>a</path></search_files></read_file>"
    assert parse_xml_tools(text) == [call("read_file", path="a")]


def test_names_are_distinct_and_sorted() -> None:
    calls = parse_xml_tools(f"{READ}<execute_command></execute_command>{READ}<attempt_completion>")
    assert names(calls) == ["attempt_completion", "execute_command", "read_file"]
    assert names([]) == []


TAGS = [
    "<read_file>",
    "</read_file>",
    "<path>",
    "</path>",
    "<write_to_file>",
    "</write_to_file>",
    "<content>",
]


@given(st.lists(st.sampled_from([*TAGS, "</content>", "x", "\n", "<", "\ud800"])).map("".join))
def test_parsing_never_fails_and_only_the_last_call_is_partial(text: str) -> None:
    calls = parse_xml_tools(text)
    assert not any(found.partial for found in calls[:-1])
    assert len(calls) <= text.count("<read_file>") + text.count("<write_to_file>")


@pytest.mark.parametrize(
    "text",
    [
        "<read_file>" * 200_000,
        "<read_file>" + "<path>" * 300_000,
        "<read_file>" + "<path></path>" * 200_000,
        "<write_to_file><content></content></write_to_file>" * 50_000,
        "<" * 2_000_000,
    ],
)
def test_time_grows_with_the_text_alone(text: str) -> None:
    began = time.process_time()
    parse_xml_tools(text)
    assert time.process_time() - began < 3
