// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source of one task, and tasks, that append a line to the file {@code calls} for each call of the runtime. */
public class CallsTasks extends SourceConnector {
    private Map<String, String> connectorProps;

    @Override
    public String version() {
        return "calls";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public void start(Map<String, String> configs) {
        connectorProps = configs;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return CallsSourceTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(connectorProps);
    }

    @Override
    public void stop() { }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> configs) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    private static void pause() {
        try {
            Thread.sleep(500);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void append(Map<String, String> props, String line) {
        try {
            Path file = Path.of(props.get("calls"));
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * A source of one record a poll, which an interrupt of its thread ends.
     *
     * With {@code blocks} set, poll waits for stop once there is a file of that name.
     */
    public static class CallsSourceTask extends SourceTask {
        private final CountDownLatch stopped = new CountDownLatch(1);
        private Map<String, String> props;

        @Override
        public String version() {
            return "calls";
        }

        @Override
        public void start(Map<String, String> configs) {
            props = configs;
            append(props, "start " + (context != null));
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            append(props, "poll");
            if (props.containsKey("interrupted")) {
                Thread.currentThread().interrupt();
            }
            Thread.sleep(20);
            if (props.containsKey("blocks") && Files.exists(Path.of(props.get("blocks")))) {
                stopped.await();
                return null;
            }
            String topic = props.getOrDefault("topic", "t");
            return List.of(new SourceRecord(Map.of(), Map.of("at", 1L), topic, Schema.STRING_SCHEMA, "v"));
        }

        @Override
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            append(props, "commitRecord " + record.value() + " " + metadata.offset());
        }

        @Override
        public void commit() {
            append(props, "commit");
        }

        @Override
        public void stop() {
            append(props, "stop");
            stopped.countDown();
            if (props.containsKey("topic")) {
                pause();
                append(props, "stopped");
            }
        }
    }

    /** A sink. */
    public static class CallsSinkTask extends SinkTask {
        private Map<String, String> props;

        @Override
        public String version() {
            return "calls";
        }

        @Override
        public void start(Map<String, String> configs) {
            props = configs;
            append(props, "start " + (context != null));
        }

        @Override
        public void open(Collection<TopicPartition> partitions) {
            append(props, "open " + partitions);
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            append(props, "put " + records.size());
        }

        @Override
        public void flush(Map<TopicPartition, OffsetAndMetadata> offsets) {
            offsets.forEach((partition, offset) -> append(props, "flush " + partition + " " + offset.offset()));
        }

        @Override
        public void close(Collection<TopicPartition> partitions) {
            append(props, "close " + partitions);
        }

        @Override
        public void stop() {
            append(props, "stop");
        }
    }
}
