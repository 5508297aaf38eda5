// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** Tasks that append a line to the file {@code calls} for each call of the runtime. */
public class CallsTasks {
    private static void append(Map<String, String> props, String line) {
        try {
            Path file = Path.of(props.get("calls"));
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A source of one record a poll, which an interrupt of its thread ends. */
    public static class CallsSourceTask extends SourceTask {
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
            Thread.sleep(1);
            return List.of(new SourceRecord(Map.of(), Map.of("at", 1L), "t", Schema.STRING_SCHEMA, "v"));
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
