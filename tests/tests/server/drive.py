"""Runs a program on a terminal of its own, for a test that tells it, line by line, what to do.

    see TEXT       wait until TEXT is on the screen
    miss TEXT      wait until TEXT is not on the screen
    press KEYS     press keys, given as a JSON string
    signal NAME    send a signal
    end            wait until the program has ended; say its code, whether the terminal is as it was, whether it used colours

Each line is answered by one line of JSON. The screen is what a terminal would show: just enough of one is built here.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ROWS, COLUMNS, PATIENCE = 30, 120, 60
CSI = re.compile(r"\x1b\[([?>=]?)([0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]")


class Screen:
    """The cells of a terminal."""

    def __init__(self):
        self.clear()
        self.row = self.column = 0
        self.rest = ""
        self.has_colours = self.is_alternate = False

    def clear(self):
        self.cells = [[" "] * COLUMNS for _ in range(ROWS)]

    def feed(self, text):
        text = self.rest + text
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\x1b":
                match = CSI.match(text, at)
                if not match:
                    break
                self.control(*match.groups())
                at = match.end()
                continue
            at += 1
            self.put(char)
        self.rest = text[at:]

    def put(self, char):
        if char == "\r":
            self.column = 0
        elif char == "\n":
            self.row = min(self.row + 1, ROWS - 1)
        elif char >= " " and self.column < COLUMNS:
            self.cells[self.row][self.column] = char
            self.column += 1

    def control(self, private, numbers, letter):
        if letter is None:
            return
        values = [int(number or 0) for number in numbers.split(";")] if numbers else []
        if private == "?" and values == [1049]:
            self.is_alternate = letter == "h"
            self.clear()
        elif letter == "H":
            self.row = min(max((values or [1])[0], 1), ROWS) - 1
            self.column = min(max(values[1] if len(values) > 1 else 1, 1), COLUMNS) - 1
        elif letter == "J":
            self.clear()
        elif letter == "C":
            self.column = min(self.column + (values or [1])[0], COLUMNS - 1)
        elif letter == "m":
            self.has_colours |= any(value in (*range(30, 39), *range(40, 49), *range(90, 108)) for value in values)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)


def spawn(arguments):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    before = termios.tcgetattr(child)
    process = os.fork()
    if process == 0:
        os.close(parent)
        os.login_tty(child) if hasattr(os, "login_tty") else login(child)
        os.execvp(arguments[0], arguments)
    return process, parent, child, before


def login(child):
    os.setsid()
    fcntl.ioctl(child, termios.TIOCSCTTY, 0)
    for stream in (0, 1, 2):
        os.dup2(child, stream)


class Driver:
    def __init__(self, arguments):
        self.process, self.parent, self.child, self.before = spawn(arguments)
        self.screen = Screen()
        self.code = None

    def pump(self, seconds):
        readable, _, _ = select.select([self.parent], [], [], seconds)
        if readable:
            self.screen.feed(os.read(self.parent, 65536).decode("utf-8", "replace"))

    def has_ended(self):
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                return {"ok": False, "screen": self.screen.text()}
            self.pump(0.05)
        return {"ok": True}

    def do(self, verb, rest):
        if verb == "see":
            return self.wait(lambda: rest in self.screen.text())
        if verb == "miss":
            return self.wait(lambda: rest not in self.screen.text())
        if verb == "press":
            os.write(self.parent, json.loads(rest).encode())
            return {"ok": True}
        if verb == "signal":
            os.kill(self.process, getattr(signal, "SIG" + rest))
            return {"ok": True}
        return self.end()

    def end(self):
        answer = self.wait(self.has_ended)
        self.pump(0)
        is_restored = termios.tcgetattr(self.child) == self.before and not self.screen.is_alternate
        return {**answer, "code": self.code, "restored": is_restored, "colours": self.screen.has_colours}


def main():
    driver = Driver(sys.argv[1:])
    buffer = b""
    while True:
        readable, _, _ = select.select([0, driver.parent], [], [], 1)
        if driver.parent in readable:
            driver.pump(0)
        if 0 not in readable:
            continue
        piece = os.read(0, 65536)
        if not piece:
            break
        buffer += piece
        while b"\n" in buffer:
            line, _, buffer = buffer.partition(b"\n")
            verb, _, rest = line.decode().partition(" ")
            print(json.dumps(driver.do(verb, rest)), flush=True)
    if not driver.has_ended():
        os.kill(driver.process, signal.SIGKILL)


main()
