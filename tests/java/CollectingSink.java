// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.sink.ErrantRecordReporter;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A connector of one task that appends values to {@code file}: a line for each call of put that it lets pass. */
public class CollectingSink extends SinkConnector {
    private Map<String, String> props;

    @Override
    public String version() {
        return "collecting";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> configs) {
        props = configs;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return CollectingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(props);
    }

    @Override
    public void stop() { }

    /** Each batch is put twice: the first time it can be repeated. Values that begin with bad are reported in preCommit. */
    public static class CollectingTask extends SinkTask {
        private final List<SinkRecord> bad = new ArrayList<>();
        private Path file;
        private ErrantRecordReporter reporter;
        private boolean refused;

        @Override
        public String version() {
            return "collecting";
        }

        @Override
        public void start(Map<String, String> configs) {
            file = Path.of(configs.get("file"));
            reporter = context.errantRecordReporter();
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            if (records.isEmpty()) {
                return;
            }
            refused = !refused;
            if (refused) {
                append("refused " + records.size());
                context.timeout(100);
                throw new RetriableException("not now");
            }
            for (SinkRecord record : records) {
                if (record.value().toString().startsWith("bad")) {
                    bad.add(record);
                } else {
                    append(record.value().toString());
                }
            }
        }

        @Override
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            for (SinkRecord record : bad) {
                reporter.report(record, new ConnectException("it is bad"));
            }
            bad.clear();
            return offsets;
        }

        private void append(String line) {
            try {
                Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void stop() { }
    }
}
