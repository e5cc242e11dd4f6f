# The same commands that CI calls. Each installs what it needs (scripts/setup.sh is the only place that does).
# Variables: PREFIX, DESTDIR, FEATURES, SYMBOLS (install), QUICK=1 (bench, bench-live, bench-pcap, bench-sensor, bench-events, bench-hostile, attack), FLOODS, CURVES=1 (attack), FUZZ_SECONDS (fuzz), MINUTES, TIME=1 (bench-hostile), SECONDS and SEED (differential, crash), SIDE (differential), TIDEWIRE_BENCH_DIR (bench, bench-sensor, bench-events), ROWS (bench, bench-live, bench-pcap, bench-sensor, bench-events, bench-hostile).
.PHONY: demo test live lint generated semver minimum-rust deny parts bench bench-live bench-pcap bench-sensor bench-events bench-record bench-exports bench-hostile attack fuzz differential crash kafka-test sanitize lab install uninstall

demo:  ; @scripts/demo.sh
test:  ; @scripts/test.sh
live:  ; @scripts/live.sh
lint:  ; @scripts/lint.sh
generated: ; @scripts/generate.sh
semver: ; @scripts/semver.sh
minimum-rust: ; @scripts/minimum-rust.sh
deny:  ; @scripts/deny.sh
parts: ; @scripts/parts.sh
bench: ; @scripts/bench.sh
bench-live: ; @scripts/bench-live.sh
bench-pcap: ; @scripts/bench-pcap.sh
bench-sensor: ; @scripts/bench-sensor.sh
bench-events: ; @scripts/bench-events.sh
bench-record: ; @scripts/bench-record.sh
bench-hostile: ; @scripts/bench-hostile.sh
bench-exports: ; @scripts/bench-exports.sh
attack: ; @scripts/attack.sh
fuzz:  ; @scripts/fuzz.sh
sanitize: ; @scripts/sanitize.sh
differential: ; @DURATION="$(SECONDS)" scripts/differential.sh
crash: ; @DURATION="$(SECONDS)" scripts/crash.sh
kafka-test: ; @scripts/kafka.sh
lab:   ; @scripts/lab.sh
install: ; @scripts/install.sh
uninstall: ; @UNINSTALL=1 scripts/install.sh
