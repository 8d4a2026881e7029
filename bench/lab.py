# Licensed under the Apache License, Version 2.0; see LICENSE.

"""The place where servers run while they are measured.

A Lab owns a temporary directory and every process that it has started; all
of it is gone when the Lab is closed. A process is the leader of a session of
its own, so that its children are found and nobody else's are touched, and it
is told to end when this program dies in whatever way.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

TICKS = os.sysconf('SC_CLK_TCK')


class LabError(Exception):
    """Something is missing or does not work; the text says what to do."""


def find_program(name, package):
    """The path of a program, or a LabError that names its package."""
    path = shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin')
    if path is None:
        raise LabError(f'{name} is missing (apt-get install {package})')
    return path


def free_port():
    with socket.socket() as sock:
        sock.bind(('127.0.0.1', 0))
        return sock.getsockname()[1]


def stat_fields(pid):
    """/proc/PID/stat from the state on, or None: the process has gone."""
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii',
                  errors='replace') as file:
            return file.read().rsplit(')', 1)[1].split()
    except OSError:
        return None


def memory_of(pids):
    """KiB of processes: (their share of what they share with others, all
    that is in memory)."""
    sums = {'Pss': 0, 'Rss': 0}
    for pid in pids:
        try:
            with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
                for line in file:
                    key, _, rest = line.partition(':')
                    if key in sums:
                        sums[key] += int(rest.split()[0])
        except OSError:
            pass
    return sums['Pss'], sums['Rss']


class Process:
    """A server: the process that was started and all its descendants."""

    def __init__(self, name, popen, log):
        self.name = name
        self.popen = popen
        self.log = log

    def members(self):
        """Process numbers of the session."""
        found = []
        for entry in os.listdir('/proc'):
            fields = stat_fields(entry) if entry.isdigit() else None
            # state, ppid, pgrp, session
            if fields and int(fields[3]) == self.popen.pid:
                found.append(int(entry))
        return found

    def cpu_seconds(self):
        """User and system time so far, of ended children too."""
        total = 0
        for pid in self.members():
            fields = stat_fields(pid)
            if fields:
                total += sum(int(n) for n in fields[11:15])
        return total / TICKS

    def memory(self):
        """KiB, as of memory_of."""
        return memory_of(self.members())

    def alive(self):
        return self.popen.poll() is None

    def said(self, most=2000):
        """The end of its output, for messages."""
        try:
            with open(self.log, encoding='utf-8', errors='replace') as file:
                return file.read()[-(most or 0):].strip()
        except OSError:
            return ''


class Watch:
    """Calls `look` again and again while it is entered."""

    def __init__(self, interval):
        self.interval = interval
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def look(self):
        raise NotImplementedError

    def _run(self):
        while not self._ended.wait(self.interval):
            self.look()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._ended.set()
        self._thread.join()


class MemoryWatch(Watch):
    """By how much a process has grown at most, KiB."""

    def __init__(self, process, interval=0.03):
        super().__init__(interval)
        self.pids = process.members()
        self.before = memory_of(self.pids)
        self.pss = self.rss = 0

    def look(self):
        pss, rss = memory_of(self.pids)
        self.pss = max(self.pss, pss - self.before[0])
        self.rss = max(self.rss, rss - self.before[1])


class Lab:
    """Use it as a context manager."""

    def __init__(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            raise LabError('two processors are needed: one for the proxy, '
                           'one for the backend and the clients')
        self.proxy_core, self.load_core = cores[0], cores[1]
        self.taskset = find_program('taskset', 'util-linux')
        self.setpriv = find_program('setpriv', 'util-linux')
        self.root = tempfile.mkdtemp(prefix='upstream-bench-')
        os.chmod(self.root, 0o755)
        self._processes = []
        os.sched_setaffinity(0, {self.load_core})

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for process in reversed(self._processes):
            self._signal(process, signal.SIGTERM)
        while self._processes:
            self.stop(self._processes[-1])
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, text):
        path = self.path(name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def directory(self, name):
        """A directory that every user may write to."""
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o1777)
        return path

    def copy(self, path):
        """A copy that stays as it is whatever is built meanwhile."""
        to = self.path(os.path.basename(path))
        if not os.path.exists(to):
            shutil.copyfile(path, to)
        return to

    def start(self, name, argv, core):
        """Starts a server that stays in the foreground."""
        log = self.path(f'{name}.out')
        with open(log, 'w', encoding='utf-8') as out:
            popen = subprocess.Popen(
                [self.setpriv, '--pdeathsig', 'TERM',
                 self.taskset, '-c', str(core), *argv],
                stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
                cwd=self.root)
        process = Process(name, popen, log)
        self._processes.append(process)
        return process

    @staticmethod
    def _signal(process, number):
        if process.alive():
            os.kill(process.popen.pid, number)

    def stop(self, process):
        """Ends a server and whatever it has left behind."""
        self._signal(process, signal.SIGTERM)
        try:
            process.popen.wait(5)
        except subprocess.TimeoutExpired:
            pass
        for pid in process.members():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.popen.wait()
        self._processes.remove(process)

    def wait_for(self, process, port, path):
        """Waits until the server answers; False: its port was taken."""
        until = time.monotonic() + 10
        while time.monotonic() < until and process.alive():
            try:
                if get(port, path, timeout=2)[0] == 200:
                    return True
            except OSError:
                pass
            time.sleep(0.02)
        if re.search('in use|AH00072|cannot bind', process.said()):
            return False
        raise LabError(f'{process.name} does not answer:\n{process.said()}')

    def serve(self, name, configure, core, path):
        """Starts a server on a free port and waits until it answers.
        @param configure  called with the port, returns the command
        @return  (process, port)
        """
        for _ in range(5):
            port = free_port()
            process = self.start(name, configure(port), core)
            if self.wait_for(process, port, path):
                return process, port
            self.stop(process)
        raise LabError(f'no free port for {name}')


# --- a plain HTTP client ---------------------------------------------------


def read_head(sock):
    """(status, length or None, body bytes that came along)"""
    data = b''
    while b'\r\n\r\n' not in data:
        more = sock.recv(65536)
        if not more:
            raise OSError('closed before the end of a response head')
        data += more
    head, rest = data.split(b'\r\n\r\n', 1)
    length = re.search(rb'(?im)^content-length:\s*(\d+)', head)
    return (int(head.split()[1]), int(length.group(1)) if length else None,
            rest)


def drain(sock, length, got):
    """Reads the rest of a body; returns its bytes in all."""
    room = memoryview(bytearray(1 << 20))
    while length is None or got < length:
        n = sock.recv_into(room)
        if not n:
            break
        got += n
    return got


def get(port, path, timeout=120):
    """(status, body bytes) of a GET."""
    with socket.create_connection(('127.0.0.1', port), timeout) as sock:
        sock.sendall(f'GET {path} HTTP/1.1\r\nHost: bench\r\n'
                     'Connection: close\r\n\r\n'.encode())
        status, length, rest = read_head(sock)
        return status, drain(sock, length, len(rest))


def read(port, path, timeout):
    """The body of a GET."""
    with socket.create_connection(('127.0.0.1', port), timeout) as sock:
        sock.sendall(f'GET {path} HTTP/1.1\r\nHost: bench\r\n'
                     'Connection: close\r\n\r\n'.encode())
        _, length, body = read_head(sock)
        while length is None or len(body) < length:
            more = sock.recv(65536)
            if not more:
                break
            body += more
        return body


def put(port, path, filename, timeout=120):
    """(status, body) of a PUT of a whole file."""
    size = os.path.getsize(filename)
    with socket.create_connection(('127.0.0.1', port), timeout) as sock, \
            open(filename, 'rb') as file:
        sock.sendall(f'PUT {path} HTTP/1.1\r\nHost: bench\r\n'
                     f'Connection: close\r\nContent-Length: {size}\r\n\r\n'
                     .encode())
        sock.sendfile(file)
        status, length, rest = read_head(sock)
        while length is not None and len(rest) < length:
            more = sock.recv(4096)
            if not more:
                break
            rest += more
        return status, rest
