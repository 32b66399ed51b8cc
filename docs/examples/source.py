#!/usr/bin/env python3
"""A source: prints what happened as events, one JSON object per line. It needs nothing but Python.

The sentinel of a court runs it again and again (`[sentinel.command.texts]` in court.toml), and each event happens once,
because its id is made of what happened: a file, and the state it is in.
"""
import json, os, re

for entry in sorted(os.scandir("texts"), key=lambda entry: entry.name):
    if entry.is_file() and re.fullmatch(r"[A-Za-z0-9._-]{1,100}", entry.name):
        print(json.dumps({"id": f"evt-texts-{entry.name}-{entry.stat().st_mtime_ns}", "type": "texts.changed",
                          "payload": {"file": entry.name}}))
