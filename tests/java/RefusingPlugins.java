// SPDX-License-Identifier: Apache-2.0

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.transforms.Transformation;

/** Plugins that refuse each value with "odd" in it twice, and then let it pass with a mark of theirs. */
public class RefusingPlugins {
    private final Map<String, Integer> refused = new HashMap<>();

    private String passed(Object value, String mark) {
        String text = value.toString();
        if (text.contains("odd") && refused.merge(text, 1, Integer::sum) < 3) {
            throw new RetriableException("not now: " + text);
        }
        return text + mark;
    }

    /** Marks texts with an exclamation mark. */
    public static class RefusingTransformation implements Transformation<SourceRecord> {
        private final RefusingPlugins plugins = new RefusingPlugins();

        @Override
        public SourceRecord apply(SourceRecord record) {
            return record.newRecord(record.topic(), record.kafkaPartition(), record.keySchema(), record.key(),
                record.valueSchema(), plugins.passed(record.value(), "!"), record.timestamp());
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public void configure(Map<String, ?> configs) { }

        @Override
        public void close() { }
    }

    /** Marks texts with a question mark. */
    public static class RefusingConverter implements Converter {
        private final RefusingPlugins plugins = new RefusingPlugins();

        @Override
        public void configure(Map<String, ?> configs, boolean isKey) { }

        @Override
        public byte[] fromConnectData(String topic, Schema schema, Object value) {
            return plugins.passed(value, "?").getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public SchemaAndValue toConnectData(String topic, byte[] value) {
            return new SchemaAndValue(Schema.STRING_SCHEMA, new String(value, StandardCharsets.UTF_8));
        }
    }
}
