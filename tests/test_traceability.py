"""Which test holds which rule: the conformance rows of IREE's command buffers, the rules of its generic validation, the
calls that AMD's HIP runtime answers by ending the process, the faults of the first HIP graph command buffer, and cases
that people met in the field. A row without a test is a row that nobody would miss.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

CONFORMANCE = {
    "basic_test: Create, BeginEnd, SubmitEmpty": "conformance/test_basics.py::test_an_empty_recording_is_a_program_that_can_be_replayed",
    "basic_test: begin and end by hand": "conformance/test_basics.py::test_begin_and_end_without_a_with_statement",
    "copy: CopyWholeBuffer": "conformance/test_copies.py::test_a_whole_buffer_is_copied",
    "copy: CopySubBuffer": "conformance/test_copies.py::test_a_part_is_copied_between_two_fills",
    "copy: CopySizeAndAlignmentClasses": "conformance/test_copies.py::test_every_class_of_size_and_alignment_is_copied_exactly",
    "fill: Pattern1/2/4_*": "conformance/test_fills.py::test_a_fill_writes_the_pattern_and_nothing_else",
    "fill: FillSizeAlignmentAndPatternClasses": "conformance/test_fills.py::test_every_class_of_size_and_alignment_is_filled_exactly",
    "update: WholeBuffer": "conformance/test_updates.py::test_a_whole_buffer_is_updated",
    "update: LargerPayload": "conformance/test_updates.py::test_a_larger_payload_arrives_whole",
    "update: WithOffsets": "conformance/test_updates.py::test_offsets_on_both_sides",
    "update: Subspan": "conformance/test_updates.py::test_an_update_of_a_view_lands_in_the_buffer_behind_it",
    "dispatch: DispatchAbs": "conformance/test_dispatches.py::test_views_lead_a_kernel_into_the_middle_of_its_buffers",
    "dispatch: DispatchWithDispatchConstants": "conformance/test_dispatches.py::test_constants_arrive_in_order",
    "dispatch: ScaleAndOffset": "conformance/test_dispatches.py::test_bindings_and_constants_together",
    "dispatch: WriteWorkgroupIds, LargeWorkgroupCount": "conformance/test_dispatches.py::test_every_workgroup_runs_once_under_its_own_id",
    "dispatch: NegateAndDouble": "conformance/test_dispatches.py::test_two_kernels_of_one_executable_in_one_command_buffer",
    "dispatch: UpdateThenDispatch": "conformance/test_dispatches.py::test_input_that_was_there_before_is_dispatched_once",
    "dispatch: ChainedDispatches": "conformance/test_dispatches.py::test_chained_dispatches_see_what_the_one_before_wrote",
    "dispatch: FillDispatchDispatchPipeline": "conformance/test_dispatches.py::test_an_update_and_two_dispatches_in_a_row",
    "dispatch: ReusablePipelineWithDifferentInputs": "conformance/test_slots.py::test_one_recording_with_different_inputs",
    "dispatch: ResubmitWithDifferentBindings": "conformance/test_slots.py::test_one_recording_with_different_outputs",
    "dispatch: MixedDirectAndIndirectBindings": "conformance/test_slots.py::test_direct_and_slot_references_in_one_command",
    "dispatch: DeferredExecuteRetainsDispatchBindingTable": "conformance/test_slots.py::test_the_table_is_copied_and_its_buffers_are_kept",
    "dispatch: MultipleDispatchesInSingleCommandBuffer": "conformance/test_dispatches.py::test_two_dispatches_of_one_command_buffer_go_to_two_bindings",
    "dispatch: MultiDispatchMultiResubmit": "conformance/test_slots.py::test_two_dispatches_submitted_five_times_with_new_buffers",
    "indirect counts: StaticParametersFromQueueUpdate, WholeBufferParameterRef": "conformance/test_indirect_counts.py::test_counts_that_were_there_before",
    "indirect counts: DynamicParametersFromUpdate": "conformance/test_indirect_counts.py::test_counts_from_an_update_in_the_recording",
    "indirect counts: DynamicParametersFromFill": "conformance/test_indirect_counts.py::test_counts_from_a_fill",
    "indirect counts: DynamicParametersFromDispatch": "conformance/test_indirect_counts.py::test_counts_from_a_kernel",
    "indirect counts: SubAllocatedParameterBuffer": "conformance/test_indirect_counts.py::test_counts_in_a_part_of_a_buffer",
    "stress: RapidFillSubmit": "conformance/test_stress.py::test_two_hundred_command_buffers_one_after_the_other_fill",
    "stress: RapidCopySubmit": "conformance/test_stress.py::test_two_hundred_writes_each_copied_by_its_own_command_buffer",
    "stress: LargeFillCommandBuffer": "conformance/test_stress.py::test_512_fills_without_a_barrier",
    "executable: ExportCount, ExportInfo": "conformance/test_executables.py::test_the_exports_are_the_kernels_of_the_source",
    "executable: ExportParameters": "conformance/test_executables.py::test_an_export_tells_its_bindings_and_constants",
    "executable: ExportInfoOutOfRange, LookupExportByNameNotFound": "conformance/test_executables.py::test_an_unknown_export_is_not_found",
    "executable: LookupGlobalByNameNotFoundOrUnsupported": "conformance/test_executables.py::test_an_unknown_global_is_not_found",
    "executable cache: CantPrepareUnknownFormat": "conformance/test_executables.py::test_an_unknown_format_is_refused",
    "event: Create": "conformance/test_events.py::test_an_event_can_be_made_and_closed",
    "event: SignalAndReset": "conformance/test_events.py::test_a_signal_and_a_reset_can_be_replayed",
    "event: SubmitWithChainedCommandBuffers": "conformance/test_events.py::test_a_recording_waits_for_what_another_one_signalled",
    "graph_command_buffer_test: 129 fills, 16 times": "conformance/test_stress.py::test_129_fills_replayed_16_times_leave_each_its_own_value",
}

VALIDATION = {
    "1 begin twice": "recording/test_states.py::test_a_command_buffer_begins_once",
    "2 end with an open debug group": "recording/test_debug_groups.py::test_ending_with_an_open_group_fails_the_command_buffer",
    "2 end without begin": "recording/test_states.py::test_every_verb_is_refused_outside_begin_and_end",
    "3 any verb outside begin and end": "recording/test_states.py::test_every_verb_is_refused_outside_begin_and_end",
    "5 pattern length": "recording/test_transfers.py::test_a_pattern_of_another_length_is_refused",
    "6 fill of ragged patterns": "recording/test_transfers.py::test_a_fill_is_made_of_whole_aligned_patterns",
    "8 updates of any size": "recording/test_transfers.py::test_an_update_has_no_largest_size",
    "9 copy of two lengths": "recording/test_transfers.py::test_copies_between_ranges_of_different_length_are_refused",
    "11 overlapping copy": "recording/test_transfers.py::test_copies_within_one_buffer_must_not_overlap",
    "11 overlap through a whole buffer": "recording/test_transfers.py::test_the_whole_buffer_overlaps_its_own_view",
    "12 discards are checked": "recording/test_debug_groups.py::test_discarding_is_checked_and_records_nothing",
    "15, 16 indirect counts": "recording/test_indirect_dispatch.py::test_counts_that_cannot_be_read_are_refused",
    "18 constants of whole words": "recording/test_push_constants.py::test_the_constants_of_a_dispatch_are_whole_words",
    "20 what a binding may be": "recording/test_dispatch.py::test_an_object_that_is_no_memory_is_refused_by_the_name_of_the_parameter",
    "21 slot beyond the capacity": "recording/test_transfers.py::test_a_slot_beyond_the_binding_table_is_refused",
    "22 replay before end": "recording/test_states.py::test_there_is_no_recording_and_no_program_before_the_end_or_after_a_failure",
    "23 no table": "recording/test_bindings.py::test_a_missing_table_is_refused",
    "24 short table": "recording/test_bindings.py::test_a_short_table_is_refused",
    "25 nothing in a used slot": "recording/test_bindings.py::test_a_used_slot_without_memory_is_refused",
    "27 small binding": "recording/test_bindings.py::test_a_binding_smaller_than_the_largest_range_used_is_refused",
    "28 misaligned binding": "recording/test_bindings.py::test_a_misaligned_binding_is_refused",
    "29 entries beyond the used slots": "recording/test_bindings.py::test_entries_beyond_the_last_used_slot_and_of_unused_slots_are_ignored",
    "hole: direct ranges against the buffer": "recording/test_transfers.py::test_a_range_outside_the_buffer_is_refused_with_its_sum",
    "hole: alignment with the offset of the view": "recording/test_transfers.py::test_the_alignment_of_a_fill_counts_from_the_start_of_the_buffer",
    "hole: merged alignment": "recording/test_bindings.py::test_a_slot_is_aligned_for_every_fill_that_uses_it_whatever_their_order",
    "hole: whole length plus offset wraps": "recording/test_bindings.py::test_the_sum_of_a_binding_never_wraps",
    "hole: constants and bindings against the kernel": "recording/test_push_constants.py::test_another_number_of_bindings_than_the_kernel_has_pointers_is_refused",
    "hole: debug groups below zero": "recording/test_debug_groups.py::test_closing_what_was_not_opened_is_refused_at_once",
    "hole: barrier outside begin and end": "recording/test_states.py::test_every_verb_is_refused_outside_begin_and_end",
    "hole: source of an update": "recording/test_transfers.py::test_an_update_without_host_data_is_refused",
    "hole: workgroup size of zero": "recording/test_dispatch.py::test_a_workgroup_without_work_items_is_refused",
    "validate=False keeps the rules of states": "recording/test_states.py::test_without_validation_the_rules_of_states_hold",
    "validate=False takes ranges on trust": "recording/test_transfers.py::test_without_validation_ranges_are_taken_on_trust_but_not_types",
}
"""Rows 4, 7, 10, 13, 14, 17, 19 and 26 are about queue categories, usage flags, collectives and indirect arguments, which
do not exist here."""

ENDS_THE_PROCESS = {
    "memset node of freed memory": "hip/test_what_is_never_called.py::test_memory_of_a_node_is_there_as_long_as_the_program",
    "memcpy node of freed memory": "conformance/test_lifetimes.py::test_closing_a_buffer_does_not_take_its_memory_from_a_program",
    "imported memory that its owner freed": "foreign/test_array_interface.py::test_memory_that_its_owner_freed_is_refused_before_the_runtime_sees_it",
    "launch on imported memory that was freed": "foreign/test_array_interface.py::test_a_program_does_not_launch_on_memory_that_was_freed_since",
    "3-D copy in a wrong direction": "hip/test_what_is_never_called.py::test_copies_and_fills_are_one_dimensional",
    "2-D memset writes too much": "hip/test_what_is_never_called.py::test_a_memset_block_has_one_row",
    "kernel node of what is no function": "hip/test_what_is_never_called.py::test_only_kernels_of_loaded_code_become_nodes",
    "truncated code object": "hip/test_what_is_never_called.py::test_a_truncated_code_object_never_reaches_the_runtime",
    "destroyed graph": "hip/test_what_is_never_called.py::test_a_closed_program_launches_nothing",
    "unloaded module": "hip/test_what_is_never_called.py::test_a_module_of_a_node_is_there_as_long_as_the_program",
    "free of an interior pointer": "hip/test_what_is_never_called.py::test_a_view_that_goes_frees_nothing",
    "failed node left in the graph": "hip/test_what_is_never_called.py::test_after_a_failed_node_the_graph_is_given_up",
    "duplicate dependency": "hip/test_what_is_never_called.py::test_a_node_never_waits_twice_for_the_same",
    "count of zero": "hip/test_what_is_never_called.py::test_zero_lengths_and_counts_never_reach_the_runtime",
    "block above the compiled size (719)": "recording/test_dispatch.py::test_a_block_of_1024_on_a_kernel_compiled_for_256_names_the_attribute_to_change",
    "grid of 2^32 work-items": "recording/test_dispatch.py::test_a_grid_of_two_to_the_32_work_items_is_refused",
    "too much LDS": "recording/test_dispatch.py::test_declared_and_dynamic_lds_must_fit_the_device_at_hand",
    "host bytes that are read at the launch": "conformance/test_stream_mode.py::test_host_bytes_are_those_of_the_recording",
    "a handle after an error is garbage": "hip/test_failed_calls.py::test_any_failed_call_leaves_nothing_behind",
}

FAULTS = {
    "1 a failed instantiation is swallowed": "hip/test_failed_calls.py::test_a_failed_instantiation_names_the_recording",
    "2 a second begin after a good end": "recording/test_states.py::test_a_command_buffer_begins_once",
    "3 verbs before begin and after end": "recording/test_states.py::test_every_verb_is_refused_outside_begin_and_end",
    "4 the last pushed constant cannot be set": "recording/test_push_constants.py::test_the_whole_area_can_be_set_and_not_a_byte_more",
    "5 the offset of pushed constants wraps": "recording/test_push_constants.py::test_an_offset_near_the_end_of_64_bits_does_not_wrap",
    "6 the number of a set is unchecked": "recording/test_push_constants.py::test_there_are_four_sets",
    "7 binding ordinals are unchecked": "recording/test_push_constants.py::test_a_set_has_no_strange_bindings",
    "8 bindings of earlier dispatches stay": "recording/test_push_constants.py::test_a_list_of_bindings_replaces_the_whole_set",
    "10 a refused command keeps its resources": "recording/test_states.py::test_an_error_in_a_call_leaves_commands_layers_and_resources_as_they_were",
    "11 an error leaves a group open": "recording/test_debug_groups.py::test_an_error_inside_a_group_is_not_hidden_by_the_group",
    "12 a failed node is counted": "hip/test_failed_calls.py::test_a_failed_node_names_its_command",
    "13 a barrier without commands": "recording/test_barriers.py::test_leading_doubled_and_trailing_barriers_cost_nothing_and_lose_no_order",
    "14 a barrier without commands loses order": "conformance/test_barriers.py::test_leading_doubled_and_trailing_barriers_change_nothing",
    "16 pattern lengths of 0, 3 or 8": "recording/test_transfers.py::test_a_pattern_of_another_length_is_refused",
    "17 a ragged fill is cut": "recording/test_transfers.py::test_a_fill_is_made_of_whole_aligned_patterns",
    "18 a misaligned fill": "recording/test_transfers.py::test_the_alignment_of_a_fill_counts_from_the_start_of_the_buffer",
    "19 zero lengths reach HIP": "hip/test_what_is_never_called.py::test_zero_lengths_and_counts_never_reach_the_runtime",
    "20 a pattern read through a wider pointer": "recording/test_transfers.py::test_patterns_offsets_and_lengths_give_the_bytes_of_a_numpy_oracle",
    "20 a pattern read with another byte order": "recording/test_transfers.py::test_a_number_as_a_pattern_has_its_least_significant_byte_first",
    "21 the source of an update is unchecked": "recording/test_transfers.py::test_an_update_without_host_data_is_refused",
    "22 copies are unchecked": "recording/test_transfers.py::test_copies_within_one_buffer_must_not_overlap",
    "23 ranges are not checked against the buffer": "recording/test_transfers.py::test_a_range_outside_the_buffer_is_refused_with_its_sum",
    "24 offsets beyond 4 GiB are cut when recorded": "recording/test_transfers.py::test_offsets_beyond_four_gib_stay_whole",
    "24 offsets beyond 4 GiB are cut for HIP": "hip/test_what_is_never_called.py::test_no_offset_is_cut_to_32_bits",
    "24 offsets beyond 4 GiB are cut for HSA": "hsa/test_kernel_arguments.py::test_no_offset_is_cut_to_32_bits",
    "25 more bindings than there is room for": "recording/test_push_constants.py::test_a_set_holds_sixteen_bindings",
    "26 the upper half of a constant is garbage": "recording/test_dispatch.py::test_arguments_lie_where_the_metadata_says",
    "27 another signature than pointers and words": "conformance/test_arguments.py::test_vectors_and_structures_go_by_value_between_pointers",
    "28 grid, block and LDS are unchecked": "recording/test_dispatch.py::test_a_grid_of_two_to_the_32_work_items_is_refused",
    "29 parameters of every dispatch stay until the end": "hip/test_what_is_never_called.py::test_parameters_of_many_dispatches_take_the_memory_of_one",
    "30 staged bytes go before the launch has read them": "hip/test_replay_calls.py::test_host_bytes_are_kept_until_the_launch_that_reads_them_is_done",
    "31 a failed verb leaves its resources behind": "recording/test_states.py::test_a_refused_call_holds_nothing_of_its_arguments",
    "34 the device is not made current": "hip/test_replay_calls.py::test_every_call_of_the_user_makes_the_device_current_before_anything_of_it_is_used",
    "37 a failed end keeps resources": "recording/test_recording_value.py::test_a_failed_command_buffer_holds_nothing",
    "38 two threads record": "recording/test_states.py::test_another_thread_cannot_record",
    "39 an executable graph goes while it runs": "hip/test_replay_calls.py::test_a_closed_program_is_kept_until_its_launch_is_done",
}
"""Those that are wrong results, memory errors, lost errors, wrong statuses or leaks, by their number; the others are
limitations of the old code."""

FIELD = {
    "rocm-systems#10713: updates use up memory": "conformance/test_slots.py::test_ten_thousand_rebinds_leave_memory_flat",
    "rocm-systems#10021: memory runs out": "conformance/test_threads_and_streams.py::test_memory_that_runs_out_is_a_memory_error_and_the_device_works_on",
    "rocm-systems PR#10714, clr#42: an update is ignored": "conformance/test_compared_replays.py::test_a_change_that_the_runtime_ignores_is_found_at_its_command",
    "hip#3887: stale pointers in long graphs": "conformance/test_slots.py::test_a_512_node_chain_is_right_before_and_after_rebinding",
    "rocm-systems#11070: quadratic updates": "recording/test_scale.py::test_rebinding_reads_a_long_recording_once",
    "rocm-systems#11070: an update costs what the recording is long": "hip/test_replay_calls.py::test_a_rebind_costs_what_changes_and_not_how_long_the_recording_is",
    "chipStar#1498: an update reaches another executable": "conformance/test_slots.py::test_two_programs_of_one_recording_are_bound_independently",
    "chipStar PR#1356: two nodes of one kernel share arguments": "conformance/test_dispatches.py::test_two_dispatches_of_one_kernel_keep_their_own_arguments",
    "rocm-systems#11499: edges are lost in a wide fan-out": "conformance/test_lost_edges.py::test_a_fan_without_one_of_its_edges_is_wrong_in_some_order",
    "hip#3888: updates of 2-D memsets": "hip/test_what_is_never_called.py::test_a_memset_block_has_one_row",
    "rocm-systems#11499: a wide layer loses an edge when it is lowered": "hip/test_graph_edges.py::test_layers_of_random_widths",
    "rocm-systems#11499: a fan of 64": "hip/test_graph_edges.py::test_a_fan_of_64_out_and_in",
    "llama.cpp#24961: a failure names the graph": "hip/test_failed_calls.py::test_a_failed_instantiation_names_the_recording",
    "hipamd#31: child graphs": "conformance/test_nested_recordings.py::test_one_recording_runs_many_times_on_different_memory",
    "hrx-system PR#569: self and duplicate edges": "hip/test_what_is_never_called.py::test_a_node_never_waits_twice_for_the_same",
    "hip#3876: the call that failed is not named": "recording/test_states.py::test_a_command_names_its_index_its_label_and_the_recording",
    "pytorch#155684: one backend refuses what another takes": "conformance/test_same_words.py::test_the_same_dispatches_are_refused",
    "hip#3876, legacy-rocm-build#5337, rocm-systems#6680: host and memory nodes": "hip/test_what_is_never_called.py::test_nobody_in_the_backend_names_a_call_that_is_never_to_be_made",
    "rocm-systems#6509: illegal transitions": "recording/test_states.py::test_every_verb_is_refused_outside_begin_and_end",
    "rocm-systems PR#1849: zero sizes": "hip/test_what_is_never_called.py::test_zero_lengths_and_counts_never_reach_the_runtime",
    "rocm-systems PR#7092: closing in any order": "process/test_programs_at_exit.py::test_closing_in_any_order_then_exit",
    "hip#2450: a kernel of a module in a graph": "conformance/test_dispatches.py::test_every_workgroup_runs_once_under_its_own_id",
    "cuda-python#2039: a buffer goes before the launch": "conformance/test_lifetimes.py::test_a_buffer_that_its_owner_dropped_is_kept_by_the_program",
    "cuda-python#166: host bytes go before the launch": "conformance/test_updates.py::test_host_bytes_are_copied_when_they_are_recorded",
    "pytorch#114844: what is baked in": "recording/test_recording_value.py::test_the_repr_counts_what_is_baked_in",
    "pytorch PR#160351: guessed pointers": "recording/test_dispatch.py::test_arguments_lie_where_the_metadata_says",
    "chipStar#132: memsets of 16 bits": "conformance/test_fills.py::test_a_fill_writes_the_pattern_and_nothing_else",
    "unified-runtime PR#2273: patterns of odd sizes": "conformance/test_fills.py::test_every_small_offset_and_length_agrees_with_numpy",
    "iree#13984: memory that no memset takes": "conformance/test_fills_by_kernels.py::test_no_memset_is_called_and_a_rebind_changes_kernel_nodes",
    "XRT#9424: a fill past the end": "recording/test_transfers.py::test_a_range_outside_the_buffer_is_refused_with_its_sum",
    "pytorch#126753: drawings that Graphviz refuses": "export/test_dot.py::test_hostile_names_stay_text",
    "warp#746: drawings without Graphviz": "export/test_dot.py::test_the_whole_text_of_a_small_recording",
    "omnitrace#335: one bar for the whole graph": "conformance/test_profile.py::test_the_table_the_trace_and_the_page_name_the_same_nodes",
    "warp#1675: a saved graph lacks operations": "capture/test_manifest.py::test_every_type_of_command_can_be_held_and_is_checked",
    "warp#1676: what cannot be saved is only printed": "capture/test_manifest.py::test_a_type_of_command_that_the_format_does_not_know_is_refused_by_name",
    "intellikit PR#169: nothing was captured and nobody said so": "capture/test_manifest.py::test_a_recording_without_commands_is_saved_only_when_that_is_meant",
    "rocm-systems#10603: which instructions an emulator met": "virtual/test_trace.py::test_each_dispatch_appends_a_line_with_its_shape_and_its_instructions",
    "rocm-systems#10603: what an emulator approximates or lacks": "cli/test_doctor.py::test_each_instruction_of_a_target_is_done_approximate_or_absent",
    "OpenCL-Docs#1309: immediate, permanent, legal while running": "conformance/test_slots.py::test_replays_in_flight_keep_the_table_they_were_given",
    "OpenCL-Docs#1465: grids of size zero": "recording/test_dispatch.py::test_a_dispatch_with_any_zero_count_records_nothing_and_holds_nothing",
    "cupy#7431: streams 1 and 2": "foreign/test_array_interface.py::test_the_work_on_the_producers_stream_is_waited_for",
    "iree#20095: a graph with fixed buffers is launched again": "hip/test_replay_calls.py::test_a_replay_without_slots_is_one_launch",
    "iree#17875: indirect dispatch on HIP": "conformance/test_indirect_counts.py::test_counts_from_a_kernel",
    "vllm#22698: the same work without a graph": "conformance/test_stream_mode.py::test_both_modes_leave_the_same_bytes",
}

ROWS = [
    *((f"conformance, {row}", test) for row, test in CONFORMANCE.items()),
    *((f"validation, {row}", test) for row, test in VALIDATION.items()),
    *((f"ends the process, {row}", test) for row, test in ENDS_THE_PROCESS.items()),
    *((f"fault {row}", test) for row, test in FAULTS.items()),
    *((f"field, {row}", test) for row, test in FIELD.items()),
]


@cache
def names_in(path):
    tree = ast.parse((TESTS / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("row", "test"), ROWS, ids=[row for row, _ in ROWS])
def test_the_test_that_holds_a_row_exists(row, test):
    path, name = test.split("::")
    assert name in names_in(path), f"{row} is held by no test: {test}"
