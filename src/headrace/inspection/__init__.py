# SPDX-License-Identifier: Apache-2.0
"""Jobs that run plugins' code outside of a task, on request, in processes that are killed at a deadline.

Begin with ``sandbox``; ``job_process`` has the jobs.
"""
