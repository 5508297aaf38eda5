# SPDX-License-Identifier: Apache-2.0
"""`headrace quickstart`: a broker, a worker, a source and a sink on this machine, and counts of what they copy.

`connector_pair` has the two connectors, `run_directory` the files of a run, `services` the processes; `run` goes
through the steps and reports to a `view`; `comparison` compares topic and files at the end. Begin with `command`.
"""
