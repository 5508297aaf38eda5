// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.RetriableException;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.TransactionContext;
import org.apache.kafka.connect.storage.StringConverter;

/** A connector of one task that counts up to the property {@code count}, and defines its transactions. */
public class CountingSource extends SourceConnector {
    private Map<String, String> props;

    @Override
    public String version() {
        return "counting";
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
        return CountingTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        return List.of(props);
    }

    @Override
    public void stop() { }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> configs) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> configs) {
        return ConnectorTransactionBoundaries.SUPPORTED;
    }

    /** Adds a header that is no text, and one without a value. */
    public static class MarkingConverter extends StringConverter {
        @Override
        public byte[] fromConnectData(String topic, Headers headers, Schema schema, Object value) {
            headers.add("mark", new byte[] {(byte) 0xff, 0, 7}).add("nothing", null);
            return super.fromConnectData(topic, headers, schema, value);
        }
    }

    /**
     * Transactions end at records, in the middle of a batch or at its end, after a batch, and after several.
     *
     * With {@code copies} set, the task names records that are equal to those that it returns.
     */
    public static class CountingTask extends SourceTask {
        private Map<String, String> props;
        private TransactionContext transactions;
        private long next;
        private int polls;

        @Override
        public String version() {
            return "counting";
        }

        @Override
        public void start(Map<String, String> configs) {
            props = configs;
            transactions = context.transactionContext();
            Map<String, Object> offset = context.offsetStorageReader().offset(Map.of("counter", "c"));
            next = offset == null ? 0 : (Long) offset.get("number") + 1;
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(10);
            if (next == count()) {
                return null;
            }
            List<SourceRecord> records = new ArrayList<>();
            switch (polls++ % 6) {
                case 0 -> {
                    addNumbers(records, 2);
                    transactions.commitTransaction(named(last(records)));
                    records.add(aborted());
                    transactions.abortTransaction(named(last(records)));
                    addNumbers(records, 1);
                }
                case 1 -> throw new RetriableException("not now");
                case 2 -> addNumbers(records, 2);
                case 3 -> {
                    addNumbers(records, 1);
                    transactions.commitTransaction();
                }
                case 4 -> {
                    records.add(aborted());
                    records.add(aborted());
                    transactions.abortTransaction();
                }
                default -> {
                    return null;
                }
            }
            if (next == count()) {
                transactions.commitTransaction();
            }
            return records;
        }

        private long count() {
            return Long.parseLong(props.get("count"));
        }

        private void addNumbers(List<SourceRecord> records, int most) {
            for (int added = 0; added < most && next < count(); added++) {
                records.add(record(next, "number " + next));
                next++;
            }
        }

        /** Its offset is committed nevertheless, so it is that of the record before it. */
        private SourceRecord aborted() {
            return record(next - 1, "never");
        }

        private SourceRecord record(long number, String value) {
            Map<String, Long> offset = Map.of("number", number);
            return new SourceRecord(Map.of("counter", "c"), offset, props.get("topic"), Schema.STRING_SCHEMA, value);
        }

        private SourceRecord named(SourceRecord record) {
            return props.containsKey("copies") ? record((Long) record.sourceOffset().get("number"), (String) record.value()) : record;
        }

        private static SourceRecord last(List<SourceRecord> records) {
            return records.get(records.size() - 1);
        }

        @Override
        public void stop() { }
    }
}
