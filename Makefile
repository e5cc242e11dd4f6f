# The same commands that CI calls. Each installs what it needs (scripts/setup.sh is the only place that does).
# Variables: PREFIX, DESTDIR (install), QUICK=1 (bench, bench-live), FUZZ_SECONDS (fuzz), TIDEWIRE_BENCH_DIR (bench), ROWS (bench, bench-live).
.PHONY: demo test live lint bench bench-live fuzz lab install

demo:  ; @scripts/demo.sh
test:  ; @scripts/test.sh
live:  ; @scripts/live.sh
lint:  ; @scripts/lint.sh
bench: ; @scripts/bench.sh
bench-live: ; @scripts/bench-live.sh
fuzz:  ; @scripts/fuzz.sh
lab:   ; @scripts/lab.sh
install: ; @scripts/install.sh
