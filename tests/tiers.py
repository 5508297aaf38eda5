# SPDX-License-Identifier: Apache-2.0
"""Three tiers: `make test` runs tests without a mark, `make test-slow` those marked `slow`, `make test-long` `long`.

The rule: in `SLOW_DIRECTORIES` all tests are slow but those of `FIRST`, at least one of each kind of fault, and attacks
that take seconds; elsewhere none is but those of `SLOW`. Those of `LONG` are long wherever they are: each takes minutes
on a slow machine, and another of its kind, or the same with another parameter, is in the tiers before, or it runs
packages of others, whose versions are locked, or makes what the docs show, or has a bound that only an idle machine
keeps. Property tests run in the first two tiers, with few examples in the first one. The first two tiers together have
half an hour on two idle cores: what a new test takes beyond that, another one gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import settings

SLOW_DIRECTORIES: Final = ("faults", "security")
FIRST: Final = (
    # a task's process, a worker, Spark's JVM and a broker are killed
    "faults/test_task_process_killed.py::test_a_task_killed_at_any_point_writes_each_record_once",
    "faults/test_shared_processes.py::test_a_task_that_fails_or_is_deleted_leaves_the_others_alone",
    "faults/test_worker_killed.py::test_worker_killed_and_started_again",
    "faults/test_worker_killed.py::test_sparks_jvm_killed",
    "faults/test_broker_restart.py::test_broker_comes_back[killed]",
    "faults/test_frame_jobs.py::test_killed_processes_of_frame_jobs",
    "faults/test_sinks.py::test_the_tasks_process_is_killed",
    "faults/test_spark_cluster.py::test_executors_are_killed[1]",
    # a broker is frozen, a task's process wakes too late, another producer takes a task's id
    "faults/test_broker_outage.py::test_broker_away[frozen]",
    "faults/test_fencing.py",
    # a clock jumps, a disk is full, memory is at an end
    "faults/test_clock_jumps.py::test_no_record_is_lost_or_doubled_when_the_wall_clock_jumps[a day ahead]",
    "faults/test_disk_full.py::test_nothing_is_lost_or_doubled[output]",
    "faults/test_out_of_memory.py::test_memory_errors_of_tasks",
    "faults/test_out_of_memory.py::test_task_that_the_kernel_kills",
    # requests: whose they are, what they hold, how they are sent
    "security/test_open_pages.py::test_nothing_else_is_open",
    "security/test_access.py::test_no_path_is_open_to_those_whom_no_rule_lets_in",
    "security/test_internal_endpoints.py::test_unsigned_requests_are_refused_before_their_body_arrives",
    "security/test_rest_load.py::test_ambiguous_requests_are_answered_400_and_end_the_connection",
    "security/test_rest_load.py::test_health_answers_while_one_address_holds_half_open_connections",
    "security/test_web_page.py::test_a_page_that_has_rebound_its_name_gets_no_answer",
    # what a connector, a query or a record does
    "security/test_singer_commands.py",
    "security/test_odd_errors.py::test_a_task_that_cannot_poll_is_failed",
    "security/test_dead_threads.py::test_threads_of_a_worker_in_this_process",
    "security/test_dead_threads.py::test_a_membership_without_its_watcher",
    "security/test_log_forging.py",
    "security/test_odd_names.py",
    # what others do to the topics and the group
    "security/test_group_clash.py::test_another_cluster_with_the_same_group_id",
    "security/test_internal_topics.py::test_a_config_topic",
    "security/test_kafka_security.py::test_every_client_connects_with_every_login[mTLS-JKS]",
    "security/test_kafka_security.py::test_every_client_connects_with_every_login[SCRAM-SHA-512]",
)
SLOW: Final = (
    # whole clusters, and what has Java or the demo beside
    "integration/test_acls.py",
    "integration/test_cluster.py",
    "integration/test_command_line.py",
    "integration/test_demo.py::test_interrupted_it_leaves_nothing_behind",
    "integration/test_embedded_broker.py",
    "integration/test_health.py",
    "integration/test_quickstart.py",
    "integration/test_plan_and_apply.py",
    "integration/test_guide_of_continuous_integration.py",
    "integration/test_offset_transfer.py",
    "integration/test_deferred_errors.py",
    "integration/test_session_plugins.py",
    "integration/test_java_retries.py",
    "integration/test_spark_cluster.py",
    "integration/test_standalone.py",
    # requests that start processes, and all permissions one by one
    "integration/test_connector_logs.py",
    "integration/test_dead_letter_positions.py",
    "integration/test_dead_letter_redrive.py",
    "integration/test_dead_letters.py",
    "integration/test_doctor.py",
    "integration/test_doctor_of_two_brokers.py",
    "integration/test_doctor_permissions.py",
    "integration/test_followers.py",
    "integration/test_preview.py",
    "integration/test_preview_beside_a_task.py",
    "integration/test_preview_by_workers.py",
    "integration/test_preview_of_sinks.py",
    "integration/test_runbook.py",
    "integration/test_shell_completion.py",
    "integration/test_sink_lag.py",
    "integration/test_topics_command.py",
    # Java connectors whose processes hang and die
    "java/test_java_hosts.py",
    # two brokers, a worker that is killed, and MirrorMaker of Maven Central
    "java/test_mirror_maker.py",
    # a real PostgreSQL
    "integration/test_example_postgresql.py",
    "integration/test_examples_chain.py",
    "integration/test_spark_sink_postgres.py",
    "integration/test_spark_table_source_postgres.py",
    # all screens in a real Chromium, for each role; the first tier has two journeys
    "console/test_screens.py",
    "console/test_database_journey.py",
    "console/test_live.py",
    "console/test_records.py",
    "console/test_roles.py",
    "console/test_steps.py",
    # a real Prometheus, a worker of its own
    "integration/test_prometheus.py",
    # receivers of traces and lineage, a worker of its own
    "integration/test_lineage.py",
    "integration/test_traces.py",
    # a JVM in each task's process, and kills
    "integration/test_java_tasks_on_spark.py",
    # brokers that are killed or come late
    "integration/test_bad_input.py::test_brokers_that_come_later",
    "integration/test_broker_outage.py",
    "integration/test_group_membership.py::test_a_session_that_the_broker_cannot_renew_is_given_up_and_regained",
    "integration/test_unusable_offsets_topic.py::test_brokers_that_are_away_are_waited_for",
    # kills of tasks in the middle
    "integration/test_spark_file_source.py::test_kills_in_the_middle_of_a_file_leave_no_gap_and_no_double",
    "integration/test_spark_table_source.py::test_kills_in_the_middle_leave_no_gap_and_no_double",
    # long ones, of which the first tier has others of the same kind
    "integration/test_example_kafka_to_parquet.py",
    "integration/test_spark_table_source_h2.py",
    "integration/test_spark_table_source.py::test_each_type_keeps_its_digits_in_offsets",
    "integration/test_spark_table_source.py::test_a_table_of_files_and_what_comes_to_it[csv]",
    "integration/test_spark_file_source.py::test_splits_share_the_files",
    "integration/test_spark_sinks.py::test_a_table_shows_its_columns",
    "integration/test_error_handling.py::test_records_too_large_at_least_once",
    "integration/test_topic_creation.py::test_topics_of_what_comes_back_from_spark",
    # all kinds of requests, and workers that come and go
    "integration/test_audit.py::test_the_life_of_a_connector",
    "integration/test_audit.py::test_a_worker_comes_and_goes",
    # time-outs that have to pass
    "integration/test_exactly_once_source.py::test_at_least_once_loses_nothing",
    "integration/test_offsets_elsewhere.py",
)
LONG: Final = (
    # packages of others in locked versions: plugins of Maven Central, taps and targets of PyPI; and the built wheel
    "java/test_known_plugins.py",
    "java/test_known_plugins_run.py",
    "java/test_iceberg_sink.py",
    "java/test_mongodb.py",
    "java/test_bad_plugins.py",
    "java/test_mixed_chains.py",
    "java/test_dedicated_mirror_maker.py",
    "integration/test_singer_taps.py",
    "integration/test_singer_environments.py",
    "integration/test_wheel.py",
    "security/test_kerberos.py",
    "integration/test_java_on_spark_cluster.py",
    "integration/test_no_java.py",
    "integration/test_shell_completion.py::test_commands_and_connectors_are_completed[fish]",
    "integration/test_shell_completion.py::test_commands_and_connectors_are_completed[zsh]",
    "integration/test_spark_sinks.py::test_any_file_system_of_hadoops",
    "java/test_found_plugins.py",
    "java/test_mirror_acls.py",
    "java/test_mirror_config.py",
    # kills of the same kind elsewhere: on a cluster, of each part, at random
    "faults/test_spark_cluster.py::test_executors_are_killed[5]",
    "faults/test_spark_cluster.py::test_sparks_workers_are_killed",
    "faults/test_spark_cluster.py::test_a_master_that_restarts_without_recovery_gets_a_new_application",
    "faults/test_spark_cluster.py::test_the_drivers_jvm_is_killed",
    "faults/test_spark_cluster.py::test_a_machine_that_is_suspended_is_replaced_and_resumes_as_a_zombie",
    "faults/test_cdc_on_spark_cluster.py",
    "faults/test_change_data_capture.py::test_a_first_snapshot_that_is_cut_off_begins_anew",
    "faults/test_failed_snapshots.py::test_a_first_snapshot_that_is_cut_off_begins_anew_and_misses_what_was_deleted_before",
    "faults/test_incremental_snapshot.py",
    "faults/test_java_takeover.py",
    "faults/test_mixed_versions.py",
    "faults/test_random_faults.py",
    "faults/test_singer_source.py::test_each_number_once_whatever_is_killed[connector]",
    "faults/test_singer_source.py::test_rows_that_are_gone_whatever_is_killed",
    "faults/test_singer_csv.py",
    "faults/test_singer_rest_api.py",
    "faults/test_singer_postgres.py",
    "faults/test_singer_sink.py",
    "faults/test_spark_sinks.py",
    "faults/test_zombies_before_init.py::test_the_example_of_kip_618",
    "faults/test_frame_jobs.py::test_sparks_jvm_dies_under_a_frame_job",
    "security/test_frame_jobs.py::test_a_query_that_ends_the_jvm_fails_its_own_task_alone",
    "security/test_isolation.py::test_repeated_deaths_of_an_isolated_jvm_affect_only_its_connector",
    "security/test_isolation.py::test_no_jvm_outlives_a_worker_that_is_killed",
    "security/test_rest_load.py::test_log_reports_it_once_and_with_counts",
    "security/test_spark_start.py::test_each_cause_is_reported_and_without_causes_the_worker_works",
    "faults/test_altered_tables.py",
    "faults/test_broker_restart.py::test_broker_comes_back[stopped]",
    "faults/test_sinks.py::test_the_broker_is_killed",
    "faults/test_task_health.py::test_brokers_of_an_idle_sink_that_are_killed_and_started_again",
    # the same with another parameter, beside the real Java Connect also
    "console/test_live.py::test_without_a_stream_the_page_asks[held back]",
    "console/test_live.py::test_without_a_stream_the_page_asks[no stream]",
    "faults/test_broker_outage.py::test_broker_away[killed]",
    "faults/test_clock_jumps.py::test_no_record_is_lost_or_doubled_when_the_wall_clock_jumps[ten years, and back]",
    "faults/test_disk_full.py::test_nothing_is_lost_or_doubled[home]",
    "faults/test_disk_full.py::test_nothing_is_lost_or_doubled[log]",
    "faults/test_disk_full.py::test_nothing_is_lost_or_doubled[spark]",
    "faults/test_disk_full.py::test_nothing_is_lost_or_doubled[temporary]",
    "faults/test_failed_snapshots.py::test_a_snapshot_whose_mark_cannot_be_written_continues_when_the_task_is_restarted[java]",
    "faults/test_failed_snapshots.py::test_rows_behind_a_failed_chunk_are_skipped_until_a_snapshot_is_requested_again[java]",
    "faults/test_redrive_killed.py::test_each_letter_is_redriven_once[as they were]",
    "faults/test_task_health.py::test_a_sink_whose_disk_is_full[json-json_rows]",
    "faults/test_worker_killed.py::test_stop_signals_for_the_workers_group_and_service[15-True]",
    "integration/test_command_line.py::test_the_life_of_a_connector[java]",
    "integration/test_deferred_errors.py::test_no_refused_record_is_committed[java]",
    "integration/test_exactly_once_source.py::test_a_separate_offsets_topic",
    "integration/test_java_tasks_on_spark.py::test_killed_again_and_again[interval]",
    "integration/test_offset_transfer.py::test_a_sink[java-headrace]",
    "integration/test_offset_transfer.py::test_a_source[headrace-java]",
    "integration/test_offset_transfer.py::test_what_is_said_of_a_change_is_what_happens[java]",
    "integration/test_preview.py::test_a_connector_that_hangs_is_killed_at_the_deadline[connector.start-Connector.start-0]",
    "integration/test_preview.py::test_a_connector_that_hangs_is_killed_at_the_deadline[task.start-SourceTask.start-0]",
    "integration/test_quickstart.py::test_a_signal_during_the_start_leaves_nothing[SIGINT-created]",
    "integration/test_spark_sink_postgres.py::test_the_tasks_process_is_killed[offsets]",
    "integration/test_spark_sink_postgres.py::test_the_tasks_process_is_killed[rows in it]",
    "integration/test_spark_sink_postgres.py::test_the_tasks_process_is_killed[staging table]",
    "integration/test_topic_creation.py::test_topics_of_what_comes_back_from_spark[at-least-once]",
    "integration/test_unusable_offsets_topic.py::test_brokers_that_are_away_are_waited_for[disabled]",
    "java/test_mirror_maker.py::test_a_group_goes_on_in_the_other_cluster[identity]",
    "security/test_data_at_rest.py::test_what_spark_spills_is_the_workers_alone_and_encrypted_if_that_is_on[false-0]",
    "security/test_fuzz_roles.py::test_who_may_change_connectors_breaks_nothing[editor]",
    "security/test_fuzz_roles.py::test_who_may_not_change_connectors_changes_none[viewer]",
    "security/test_kafka_security.py::test_a_worker_with_this_login_copies_records_and_keeps_offsets[mTLS-JKS]",
    # runs that show that the checks of other tests find what is wrong
    "faults/test_mutations.py::test_without_a_protection_a_run_finds_what_is_wrong[no_read_to_end-Kind.STALE_OFFSETS-1]",
    "faults/test_soak.py::test_a_connector_that_leaks_a_descriptor_with_each_start_is_found",
    "faults/test_mutations.py::test_without_a_protection_a_run_finds_what_is_wrong[no_go-Kind.LATE_CONFIGS-3]",
    "faults/test_mutations.py::test_without_a_protection_a_run_finds_what_is_wrong[no_fencing-Kind.STOP_WORKER-2]",
    "faults/test_mutations.py::test_without_a_protection_a_run_finds_what_is_wrong[no_task_count-Kind.RECREATE-2]",
    # bounds that are claims about an idle machine: `make test-long` runs them with no other test beside
    "console/test_measures.py",
    # all of a demo, what the docs show, all kinds of previews, all screens in other sizes and colours
    "console/test_screenshots.py",
    "integration/test_recorded_session.py",
    "integration/test_demo_cdc.py",
    "integration/test_example_cdc.py",
    "integration/test_preview_on_spark.py",
    "integration/test_preview_of_database_sinks.py",
    "integration/test_preview_of_spark_sources.py",
    "console/test_screens.py::test_every_screen_can_be_used_by_everybody[('desk', 'dark')]",
    "console/test_screens.py::test_every_screen_can_be_used_by_everybody[('phone', 'dark')]",
    "console/test_screens.py::test_every_screen_can_be_used_by_everybody[('wall', 'light')]",
)
LONGEST_FIRST: Final = (
    "console/test_screens.py",
    "java/test_dedicated_mirror_maker.py",
    "integration/test_singer_taps.py",
    "faults/test_singer_source.py",
    "faults/test_singer_sink.py",
    "java/test_known_plugins.py",
    "java/test_mixed_chains.py",
    "integration/test_wheel.py",
    "java/test_mirror_maker.py",
    "integration/test_quickstart.py",
    "java/test_bad_plugins.py",
    "integration/test_preview.py",
    "integration/test_preview_by_workers.py",
    "integration/test_preview_of_database_sinks.py",
    "integration/test_preview_of_sinks.py",
    "integration/test_offset_transfer.py",
    "integration/test_preview_on_spark.py",
    "faults/test_java_takeover.py",
    "faults/test_change_data_capture.py",
    "faults/test_incremental_snapshot.py",
    "faults/test_cdc_on_spark_cluster.py",
    "faults/test_failed_snapshots.py",
    "integration/test_demo_cdc.py",
    "faults/test_spark_cluster.py",
    "security/test_kerberos.py",
    "faults/test_mutations.py",
    "faults/test_spark_sinks.py",
    "faults/test_zombies_before_init.py",
    "integration/test_exactly_once_source.py",
    "integration/test_group_membership.py",
    "integration/test_spark_cluster.py",
    "faults/test_clock_jumps.py",
    "faults/test_broker_outage.py",
    "faults/test_disk_full.py",
    "faults/test_random_faults.py",
    "faults/test_redrive_fenced.py",
    "faults/test_redrive_killed.py",
    "faults/test_worker_killed.py",
    "faults/test_rest_state_machine.py",
    "security/test_isolation.py",
    "security/test_kafka_security.py",
    "security/test_spark_start.py",
    "faults/test_frame_jobs.py",
    "integration/test_cluster.py",
    "security/test_frame_jobs.py",
    "faults/test_mixed_versions.py",
    "faults/test_sinks.py",
    "integration/test_spark_sinks.py",
    "integration/test_topic_creation.py",
    "integration/test_spark_sql.py",
    "integration/test_spark_sink_postgres.py",
    "integration/test_spark_file_source.py",
    "integration/test_spark_table_source_postgres.py",
    "integration/test_unusable_offsets_topic.py",
    "integration/test_exactly_once_control.py",
    "integration/test_spark_table_source.py",
    "integration/test_error_handling.py",
    "integration/test_forwarding.py",
    "integration/test_embedded_broker.py",
    "integration/test_no_java.py",
    "integration/test_plan_and_apply.py",
    "integration/test_offsets_elsewhere.py",
    "integration/test_sinks.py",
    "integration/test_examples_chain.py",
    "integration/test_prometheus.py",
    "integration/test_separate_offsets_topic.py",
    "integration/test_command_line.py",
    "security/test_poison_records.py",
    "integration/test_odd_records.py",
)
"""Files of more than half a minute. What takes long is begun first, so that no process is left alone with it."""

SECOND_TIER: Final = "(slow or hypothesis) and not long"
"""The marks by which `make test-slow` selects its tests."""
UNKNOWN: Final = pytest.StashKey[list[str]]()
_THOROUGH: Final = 100
"""Examples of a property test without a number of its own, in the second tier."""
settings.register_profile("quick", deadline=None, max_examples=_THOROUGH // 5)
settings.register_profile("thorough", deadline=None, max_examples=_THOROUGH)
settings.load_profile("quick")


def examples(count: int) -> int:
    """`count` in the second tier, a fifth of that in the first: for `max_examples` of a property test."""
    return max(1, count * settings().max_examples // _THOROUGH)


def has_none(file: Path, marks: str) -> bool:
    """True if a file has no test of the second tier, and ``marks`` selects that: its modules need not be imported.

    That takes each process of the run several seconds, as most files have none.
    """
    if marks != SECOND_TIER or not file.is_relative_to(_TESTS) or not file.name.startswith("test_"):
        return False
    name = file.relative_to(_TESTS).as_posix()
    if name.startswith(_SLOW_PLACES) or name in _SLOW_FILES:
        return False
    return "hypothesis" not in file.read_text()


def sort(items: list[pytest.Item]) -> None:
    """Mark the slow and the long ones, and put the files that take longest first."""
    for item in items:
        if not _LONG.isdisjoint(_listings(_name(item))):
            item.add_marker(pytest.mark.long)
        elif _is_slow(_name(item)):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: _rank(_name(item)))


def unknown(items: Sequence[pytest.Item]) -> list[str]:
    """What is listed above and is no file, or no test of a file whose tests are among `items`."""
    there = {listed for item in items for listed in _listings(_name(item))}
    return [
        one
        for one in (*FIRST, *SLOW, *LONG, *LONGEST_FIRST)
        if not (Path(__file__).parent / one.partition("::")[0]).exists()
        or (one.partition("::")[0] in there and one not in there)
    ]


def _is_slow(name: str) -> bool:
    if name.startswith(_SLOW_PLACES):
        return _FIRST.isdisjoint(_listings(name))
    return not _SLOW.isdisjoint(_listings(name))


def _rank(name: str) -> int:
    return _RANKS.get(name.partition("::")[0], len(_RANKS))


def _listings(name: str) -> tuple[str, str, str]:
    """What a test may be listed as: itself, its function, or its file."""
    return name, name.partition("[")[0], name.partition("::")[0]


def _name(item: pytest.Item) -> str:
    """Its file below tests, its function and parameters."""
    return item.nodeid.removeprefix("tests/")


_TESTS: Final = Path(__file__).parent
_SLOW_PLACES: Final = tuple(f"{directory}/" for directory in SLOW_DIRECTORIES)
_SLOW_FILES: Final = frozenset(one.partition("::")[0] for one in SLOW)
_FIRST: Final = frozenset(FIRST)
_SLOW: Final = frozenset(SLOW)
_LONG: Final = frozenset(LONG)
_RANKS: Final = {file: rank for rank, file in enumerate(LONGEST_FIRST)}
