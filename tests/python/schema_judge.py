"""Judges documents by the court's schemas, with the `jsonschema` package: nothing of Muster is used.

    schema_judge.py DIRECTORY

Reads lines `{"schema": "event", "document": {...}}`, writes `valid` or `invalid` for each.
"""

import datetime
import json
import pathlib
import re
import sys

from jsonschema import Draft202012Validator, FormatChecker, validators


def main():
    judges = {path.name.removesuffix(".schema.json"): judge(path) for path in schemas(sys.argv[1])}
    for line in sys.stdin:
        case = json.loads(line)
        print("valid" if judges[case["schema"]].is_valid(case["document"]) else "invalid")


def schemas(directory):
    return pathlib.Path(directory).glob("*.schema.json")


def judge(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    strict = validators.extend(Draft202012Validator, {"pattern": pattern})
    return strict(schema, format_checker=formats())


def pattern(validator, expression, text, schema):
    """JSON Schema has the regular expressions of ECMA 262, where `$` is the end and not the newline before it."""
    if validator.is_type(text, "string") and not re.search(re.sub(r"\$$", r"\\Z", expression), text):
        yield from validator.descend(text, False)


def formats():
    checker = FormatChecker(formats=())

    @checker.checks("iso8601", raises=ValueError)
    def is_a_day(value):
        return not isinstance(value, str) or bool(datetime.date.fromisoformat(value[:10]))

    return checker


main()
