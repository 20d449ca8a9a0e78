"""The rules of reading a task directory, each with the test that holds it; the last few stand here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stenograph.agents.cline.summary import of_loaded
from stenograph.agents.cline.task import Task, parse_task, read_task
from taskdirs import DATA

TESTS = Path(__file__).parent
LEGACY = DATA / "cline-store" / "legacy_read" / "tasks" / "1796041090826"
RULES = {
    "files": {
        "the constants name the files and the storage directories": "the_file_names_are_the_writers",
        "a file over 2^30 bytes is refused": "a_file_over_the_limit_is_refused_without_being_loaded",
        "leftovers of atomic writes are other files": (
            "the_units_of_a_task_are_its_files_units_and_one_for_each_other_file"
        ),
        "an index cache beside the tasks is no task": (
            "sessions_are_found_from_the_storage_its_tasks_a_task_and_a_file"
        ),
    },
    "arrays, faults, units": {
        "element by element; no object keeps its bytes and an error, the file has no fault": (
            "an_element_that_is_no_object_is_kept_with_its_error_and_is_no_fault_of_the_file"
        ),
        "a document that is no array is a fault": "a_document_that_is_no_array_is_one_fault",
        "of a cut document the elements that end before the cut": (
            "an_array_cut_short_keeps_the_elements_that_end_before_the_cut"
        ),
        "a stale tail is a fault": "a_complete_array_with_a_stale_tail_is_one_fault",
        "beyond the page: what is behind damage is recovered and marked": (
            "elements_behind_damage_are_recovered_and_marked"
        ),
        "an absent file has an empty name and no units": (
            "present_tells_a_file_that_is_there_from_one_that_is_not"
        ),
        "a task's units": "the_units_of_a_task_are_its_files_units_and_one_for_each_other_file",
        "an index element that was found is a unit": "an_entry_of_the_index_is_a_unit_when_it_was_found",
    },
    "lossless": {
        "the same bytes back": "load_then_save_gives_the_same_bytes",
        "one edit, all other bytes the same": "one_edited_member_leaves_every_other_byte_the_same",
        "undeclared, null and misfitting members are kept": (
            "undeclared_members_null_ones_and_those_of_another_type_are_kept"
        ),
        "misfits make no record bad": "members_of_another_type_make_no_record_bad",
        "a block that is no object keeps its bytes and its error": (
            "a_block_that_is_no_object_keeps_its_bytes_and_its_error"
        ),
        "content is a string or blocks": "content_is_text_or_blocks_and_either_may_be_edited",
        "other content has an error": "content_that_is_neither_text_nor_blocks_is_kept_with_an_error",
        "absent content is not written back": "absent_content_is_not_written_back",
        "numbers, escapes and order survive": "every_spelling_survives_an_edit_beside_it",
    },
    "types": {
        "Message": "a_message_has_the_members_of_both_agents",
        "standalone reasoning": "standalone_reasoning_is_of_type_reasoning_and_has_no_role",
        "tool uses in order": "tool_uses_are_the_blocks_of_that_type_that_could_be_read_in_order",
        "Block": "a_block_has_the_members_of_every_type",
        "UIMessage": "a_ui_message_has_the_members_of_both_agents",
        "kind": "kind_is_the_ask_or_the_say_as_type_names",
        "history index": "the_history_index_is_untold_only_when_it_is_absent_or_no_number",
        "deleted range": "the_deleted_range_is_read_by_the_range_rule",
        "ReqInfo": "req_info_is_the_text_of_a_request_decoded",
        "none when no JSON object": "req_info_is_none_for_other_kinds_and_for_what_is_no_json_object",
        "has usage": "a_request_has_usage_when_any_count_or_a_cost_is_there",
        "TaskMetadata": "metadata_has_models_and_environments",
        "HistoryItem": "a_history_item_has_the_members_of_both_agents",
        "ContextUpdate": "context_edits_are_told_one_by_one",
        "Task": "a_task_tells_its_place_its_variant_and_every_file",
    },
    "functions": {
        "Int": "int_is_an_integer_written_as_a_number_or_a_string_of_one",
        "Float": "float_is_a_number_or_a_string_of_one",
        "IsNull": "null_is_what_is_absent_or_null",
        "Millis": "millis_is_a_time_in_ms_as_a_number_or_a_string_of_one",
        "Millis outside its years": "millis_is_none_for_anything_else_and_outside_the_years_1970_to_9999",
        "Range": "range_is_exactly_two_integers_with_start_at_most_end",
        "TaskDir": "the_task_dir_is_the_directory_itself_or_the_files",
        "IsTaskFile": "a_task_file_is_a_main_file_in_a_directory_inside_tasks",
        "FindSessions": "sessions_are_found_from_the_storage_its_tasks_a_task_and_a_file",
        "FindSessions skips what cannot be listed": "a_directory_that_cannot_be_listed_is_skipped",
        "ReadTask": "reading_fails_only_without_a_directory_or_without_both_main_files",
        "ParseTask": "parsing_needs_no_file_system_and_tells_the_variant_by_shape",
        "FindHistory": "history_is_the_first_element_that_names_the_id",
        "FindHistory raises": "history_raises_when_what_names_the_id_is_no_object_of_the_items_members",
        "ParentTask": "the_parent_task_is_what_the_history_item_names_else_empty",
        "ParseMessages, ParseUI, ParseContextHistory": "every_array_file_comes_back_from_each_parser",
        "variant by the storage's name": "the_storage_directory_tells_the_variant_before_any_shape",
        "variant by shape": "shapes_that_only_one_agent_writes_tell_the_variant",
        "claude_messages.json": "the_oldest_name_is_read_as_what_it_holds",
        "an entry of edits that does not read": "an_entry_of_context_edits_that_does_not_read_is_one_unit",
    },
    "XML": {
        "a call": "a_call_is_a_known_tools_tag_with_parameters_as_children",
        "other text is ignored": "other_text_is_ignored",
        "a missing end is partial": "a_call_without_its_closing_tag_is_partial_and_keeps_what_is_there",
        "it never fails": "parsing_never_fails_and_only_the_last_call_is_partial",
        "names": "names_are_distinct_and_sorted",
        "known names": "the_names_hold_the_seeds_and_those_of_other_releases",
        "only listed parameters": "only_listed_parameters_open_a_parameter",
        "values are trimmed": "values_are_trimmed_and_raw",
        "Roo trims content less": "roo_trims_a_files_content_less",
        "a parameter ends at its first closing tag": "a_parameter_ends_at_its_first_closing_tag",
        "content reaches to the last closing tag": (
            "the_content_of_a_written_file_reaches_to_the_last_closing_tag"
        ),
    },
    "what the model saw": {
        "messages 0 and 1, then those behind the range": (
            "a_deleted_range_leaves_out_what_is_behind_the_first_two_messages"
        ),
        "results of the first kept message are dropped": (
            "tool_results_of_the_first_message_behind_a_cut_are_dropped"
        ),
        "edits are applied, the last wins": "an_edit_replaces_a_blocks_text_and_the_last_one_wins",
        "an edit of a result": "an_edit_of_a_tool_result_replaces_its_first_text",
        "missing results are filled in": "a_missing_result_is_filled_in_and_results_stand_first",
        "the range that the answer's messages are stamped with": (
            "the_range_in_force_is_the_one_that_the_answers_messages_are_stamped_with"
        ),
        "Roo: the last summary and what follows": "roo_sends_the_last_summary_and_what_follows",
        "Roo: orphan results": "roo_drops_results_of_calls_that_are_not_sent",
        "Roo: hidden by a marker that is there": "roo_leaves_out_what_a_marker_that_is_there_hides",
        "Roo: orphaned parents count as kept": "roo_sends_messages_whose_summary_is_gone",
    },
    "usage and cost": {
        "which kinds tell usage": "usage_is_told_by_every_kind_that_counts",
        "totals, metrics left out, condensing added": "totals_add_every_paid_call_once",
        "why a request ended": "the_reason_of_a_cancelled_request_is_a_warning",
    },
}
NAMES = sorted({name for rules in RULES.values() for name in rules.values()})


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_has_its_test(name: str) -> None:
    sources = "".join(path.read_text("utf-8") for path in TESTS.glob("test_cline_task*.py"))
    assert len(re.findall(rf"^def test_{name}\b", sources, re.M)) == 1


def dump(*values: Any) -> bytes:
    return json.dumps(values).encode()


def test_a_task_tells_its_place_its_variant_and_every_file() -> None:
    task = read_task(LEGACY)
    assert (task.dir, task.id) == (str(LEGACY), "1796041090826")
    assert (task.variant, task.variant_by, task.guessed) == ("classic", "file taskHistory.json", True)
    assert [(each.name, len(each.elements), each.error, each.present) for each in (task.api, task.ui)] == [
        ("api_conversation_history.json", 5, None, True),
        ("ui_messages.json", 8, None, True),
    ]
    assert (task.context.name, task.context.present) == ("", False)
    assert (task.has_metadata, task.metadata_error) == (True, None)
    assert task.metadata is not None
    assert (task.has_settings, task.settings, task.settings_error) == (False, None, None)
    assert task.history is not None
    assert (task.history.id, task.history_file) == (task.id, "state/taskHistory.json")
    assert (task.history_error, task.history_unit) == (None, True)
    assert (task.others, task.dirs, task.units) == ([], [], 5 + 8 + 1 + 1)


def test_parsing_needs_no_file_system_and_tells_the_variant_by_shape() -> None:
    files = {path.name: path.read_bytes() for path in LEGACY.iterdir()}
    task = parse_task("17", files)
    assert (task.dir, task.id, task.guessed, task.variant) == ("", "17", True, "classic")
    assert task.variant_by == "metadata member model_usage"
    assert (task.history, task.history_file, task.history_unit) == (None, "", False)
    assert task.dump() == files


def usage(**counts: Any) -> str:
    return json.dumps(counts)


def shown(kind: str, text: str = "", **members: Any) -> dict[str, Any]:
    return {"ts": 1, "type": "say", "say": kind, "text": text, **members}


def priced() -> Task:
    answer = {
        "role": "assistant",
        "content": "a",
        "metrics": {"tokens": {"prompt": 900, "completion": 900, "cached": 900}, "cost": 900},
    }
    ui = dump(
        shown("api_req_started", usage(request="r", tokensIn=10, tokensOut=2, cacheWrites=3, cost=0.5)),
        shown("api_req_started", usage(tokensIn="4", cacheReads=7, cancelReason="user_cancelled")),
        shown("deleted_api_reqs", usage(tokensIn=100, tokensOut=20, cost=0.25)),
        shown("subagent_usage", usage(source="subagents", tokensIn=1000, tokensOut=200, cost=0.125)),
        shown("condense_context", contextCondense={"cost": 2, "summary": "s"}),
        shown("text", usage(tokensIn=5)),
    )
    return parse_task("17", {"ui_messages.json": ui, "api_conversation_history.json": dump(answer)})


def test_totals_add_every_paid_call_once() -> None:
    task = priced()
    totals = of_loaded(task, task.ui.elements).totals
    assert (totals.tokens_in, totals.tokens_out, totals.cache_writes, totals.cache_reads) == (1114, 222, 3, 7)
    assert totals.cost == 2.875


def test_the_reason_of_a_cancelled_request_is_a_warning() -> None:
    from stenograph.agents.cline.timeline import timeline
    from stenograph.model import Warned

    warned = [entry for entry in timeline(priced()) if isinstance(entry, Warned)]
    assert [(entry.message, entry.code) for entry in warned] == [("user_cancelled", "user_cancelled")]
