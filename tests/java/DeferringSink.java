// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/**
 * Appends values to `file`. While the file `refuse` is there, `put` keeps its error and throws it at the next call.
 *
 * As Debezium's JDBC sink does, it notes where to go on of the records that Connect has consumed, and of no others.
 */
public class DeferringSink extends SinkConnector {
    private Map<String, String> props;

    @Override
    public String version() {
        return "1";
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
        return DeferringTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(props);
    }

    @Override
    public void stop() {
    }

    /** The task. */
    public static class DeferringTask extends SinkTask {
        private final Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        private Path file;
        private Path refuse;
        private Exception kept;

        @Override
        public String version() {
            return "1";
        }

        @Override
        public void start(Map<String, String> configs) {
            file = Path.of(configs.get("file"));
            refuse = Path.of(configs.get("refuse"));
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            if (kept != null) {
                throw new ConnectException("kept", kept);
            }
            try {
                for (SinkRecord record : records) {
                    write(record);
                }
                records.forEach(record -> note(record, 1));
            } catch (IOException error) {
                kept = error;
                records.forEach(record -> note(record, 0));
            }
        }

        @Override
        public Map<TopicPartition, OffsetAndMetadata> preCommit(Map<TopicPartition, OffsetAndMetadata> current) {
            Map<TopicPartition, OffsetAndMetadata> answer = new HashMap<>(current);
            answer.replaceAll(offsets::getOrDefault);
            return answer;
        }

        @Override
        public void stop() {
        }

        private void write(SinkRecord record) throws IOException {
            if (Files.exists(refuse)) {
                throw new IOException("refused");
            }
            Files.writeString(file, record.value() + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        }

        private void note(SinkRecord record, int done) {
            if (record instanceof InternalSinkRecord internal) {
                String topic = internal.context().original().topic();
                TopicPartition where = new TopicPartition(topic, record.originalKafkaPartition());
                OffsetAndMetadata offset = new OffsetAndMetadata(record.originalKafkaOffset() + done);
                if (done == 1) {
                    offsets.put(where, offset);
                } else {
                    offsets.putIfAbsent(where, offset);
                }
            }
        }
    }
}
