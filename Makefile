# The same commands that CI calls. Each installs what it needs (scripts/setup.sh is the only place that does).
# Variables: PREFIX, DESTDIR (install), QUICK=1 (bench, bench-live, bench-pcap, attack), FLOODS, CURVES=1 (attack), FUZZ_SECONDS (fuzz), SECONDS and SEED (differential), TIDEWIRE_BENCH_DIR (bench), ROWS (bench, bench-live, bench-pcap).
.PHONY: demo test live lint generated semver minimum-rust parts bench bench-live bench-pcap attack fuzz differential sanitize lab install

demo:  ; @scripts/demo.sh
test:  ; @scripts/test.sh
live:  ; @scripts/live.sh
lint:  ; @scripts/lint.sh
generated: ; @scripts/generate.sh
semver: ; @scripts/semver.sh
minimum-rust: ; @scripts/minimum-rust.sh
parts: ; @scripts/parts.sh
bench: ; @scripts/bench.sh
bench-live: ; @scripts/bench-live.sh
bench-pcap: ; @scripts/bench-pcap.sh
attack: ; @scripts/attack.sh
fuzz:  ; @scripts/fuzz.sh
sanitize: ; @scripts/sanitize.sh
differential: ; @DURATION="$(SECONDS)" scripts/differential.sh
lab:   ; @scripts/lab.sh
install: ; @scripts/install.sh
