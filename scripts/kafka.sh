#!/usr/bin/env bash
# Tests Kafka as a destination against a real broker (one node, KRaft, on loopback): brings Kafka's own jars from Maven Central, once,
# into target/kafka; builds the features; lints and tests them. Not a part of `make test`: librdkafka is built for it, and the broker is
# started and killed several times.
# kafka.sh --jars: brings the jars and nothing else. kafka.sh --figures: measures what docs/cluster.md says.
set -euo pipefail
. "$(dirname "$0")/common.sh"
version=4.1.0
folder=$PWD/${CARGO_TARGET_DIR:-target}/kafka
[[ ${CARGO_TARGET_DIR:-} != /* ]] || folder=$CARGO_TARGET_DIR/kafka
scripts/setup.sh kafka

if [ "$(cat "$folder/version" 2>/dev/null)" != "$version" ]; then
  echo "kafka: bringing Kafka $version (Maven Central, 45 jars, 43 MB)" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  cat >"$folder/pom.xml" <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidewire</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
END
  mvn --batch-mode --quiet -Dmaven.repo.local="$folder/repository" -f "$folder/pom.xml" \
    dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$folder/libs"
  rm -rf "$folder/repository"
  echo "$version" >"$folder/version"
fi
[ "${1:-}" != --jars ] || exit 0

scripts/setup.sh build
export TIDEWIRE_KAFKA_LIBS=$folder/libs
if [ "${1:-}" = --figures ]; then
  exec cargo test --locked --profile quick -p tidewire-delivery --features kafka-tls --test kafka -- --exact figures --ignored --nocapture
fi
cargo clippy --locked --profile quick -p tidewire-delivery --features kafka-tls --all-targets -- -D warnings
cargo test --locked --profile quick -p tidewire-delivery --features kafka-tls --lib -- kafka
cargo test --locked --profile quick -p tidewire-sensor --features kafka --lib -- every_key_of_kafka_is_read
cargo test --locked --profile quick -p tidewire-delivery --features kafka-tls --test kafka -- --nocapture
echo "kafka: passed"
