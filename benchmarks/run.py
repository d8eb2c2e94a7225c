"""`./dev bench`: every benchmark with its ratio, its bar, and ok or over. No test depends on a time."""

from benchmarks import decoding, detection, footprint, judging, latency, replaying, rules

decoding.run()
footprint.run()
latency.run()
rules.run()
judging.run()
detection.run()
replaying.run()
