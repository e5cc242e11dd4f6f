import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;

/**
 * What the tests ask of a broker, by Kafka's own client.
 *
 * java -cp 'libs/*' Topic.java create BROKER TOPIC PARTITIONS [SETTING=VALUE...]
 * java -cp 'libs/*' Topic.java read BROKER TOPIC: everything that is there now, a line each, by partition and offset:
 * partition, the partition that Java gives this key, offset, key, headers (name=value), value, tabs between; key and values of headers in
 * hexadecimal digits.
 */
public class Topic {
    public static void main(String[] of) throws Exception {
        if (of[0].equals("create")) {
            create(of[1], of[2], Integer.parseInt(of[3]), Arrays.copyOfRange(of, 4, of.length));
        } else {
            read(of[1], of[2]);
        }
    }

    static void create(String broker, String name, int partitions, String[] settings) throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (String setting : settings) {
            String[] pair = setting.split("=", 2);
            configs.put(pair[0], pair[1]);
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", broker))) {
            admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
        }
    }

    static void read(String broker, String name) {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", broker,
            "key.deserializer", ByteArrayDeserializer.class,
            "value.deserializer", ByteArrayDeserializer.class);
        StringBuilder out = new StringBuilder();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            List<TopicPartition> all = new ArrayList<>();
            for (PartitionInfo info : consumer.partitionsFor(name)) {
                all.add(new TopicPartition(name, info.partition()));
            }
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (ConsumerRecord<byte[], byte[]> message : consumer.poll(Duration.ofMillis(200))) {
                    int expected = Utils.toPositive(Utils.murmur2(message.key())) % all.size();
                    out.append(message.partition()).append('\t').append(expected).append('\t').append(message.offset());
                    out.append('\t').append(hex(message.key())).append('\t');
                    for (Header header : message.headers()) {
                        out.append(header.key()).append('=').append(hex(header.value())).append(' ');
                    }
                    out.append('\t').append(new String(message.value())).append('\n');
                }
            }
        }
        System.out.print(out);
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
