# SPDX-License-Identifier: Apache-2.0
"""The files that `headrace init` writes. They work as they are with a broker at localhost:9092."""

from __future__ import annotations

from typing import Final

WORKER_PROPERTIES: Final = """\
# A worker of headrace. Workers with the same group.id and the same internal topics are one cluster.
# Check this file with `headrace doctor`; all properties are in headrace's docs/guide/configuration.md.

bootstrap.servers=localhost:9092
group.id=headrace

# ---- Internal topics. The first worker creates them.
config.storage.topic=headrace-configs
offset.storage.topic=headrace-offsets
status.storage.topic=headrace-status
# 1 is for development. Production needs 3 replicas on 3 brokers: with 1, all is lost with a broker's disk.
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1

# ---- Delivery. Source records and their offsets become visible together or not at all (KIP-618).
exactly.once.source.support=enabled
# Failed tasks are restarted after 10 s, 20 s, 40 s and so on; not after mistakes in a configuration.
tasks.restart.policy=on-failure

# ---- Converters, for connectors that do not set their own.
key.converter=StringConverter
value.converter=JsonConverter
value.converter.schemas.enable=false

# ---- Security of Kafka's clients, if the brokers need it (docs/guide/kafka-security.md).
# Use a config provider in place of passwords in this file (docs/guide/config-providers.md).
# security.protocol=SASL_SSL
# ssl.truststore.type=PEM
# ssl.truststore.location=/etc/headrace/ca.pem
# sasl.mechanism=SCRAM-SHA-512
# sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="…" password="…";

# ---- The REST API. Who may create connectors can run code: open it to other machines only with
# https and authentication (docs/guide/rest-security.md, docs/guide/access.md).
listeners=http://127.0.0.1:8083
# listeners=https://0.0.0.0:8443
# listeners.https.ssl.keystore.type=PEM
# listeners.https.ssl.keystore.location=/etc/headrace/rest.pem
# rest.authentication=basic
# rest.basic.auth.credentials.file=/etc/headrace/users
# rest.audit.file=/var/log/headrace/audit.log

# ---- Connectors that may not run: those that read and write any file of this machine.
# In production also the connectors for tests: FileStream*,Mock*,OrdersSource,SchemaSource,Verifiable*
connectors.denylist=FileStream*
# Directories with plugins of your own.
# plugin.path=/opt/headrace/plugins

# ---- Spark. Without spark.master tasks run on this machine. Its UI has no login.
# spark.master=spark://spark-master:7077
spark.driver.memory=512m
spark.ui.enabled=false
"""

CONNECTOR: Final = """\
{
  "name": "numbers",
  "config": {
    "connector.class": "VerifiableSource",
    "tasks.max": "1",
    "topic": "numbers",
    "throughput": "1",
    "topic.creation.default.partitions": "1",
    "topic.creation.default.replication.factor": "-1"
  }
}
"""

SYSTEMD_UNIT: Final = """\
# Copy it to /etc/systemd/system, create the user (useradd --system headrace), then:
# systemctl daemon-reload && systemctl enable --now headrace
[Unit]
Description=headrace worker
Wants=network-online.target
After=network-online.target

[Service]
User=headrace
ExecStart={command} distributed {properties}
Restart=on-failure
RestartSec=5
# SIGTERM may reach all processes of the worker; only the worker ends its tasks and Spark's JVM.
KillMode=control-group
# longer than task.shutdown.graceful.timeout.ms (5 s) and 10 s: then systemd sends SIGKILL to what is left
TimeoutStopSec=30
LimitNOFILE=65536
LimitCORE=0
NoNewPrivileges=true
PrivateTmp=true

[Install]
WantedBy=multi-user.target
"""
