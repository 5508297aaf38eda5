// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.Config;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.PluginMetrics;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.source.SourceConnector;

/** A connector that does in a method what the property with the method's name says. */
public class OddSource extends SourceConnector {
    private Map<String, String> props = Map.of();

    @Override
    public String version() {
        return "odd";
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef();
    }

    @Override
    public Config validate(Map<String, String> configs) {
        props = configs;
        act("validate");
        return super.validate(configs);
    }

    @Override
    public void start(Map<String, String> configs) {
        props = configs;
        System.out.println("started on stdout");
        System.err.println("started on stderr");
        act("start");
    }

    @Override
    public Class<? extends Task> taskClass() {
        throw new UnsupportedOperationException("no tasks");
    }

    /** One task, with the committed offset of the source partition {"odd": 1}. */
    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        act("taskConfigs");
        Map<String, Object> known = Map.of("odd", 1L);
        Map<String, Object> offset = context().offsetStorageReader().offset(known);
        Map<Map<String, Object>, Map<String, Object>> all =
            context().offsetStorageReader().offsets(List.of(known, Map.of("odd", 2L)));
        return List.of(Map.of("offset", describe(offset), "known", describe(all.get(known)), "all", "" + all.size()));
    }

    private static String describe(Map<String, Object> offset) {
        Object value = offset.get("at");
        return value.getClass().getSimpleName() + " " + value;
    }

    @Override
    public boolean alterOffsets(Map<String, String> configs, Map<Map<String, ?>, Map<String, ?>> offsets) {
        throw new UnsupportedOperationException("not altered");
    }

    @Override
    public void stop() {
        act("stop");
        System.out.println("stopped");
    }

    private void act(String method) {
        switch (props.getOrDefault(method, "")) {
            case "hang" -> sleep();
            case "exit" -> {
                System.err.println("last line");
                System.exit(3);
            }
            case "memory" -> exhaustMemory();
            case "throw" -> throw new ConnectException("refused", new IllegalStateException("the cause"));
            case "programs" -> runPrograms();
            case "reconfigure" -> new Thread(() -> context().requestTaskReconfiguration()).start();
            case "raise" -> new Thread(() -> context().raiseError(new IllegalStateException("from a thread"))).start();
            case "metric" -> addMetric();
            case "print" -> System.out.println("printed by " + method);
            default -> { }
        }
    }

    private static void sleep() {
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException e) {
            throw new ConnectException(e);
        }
    }

    private static void exhaustMemory() {
        List<long[]> kept = new ArrayList<>();
        while (true) {
            kept.add(new long[1 << 20]);
        }
    }

    /** Two programs without a waiting parent, one of them in a session of its own. */
    private static void runPrograms() {
        try {
            new ProcessBuilder("sleep", "1000").start();
            new ProcessBuilder("setsid", "sleep", "1000").start();
        } catch (java.io.IOException e) {
            throw new ConnectException(e);
        }
    }

    private void addMetric() {
        PluginMetrics metrics = context().pluginMetrics();
        LinkedHashMap<String, String> tags = new LinkedHashMap<>();
        tags.put("table", "orders");
        metrics.addMetric(metrics.metricName("odd-rows", "Rows", tags), (Gauge<Integer>) (config, now) -> 42);
    }
}
