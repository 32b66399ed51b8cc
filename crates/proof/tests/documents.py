#!/usr/bin/env python3
"""Makes random JSON documents and says what Python makes of them.

    documents.py SEED COUNT

Prints a line per document, fields separated by tabs: the document in hexadecimal digits, then
    = and the canonical form in hexadecimal digits, if json.loads takes it and P10 does;
    ! and the reasons for which P10 refuses it, if json.loads takes it and P10 does not;
    - if json.loads does not take it.
A newline stands in a document only where white space may.
"""

import json
import math
import random
import struct
import sys
from fractions import Fraction

DEPTH_MAX = 128
DIGITS_MAX = 4300

FLOATS = """0.0 -0.0 0e0 -0e0 0E+5 0.0000 -0.00e-7 1.0 1e0 1E5 1e+5 1e-5 1e5 0.1 0.2 0.3 1e15 1e16 1e17 1E16 123e14
9999999999999998.0 9999999999999999.0 99999999999999990.0 1e21 1e22 1e23 1e-4 1e-5 0.0001 0.00001 0.00009999999999999999
9007199254740991.0 9007199254740992.0 9007199254740993.0 9007199254740993.00000000000000000000000000001
4.9e-324 5e-324 2.4703282292062327e-324 2.4703282292062328e-324 2.5e-324 7.4e-324 7.5e-324 1e-323 1e-400 -1e-400
0e999 -0e999 0e99999999999999999999 1e-99999999999999999999 2.2250738585072011e-308 2.2250738585072014e-308
2.225073858507201e-308 1.7976931348623157e308 1.7976931348623158e308 1.797693134862315807e308 8.5e307 5e-05 2e-44
1.1754943508222875e-38 3.4028234663852886e38 9.5367431640625e-07 6.103515625e-05 123456789012345680.0 4.35 2.675
9.2233720368547758e18 1.8446744073709552e19 5.764607523034235e39 1.152921504606847e40 2.305843009213694e40""".split()
BEYOND = "1e309 -1e309 1e999 1E+400 1.7976931348623159e308 -1.797693134862315808e308 123456789e301 1e99999999999999999999".split()
CHARS = "\0\1\x07\b\t\n\v\f\r\x1b\x1f \"/\\'<>&az09\x7f\x80\x85\xa0\xad\xdf\xe9\u0301\u0378\u07ff\u0800\u200b\u200d\u2028\u2029\ud7ff\ue000" \
    "\ufdd0\ufeff\ufffc\ufffd\ufffe\uffff\U00010000\U0001f600\U0001f1e9\U000e0001\U0010fffe\U0010ffff"
KEYS = ["", "a", "A", "aa", "a\0", "b", "\x7f", "\x80", "\u00e9", "e\u0301", "\ud7ff", "\ue000", "\ufeff", "\uffff", "\U00010000",
        "\U0001f600", "\U0010ffff", "a\uffff", "a\U00010000", "1", "10", "2", "-1", "\"", "\\", "/", "\n", "\u2028", "id", "nonce"]
SHORT = {"\"": "\"", "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}


class Maker:
    """Makes the text of one document after the other."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def document(self):
        text = self.space() + self.value(0) + self.space()
        if self.chance(0.02):
            text = self.deep(text)
        data = text.encode("utf-8", "surrogatepass")
        return self.spoil(data) if self.chance(0.06) else data

    def deep(self, text):
        for _ in range(self.random.choice([1, 20, 100, 120, 124, 125, 126, 127, 128, 129, 130, 200])):
            text = f"[{text}]" if self.chance(0.7) else f'{{"":{self.space()}{text}}}'
        return text

    def spoil(self, data):
        """Hurts a document in one place; it may survive."""
        place = self.random.randrange(len(data) + 1)
        piece = self.random.choice([
            b"", b"", b",", b"]", b"}", b"[", b"{", b"\"", b":", b"\\", b"\\u", b"\\ud800", b"\\udc00", b"\\x", b"0", b"-", b".", b"e",
            b"NaN", b"Infinity", b"-Infinity", b"nul", b"true", b"//", b"'", b"\0", b"\x1f", b"\x0c", b"\xc2\xa0", b"\xef\xbb\xbf",
            b"\xff", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xf4\x90\x80\x80", b"\xf0\x9f", b"\xd9\xa1", b"+1", b"1e999",
        ])
        gone = self.random.choice([0, 0, 1, 1, 2, len(data)])
        return data[:place] + piece + data[place + gone:]

    def space(self):
        if self.chance(0.8):
            return ""
        return "".join(self.random.choice(" \t\r\n") for _ in range(self.random.randrange(4)))

    def value(self, depth):
        kind = self.random.random()
        if depth < 5 and kind < (0.55 if depth < 2 else 0.25):
            return self.array(depth) if self.chance(0.4) else self.object(depth)
        if kind < 0.70:
            return self.string(self.text())
        if kind < 0.80:
            return self.integer()
        if kind < 0.95:
            return self.float()
        if kind < 0.952:
            return self.random.choice(["NaN", "Infinity", "-Infinity"] + BEYOND)
        return self.random.choice(["null", "true", "false"])

    def array(self, depth):
        values = [self.space() + self.value(depth + 1) + self.space() for _ in range(self.count())]
        return "[" + (",".join(values) or self.space()) + "]"

    def object(self, depth):
        keys, entries = set(), []
        for _ in range(self.count()):
            key = self.random.choice(KEYS) if self.chance(0.7) else self.text()
            if key in keys and not self.chance(0.03):
                continue
            keys.add(key)
            entries.append(self.space() + self.string(key) + self.space() + ":" + self.space() + self.value(depth + 1) + self.space())
        return "{" + (",".join(entries) or self.space()) + "}"

    def count(self):
        return self.random.choice([0, 1, 1, 2, 3, 3, 4, 5, 8]) if self.chance(0.98) else self.random.randrange(60)

    def text(self):
        length = self.random.choice([0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 40])
        plain = self.chance(0.4)
        return "".join(self.random.choice("abc xyz-_") if plain else self.char() for _ in range(length))

    def char(self):
        if self.chance(0.6):
            return self.random.choice(CHARS)
        code = self.random.choice([0x80, 0x800, 0x10000, 0x110000])
        char = chr(self.random.randrange(code))
        return char if not "\ud800" <= char <= "\udfff" else "\ue123"

    def string(self, text):
        spelled = "".join(map(self.spell, text))
        if self.chance(0.003):
            spelled += self.random.choice(["\\ud800", "\\udc00", "\\udbff\\ud800\\udc00", "\\ud83d\\u0041", "\\uDE00\\uD83D", "\\ud800 "])
        return f'"{spelled}"'

    def spell(self, char):
        must = char < " " or char in "\"\\"
        if not must and self.chance(0.85):
            return char
        if char in SHORT and self.chance(0.6):
            return "\\" + SHORT[char]
        units = struct.unpack(f">{len(char.encode('utf-16-be')) // 2}H", char.encode("utf-16-be"))
        return "".join("\\u" + (f"{unit:04x}" if self.chance(0.5) else f"{unit:04X}") for unit in units)

    def integer(self):
        kind = self.random.random()
        if kind < 0.1:
            return self.random.choice(["0", "-0", "-1", "1"])
        if kind < 0.4:
            edge = 1 << self.random.choice([31, 32, 53, 63, 64, 65, 127, 128, 1024])
            return str(self.random.choice([1, -1]) * (edge + self.random.randrange(-2, 3)))
        if kind < 0.41:
            digits = self.random.choice([4299, 4300, 4301, 5000])
        else:
            digits = self.random.choice([1, 2, 5, 16, 17, 18, 19, 20, 40, 309, 400])
        first = self.random.choice("123456789")
        return self.random.choice(["", "-"]) + first + "".join(self.random.choices("0123456789", k=digits - 1))

    def float(self):
        kind = self.random.random()
        if kind < 0.25:
            return self.random.choice(FLOATS)
        number = self.number()
        if kind < 0.45:
            return repr(number) if "." in repr(number) or "e" in repr(number) else repr(number) + ".0"
        if kind < 0.6:
            return f"{number:.{self.random.randrange(1, 25)}e}"
        if kind < 0.7:
            return self.tie(number)
        if kind < 0.8:
            return f"{number:.{self.random.randrange(1, 40)}f}" if 1e-30 < abs(number) < 1e30 else repr(number * 1.0)
        whole, power = self.random.randrange(10 ** self.random.randrange(1, 20)), self.random.randrange(-340, 290)
        return f"{whole}{self.random.choice(['', '.0', '.5', '.25'])}{self.random.choice('eE')}{power}"

    def number(self):
        kind = self.random.random()
        if kind < 0.35:
            number = struct.unpack("<d", struct.pack("<Q", self.random.getrandbits(64)))[0]
            return number if math.isfinite(number) else 1.5
        if kind < 0.5:
            return self.random.choice([1, -1]) * 5e-324 * self.random.randrange(1, 1 << self.random.randrange(1, 54))
        if kind < 0.75:
            number = float(f"1e{self.random.choice([-5, -4, -3, 15, 16, 17, 21, 22, 23, self.random.randrange(-307, 308)])}")
            for _ in range(self.random.randrange(4)):
                number = math.nextafter(number, self.random.choice([0.0, math.inf]))
            return number
        if kind < 0.85:
            return 2.0 ** self.random.randrange(-1074, 1024)
        return self.random.choice([self.random.random(), self.random.uniform(-1e6, 1e6), round(self.random.uniform(0, 1000), 2)])

    def tie(self, number):
        """Spells out the middle between two floats to the last digit, or next to it."""
        number = abs(number)
        if not 1e-60 < number < 1e60:
            number = self.random.uniform(1e-9, 1e17)
        middle = (Fraction(number) + Fraction(math.nextafter(number, math.inf))) / 2
        power = middle.denominator.bit_length() - 1
        digits = str(middle.numerator * 5 ** power)
        return digits + self.random.choice(["", "0", "1", "000000001"]) + f"e-{power}" if self.chance(0.5) else f"{digits}.0E-{power}"


class Pairs(list):
    """An object of which nothing is lost."""


def judge(data):
    """Says what Python makes of a document, and what P10 refuses in it."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_int=integer)
    except (ValueError, RecursionError):
        return "-"
    refused = set()
    walk(json.loads(text, parse_int=integer, parse_float=lambda found: floating(found, refused),
                    parse_constant=lambda found: refused.add("NotANumber"), object_pairs_hook=Pairs), 0, refused)
    if refused:
        return "!" + ",".join(sorted(refused))
    form = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    return "=" + form.hex()


def integer(digits):
    """What newer versions of Python do by themselves."""
    if len(digits.lstrip("-")) > DIGITS_MAX:
        raise ValueError("too many digits")
    return int(digits)


def floating(text, refused):
    number = float(text)
    if math.isinf(number):
        refused.add("BeyondFloat")
    return number


def walk(value, depth, refused):
    if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
        refused.add("LoneSurrogate")
    if not isinstance(value, list):
        return
    if depth == DEPTH_MAX:
        refused.add("TooDeep")
    if isinstance(value, Pairs):
        keys = [key for key, _ in value]
        if len(set(keys)) < len(keys):
            refused.add("DuplicateKey")
        for key in keys:
            walk(key, depth + 1, refused)
        value = [inner for _, inner in value]
    for inner in value:
        walk(inner, depth + 1, refused)


def main():
    maker = Maker(int(sys.argv[1]))
    for _ in range(int(sys.argv[2])):
        data = maker.document()
        sys.stdout.write(f"{data.hex()}\t{judge(data)}\n")


main()
