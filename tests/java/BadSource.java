// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;
import org.slf4j.LoggerFactory;

/** A connector of one task that does what the property {@code mood} says: {@code METHOD:DEED}, as in poll:exit. */
public class BadSource extends SourceConnector {
    private static final int MEGABYTES = 50;
    private static boolean forked;
    private Map<String, String> props = Map.of();

    @Override
    public String version() {
        return "bad";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public Config validate(Map<String, String> configs) {
        act(configs, "validate");
        return super.validate(configs);
    }

    @Override
    public void start(Map<String, String> configs) {
        props = configs;
        act(props, "start");
    }

    @Override
    public Class<? extends Task> taskClass() {
        return BadTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        act(props, "taskConfigs");
        return List.of(props);
    }

    @Override
    public void stop() {
        act(props, "stop");
    }

    static void act(Map<String, ?> configs, String method) {
        String mood = String.valueOf(configs.get("mood"));
        if (mood.startsWith(method + ":")) {
            behave(mood.substring(method.length() + 1), configs);
        }
    }

    private static void behave(String deed, Map<String, ?> configs) {
        switch (deed) {
            case "exit" -> System.exit(3);
            case "halt" -> Runtime.getRuntime().halt(3);
            case "loop" -> {
                for (long number = 0; number >= 0; number = (number + 1) & 0xffff) {
                    Thread.onSpinWait();
                }
            }
            case "memory" -> exhaustMemory();
            case "print" -> print();
            case "threads" -> startThreads();
            case "fork" -> fork(String.valueOf(configs.get("seconds")));
            case "forkexit" -> {
                fork(String.valueOf(configs.get("seconds")));
                System.exit(3);
            }
            case "crash" -> crash();
            case "missing" -> new Missing();
            case "newer" -> new Newer();
            case "long" -> throw new ConnectException("very ".repeat(2 << 20) + "long");
            case "null" -> throw new ConnectException((String) null);
            case "cycle" -> throw cycle();
            case "stack" -> recurse(0);
            case "log" -> LoggerFactory.getLogger(BadSource.class).warn("low on disk");
            case "option" -> throw new ConnectException("bad.option=" + System.getProperty("bad.option") + ", heap "
                + (Runtime.getRuntime().maxMemory() >> 20) + " MB");
            default -> throw new IllegalArgumentException(deed);
        }
    }

    private static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    private static void exhaustMemory() {
        List<long[]> kept = new ArrayList<>();
        while (true) {
            kept.add(new long[1 << 17]);
        }
    }

    private static void print() {
        byte[] line = "0123456789 ".repeat(95).getBytes();
        line[line.length - 1] = '\n';
        for (int written = 0; written < MEGABYTES << 20; written += line.length) {
            System.out.write(line, 0, line.length);
            System.err.write(line, 0, line.length);
        }
    }

    private static void startThreads() {
        for (int number = 0; number < 20; number++) {
            new Thread(BadSource::sleep).start();
        }
    }

    static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            sleep();
        }
    }

    /** Two programs, one of them in a session of its own; once for each process. */
    private static synchronized void fork(String seconds) {
        if (forked) {
            return;
        }
        forked = true;
        try {
            new ProcessBuilder("sleep", seconds).start();
            new ProcessBuilder("setsid", "sleep", seconds).start();
        } catch (java.io.IOException e) {
            throw new ConnectException(e);
        }
    }

    private static void crash() {
        try {
            Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            ((sun.misc.Unsafe) field.get(null)).putAddress(0, 0);
        } catch (ReflectiveOperationException e) {
            throw new ConnectException(e);
        }
    }

    private static RuntimeException cycle() {
        RuntimeException first = new ConnectException("first");
        RuntimeException second = new IllegalStateException("second", first);
        first.initCause(second);
        return first;
    }

    /** A connector whose constructor needs a class that is not in the jar. */
    public static class NeedsMissing extends BadSource {
        private final Missing missing = new Missing();
    }

    /** A connector with a method whose type is not in the jar; so are those of its tasks, converters and so on. */
    public static class LacksType extends BadSource {
        @Override
        public Class<? extends Task> taskClass() {
            return LacksTypeTask.class;
        }

        public Missing lacks() {
            return null;
        }
    }

    public static class LacksTypeTask extends BadTask {
        public void lacks(Missing missing) { }
    }

    public static class LacksTypeConverter extends BadConverter {
        public Missing lacks() {
            return null;
        }
    }

    public static class LacksTypeTransformation extends BadTransformation {
        public Missing lacks() {
            return null;
        }
    }

    /** A connector whose constructor throws. */
    public static class ThrowsAtOnce extends BadSource {
        public ThrowsAtOnce() {
            throw new IllegalStateException("no licence");
        }
    }

    /** A connector whose constructor ends the process. */
    public static class ExitsAtOnce extends BadSource {
        public ExitsAtOnce() {
            System.exit(3);
        }
    }

    /** A connector whose class file is of a newer Java, once the test has patched it. */
    public static class Newer extends BadSource { }

    /** A connector whose class file is not one, once the test has replaced it. */
    public static class Garbage extends BadSource { }

    /** A connector whose tasks cannot be made. */
    public static class WithoutTasks extends BadSource {
        @Override
        public Class<? extends Task> taskClass() {
            return ThrowingTask.class;
        }
    }

    /** A connector whose tasks' class file is of a newer Java, once the test has patched it. */
    public static class WithNewerTask extends BadSource {
        @Override
        public Class<? extends Task> taskClass() {
            return NewerTask.class;
        }
    }

    public static class NewerTask extends BadTask { }

    /** A task whose constructor throws. */
    public static class ThrowingTask extends BadTask {
        public ThrowingTask() {
            throw new IllegalStateException("no licence");
        }
    }

    /** Numbers, one in a poll. */
    public static class BadTask extends SourceTask {
        private Map<String, String> props = Map.of();
        private int number;

        @Override
        public String version() {
            return "bad";
        }

        @Override
        public void start(Map<String, String> configs) {
            props = configs;
            act(props, "task.start");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            act(props, "poll");
            Thread.sleep(100);
            Map<String, Integer> offset = Map.of("number", number++);
            String topic = props.get("topic");
            return List.of(new SourceRecord(Map.of(), offset, topic, Schema.STRING_SCHEMA, "number " + number));
        }

        @Override
        public void commitRecord(SourceRecord record, RecordMetadata metadata) {
            act(props, "commitRecord");
        }

        @Override
        public void stop() {
            act(props, "task.stop");
        }
    }

    /** A converter of text. */
    public static class BadConverter implements Converter {
        private Map<String, ?> configs = Map.of();

        @Override
        public void configure(Map<String, ?> configs, boolean isKey) {
            this.configs = configs;
            act(configs, "configure");
        }

        @Override
        public byte[] fromConnectData(String topic, Schema schema, Object value) {
            act(configs, "convert");
            return value == null ? null : value.toString().getBytes();
        }

        @Override
        public SchemaAndValue toConnectData(String topic, byte[] value) {
            act(configs, "read");
            return new SchemaAndValue(Schema.STRING_SCHEMA, new String(value));
        }
    }

    /** A converter of headers that are text. */
    public static class BadHeaderConverter implements HeaderConverter {
        private final BadConverter converter = new BadConverter();

        @Override
        public void configure(Map<String, ?> configs) {
            converter.configure(configs, false);
        }

        @Override
        public byte[] fromConnectHeader(String topic, String key, Schema schema, Object value) {
            return converter.fromConnectData(topic, schema, value);
        }

        @Override
        public SchemaAndValue toConnectHeader(String topic, String key, byte[] value) {
            return converter.toConnectData(topic, value);
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public void close() { }
    }

    /** A predicate of all records. */
    public static class BadPredicate implements Predicate<SourceRecord> {
        private Map<String, ?> configs = Map.of();

        @Override
        public void configure(Map<String, ?> configs) {
            this.configs = configs;
            act(configs, "configure");
        }

        @Override
        public boolean test(SourceRecord record) {
            act(configs, "test");
            return true;
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public void close() { }
    }

    /** A transformation that changes nothing. */
    public static class BadTransformation implements Transformation<SourceRecord> {
        private Map<String, ?> configs = Map.of();

        @Override
        public void configure(Map<String, ?> configs) {
            this.configs = configs;
            act(configs, "configure");
        }

        @Override
        public SourceRecord apply(SourceRecord record) {
            act(configs, "apply");
            return record;
        }

        @Override
        public ConfigDef config() {
            return new ConfigDef();
        }

        @Override
        public void close() {
            act(configs, "close");
        }
    }

    /** A transformation whose properties cannot be asked for. */
    public static class ExitsWhenAsked extends BadTransformation {
        @Override
        public ConfigDef config() {
            System.exit(3);
            return null;
        }
    }

    /** A transformation whose class file is of a newer Java, once the test has patched it. */
    public static class NewerTransformation extends BadTransformation { }

    /** A converter whose constructor needs a class that is not in the jar. */
    public static class ConverterNeedsMissing extends BadConverter {
        private final Missing missing = new Missing();
    }
}

/** A class that is compiled, but not in the jar. */
class Missing { }
