# SPDX-License-Identifier: Apache-2.0
"""Events in OpenLineage's own classes, sent by its client as the variables ``OPENLINEAGE_*`` or its file say."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from openlineage.client import OpenLineageClient
from openlineage.client import event_v2 as spec
from openlineage.client.generated.base import DatasetFacet, RunFacet
from openlineage.client.generated.error_message_run import ErrorMessageRunFacet
from openlineage.client.generated.job_type_job import JobTypeJobFacet
from openlineage.client.generated.processing_engine_run import ProcessingEngineRunFacet
from openlineage.client.generated.schema_dataset import SchemaDatasetFacet, SchemaDatasetFacetFields

from headrace import __version__
from headrace.api.datasets import Dataset
from headrace.lineage.lineage_runs import RunEvent, RunState

_PRODUCER: Final = f"urn:headrace:{__version__}"
_NAMESPACE: Final = "OPENLINEAGE_NAMESPACE"


class OpenLineageEvents:
    """A sender of events. ``send`` and ``send_schemas`` block, and raise whatever the client's transport raises."""

    def __init__(self, namespace: str) -> None:
        """``namespace`` is that of the jobs, unless ``OPENLINEAGE_NAMESPACE`` is set."""
        spec.set_producer(_PRODUCER)
        self._client = OpenLineageClient()
        self._namespace = os.environ.get(_NAMESPACE) or namespace

    def send(self, event: RunEvent) -> None:
        seen = event.seen
        facets: dict[str, RunFacet] = {
            "processing_engine": ProcessingEngineRunFacet(version=__version__, name="headrace")
        }
        if event.state is RunState.FAIL:
            message = seen.error.strip().partition("\n")[0]
            facets["errorMessage"] = ErrorMessageRunFacet(message, "PYTHON", seen.error)
        kind = JobTypeJobFacet(processingType="STREAMING", integration="KAFKA_CONNECT", jobType="CONNECTOR")
        self._client.emit(
            spec.RunEvent(
                eventTime=_now(),
                eventType=spec.RunState[event.state.value],
                run=spec.Run(event.run_id, facets),
                job=spec.Job(self._namespace, event.connector, {"jobType": kind}),
                inputs=[spec.InputDataset(**_dataset(each)) for each in seen.inputs],
                outputs=[spec.OutputDataset(**_dataset(each)) for each in seen.outputs],
            )
        )

    def send_schemas(self, datasets: Iterable[Dataset]) -> None:
        """Send an event of its own about each dataset, for those of runs that another worker reports."""
        for each in datasets:
            dataset = spec.StaticDataset(**_dataset(each))
            self._client.emit(spec.DatasetEvent(eventTime=_now(), dataset=dataset))


def _dataset(dataset: Dataset) -> dict[str, Any]:
    return {"namespace": dataset.namespace, "name": dataset.name, "facets": _facets(dataset)}


def _facets(dataset: Dataset) -> dict[str, DatasetFacet]:
    if not dataset.fields:
        return {}
    fields = [SchemaDatasetFacetFields(name, type) for name, type in dataset.fields]
    return {"schema": SchemaDatasetFacet(fields=fields)}


def _now() -> str:
    return datetime.now(UTC).isoformat()
