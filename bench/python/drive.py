"""Drives one library in one part: python drive.py LIBRARY prepare|send|work|latency '{"url": …, "jobs": …, "batch": …}'

Says "ready", waits for a line, does its part, says "done", and waits to be ended. The measuring program keeps the time;
only latencies are measured here and printed in milliseconds.
"""

import importlib
import json
import os
import sys


def told(word):
    print(word, flush=True)
    sys.stdin.readline()


library, part, text = sys.argv[1:]
module = importlib.import_module(library)
times = getattr(module, part)(json.loads(text), lambda: told("ready"))
if part == "latency":
    print(json.dumps(times), flush=True)
told("done")
if hasattr(module, "end"):
    module.end()
# Without waiting for threads and connections.
os._exit(0)
