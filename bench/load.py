# Licensed under the Apache License, Version 2.0; see LICENSE.

"""The clients, and what they say."""

import itertools
import json
import re
import subprocess

from lab import LabError, Watch, find_program, get, read

UNITS = {'us': 1e-3, 'ms': 1.0, 's': 1e3, 'm': 60e3, 'h': 3600e3}


def milliseconds(text):
    number, unit = re.fullmatch(r'([\d.]+)(\w+)', text).groups()
    return float(number) * UNITS[unit]


def wrk(port, path, connections, seconds):
    """A closed loop. Returns {'requests', 'seconds', 'p99'} (p99 in ms); any
    answer that is not a 2xx or 3xx, and any broken connection, is an error.
    """
    argv = [find_program('wrk', 'wrk'), '-t1', f'-c{connections}',
            f'-d{seconds}s', '--timeout', '10s', '--latency',
            f'http://127.0.0.1:{port}{path}']
    said = subprocess.run(argv, text=True, capture_output=True,
                          check=False).stdout
    bad = re.findall(r'Socket errors.*|Non-2xx.*', said)
    total = re.search(r'(\d+) requests in ([\d.]+\w+),', said)
    p99 = re.search(r'99%\s+(\S+)', said)
    if bad or not total or not p99 or int(total.group(1)) == 0:
        raise LabError(f'{path}: {"; ".join(bad) or said or "no answer"}')
    return {'requests': int(total.group(1)),
            'seconds': milliseconds(total.group(2)) / 1000,
            'p99': milliseconds(p99.group(1))}


class Program:
    """A program of this directory at work on a port; its options are
    described there."""

    NUMBER = itertools.count(1)

    def __init__(self, server, name, port, options):
        lab = server.backend.lab
        self.cut = options.get('cut', 60000) / 1000
        self._lab = lab
        self._name = name
        self._process = lab.start(
            f'{name}-{next(self.NUMBER)}',
            [lab.path(name), str(port),
             *(f'{name}={value}' for name, value in options.items())],
            lab.load_core)

    def result(self):
        """Waits for the end. Returns what it says."""
        try:
            self._process.popen.wait(self.cut + 10)
        except subprocess.TimeoutExpired:
            pass
        self._lab.stop(self._process)
        said = self._process.said(None)
        try:
            return json.loads(said)
        except ValueError:
            raise LabError(f'{self._name}: {said or "no result"}') from None


class Clients(Program):
    """clients.c."""

    def __init__(self, server, **options):
        super().__init__(server, 'clients', server.port, options)

    def result(self):
        """Also `failed`: all that was not answered, but for what was not
        over at the end (`late`)."""
        found = super().result()
        found['failed'] = sum(found[kind] for kind in FAILURES)
        return found


class Sockets(Program):
    """sockets.c."""

    def __init__(self, server, port, **options):
        super().__init__(server, 'sockets', port, options)


FAILURES = ('refused', 'reset', 'dropped', 'cut', 'status', 'wrong')


class BusyWatch(Watch):
    """Asks httpd how many of its threads are busy; where it does not say in
    time, all of them are."""

    def __init__(self, server, shape):
        super().__init__(0.25)
        self.port = server.port
        self.all = shape.threads
        self.says = server.peer.has_status
        self.samples = []

    def look(self):
        if not self.says:
            return
        busy = self.all
        try:
            text = read(self.port, '/server-status?auto', timeout=0.5)
            found = re.search(rb'^BusyWorkers: (\d+)', text, re.M)
            # One of them answers.
            busy = int(found.group(1)) - 1 if found else busy
        except OSError:
            pass
        self.samples.append(busy)

    def mean(self):
        return (sum(self.samples) / len(self.samples) if self.samples
                else None)
