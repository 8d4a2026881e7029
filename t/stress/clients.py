# Licensed under the Apache License, Version 2.0; see LICENSE.

"""Clients that behave in all ways, and check every byte they get."""

import asyncio
import collections
import random
import socket
import ssl

from common import (CLEAN, HOSTILE, fields_of, pattern, read_chunk,
                    read_head, reset)

LOCATIONS = ('buf', 'buf', 'unbuf', 'small', 'stream', 'notemp', 'sync',
             'deflate', 'refused')
SIZES = (0, 1, 100, 100, 1000, 1000, 5000, 20000, 70000, 300000)
PATIENCE = 60


class Wrong(Exception):
    """The server has done what it must not do."""


class Request:
    """One request, and what may be answered."""

    serial = 0

    def __init__(self, rng, location=None, action=None, upload=None):
        Request.serial += 1
        self.rng = rng
        self.token = f'{Request.serial:06d}-{rng.getrandbits(64):016x}'
        self.location = location or rng.choice(LOCATIONS + ('one', 'wild'))
        self.action = action or rng.choice(
            CLEAN if rng.random() < 0.75 else HOSTILE)
        if self.action.startswith('stall') and rng.random() < 0.8:
            self.action = 'cut' # most of the time is for something else
        self.size = rng.choice(SIZES)
        if self.action == 'bytes':
            self.size = rng.randint(0, 200)
        if upload is None:
            upload = rng.random() < 0.3
        self.upload = rng.choice(SIZES) if upload else 0
        self.chunked = rng.random() < 0.4
        self.method = 'POST' if upload else rng.choice(('GET',) * 5
                                                       + ('HEAD',))
        self.close = rng.random() < 0.1

    def must_succeed(self):
        if self.location in ('one', 'wild') or self.action not in CLEAN:
            return False
        # a pooled connection may end just when it is used
        return self.method != 'POST'

    def target(self):
        return (f'/{self.location}/?tok={self.token}&do={self.action}'
                f'&n={self.size}&u={self.upload}')

    def head(self):
        lines = [f'{self.method} {self.target()} HTTP/1.1', 'Host: x']
        if self.upload and self.rng.random() < 0.2:
            lines.append('Expect: 100-continue') # and does not wait
        if self.upload and self.chunked:
            lines.append('Transfer-Encoding: chunked')
        elif self.method == 'POST':
            lines.append(f'Content-Length: {self.upload}')
        if self.close:
            lines.append('Connection: close')
        return ('\r\n'.join(lines) + '\r\n\r\n').encode()

    def body(self):
        data = pattern(self.token, self.upload)
        if not (self.upload and self.chunked):
            return data
        out = bytearray()
        while data:
            size = self.rng.choice((1, 300, 9000, 50000))
            part, data = data[:size], data[size:]
            out += b'%x\r\n%s\r\n' % (len(part), part)
        return bytes(out + b'0\r\n\r\n')


TRUSTING = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TRUSTING.check_hostname = False
TRUSTING.verify_mode = ssl.CERT_NONE


class Connection:
    """A connection to httpd."""

    def __init__(self, ports, rng):
        self.tls = rng.random() < 0.2
        self.port = ports[self.tls]
        self.rng = rng
        self.slow = 0
        self.served = 0
        self.seen = 0 # bytes of the present response

    async def open(self, rcvbuf=0):
        sock = socket.socket()
        if rcvbuf:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, ('127.0.0.1', self.port))
        self.reader, self.writer = await asyncio.open_connection(
            sock=sock, limit=4096 if rcvbuf else 65536,
            ssl=TRUSTING if self.tls else None,
            server_hostname='localhost' if self.tls else None)
        return self

    async def send(self, data, size=0, pause=0):
        """All at once, or in pieces."""
        size = size or len(data) or 1
        for at in range(0, len(data), size):
            self.writer.write(data[at:at + size])
            await self.writer.drain()
            if pause:
                await asyncio.sleep(pause)

    async def read_some(self, most):
        data = await self.reader.read(min(most, self.slow or most))
        if self.slow:
            await asyncio.sleep(0.01)
        self.seen += len(data)
        return data

    async def read_body(self, fields):
        """@return the body, and whether it was whole"""
        body = bytearray()
        if 'chunked' in fields.get('transfer-encoding', ''):
            try:
                while data := await read_chunk(self.reader):
                    body += data
                    if self.slow:
                        await asyncio.sleep(0.01)
                return bytes(body), True
            except (asyncio.IncompleteReadError, ValueError):
                return bytes(body), False
        left = int(fields.get('content-length', 1 << 60))
        while left:
            data = await self.read_some(min(left, 65536))
            if not data:
                return bytes(body), 'content-length' not in fields
            body += data
            left -= len(data)
        return bytes(body), True

    async def response(self, head_only):
        """@return status, fields, body, whole; None: nothing came"""
        self.seen = 0
        status = 100
        while status < 200:
            first = await self.reader.read(1)
            if not first:
                return None
            self.seen = 1
            lines = await read_head(self.reader)
            if not lines:
                return None
            lines[0] = first.decode('latin-1') + lines[0]
            status = int(lines[0].split(' ')[1])
        fields = fields_of(lines)
        if head_only or status in (204, 304):
            return status, fields, b'', True
        body, whole = await self.read_body(fields)
        return status, fields, body, whole

    def close(self, hard=False):
        if hard:
            reset(self.writer)
        else:
            self.writer.close()


def check(request, answer):
    """Is it what this request may be answered with?"""
    status, fields, body, whole = answer
    token = fields.get('x-tok')
    where = f'{request.method} {request.target()}: {status}'
    if token is not None and token != request.token:
        raise Wrong(f'{where}: the response of {token}')
    if token is not None:
        want = pattern(request.token, request.size)
        if request.method == 'HEAD':
            want = b''
        if not want.startswith(body):
            raise Wrong(f'{where}: {len(body)} bytes are not its own')
        if whole and request.action != 'badchunk' and body != want:
            raise Wrong(f'{where}: said to be whole, {len(body)} bytes')
        if request.must_succeed() and body != want:
            raise Wrong(f'{where}: {len(body)} bytes of {len(want)}')
    elif b'EVIL' in body:
        raise Wrong(f'{where}: surplus bytes of another response')
    if request.must_succeed() and status != 200:
        raise Wrong(f'{where}: not served')
    if status not in (200, 400, 408, 500, 502, 503, 504):
        raise Wrong(f'{where}: unexpected')


class Crowd:
    """Clients until a moment, and what became of them."""

    def __init__(self, ports, seed, strict):
        self.ports = ports # plain, TLS
        self.slowest = 0
        self.rng = random.Random(seed)
        self.strict = strict # nothing may be closed early: no restarts
        self.count = collections.Counter()
        self.wrong = []

    async def run(self, clients, seconds):
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        await asyncio.gather(self.probe(end), *(self.client(end)
                                                for _ in range(clients)))

    async def probe(self, end):
        """How long does somebody wait who asks for little?"""
        loop = asyncio.get_running_loop()
        while loop.time() < end:
            began = loop.time()
            await self.one(little)
            self.slowest = max(self.slowest, loop.time() - began)
            await asyncio.sleep(0.05)

    async def client(self, end):
        loop = asyncio.get_running_loop()
        while loop.time() < end and len(self.wrong) < 20:
            await self.one(self.rng.choice(KINDS))

    async def one(self, kind):
        rng = random.Random(self.rng.random())
        connection = Connection(self.ports, rng)
        told = f'{kind.__name__}{", TLS" if connection.tls else ""}'
        try:
            await asyncio.wait_for(kind(self, connection, rng), PATIENCE)
            self.count[kind.__name__] += 1
        except asyncio.TimeoutError:
            self.wrong.append(f'{told}: hangs, '
                              f'{getattr(connection, "what", "")}')
        except Wrong as e:
            self.wrong.append(f'{told}: {e}')
        except (OSError, asyncio.IncompleteReadError):
            self.count['broken'] += 1
        finally:
            if hasattr(connection, 'writer'):
                connection.close(rng.random() < 0.3)

    async def exchange(self, connection, request, size=0, pause=0):
        """@return 1: the connection can be used for another one"""
        connection.what = request.target()
        try:
            await connection.send(request.head(), size, pause)
            await connection.send(request.body(), size and size * 500, pause)
        except OSError:
            pass # the answer may be there
        return await self.answer(connection, request)

    async def answer(self, connection, request):
        try:
            answer = await connection.response(request.method == 'HEAD')
        except OSError:
            answer = None
        if answer is None:
            if request.must_succeed() and (connection.seen or (
                    not connection.served and self.strict)):
                raise Wrong(f'{request.target()}: no answer')
            self.count['unanswered'] += 1
            return False
        check(request, answer)
        self.count['requests'] += 1
        connection.served += 1
        return answer[3] and answer[1].get('connection') != 'close'


async def little(crowd, connection, rng):
    await connection.open()
    for _ in range(2):
        request = Request(rng, 'buf', 'len', False)
        request.size = 100
        if not await crowd.exchange(connection, request):
            return


async def keep_alive(crowd, connection, rng):
    await connection.open()
    for _ in range(rng.randint(1, 12)):
        if not await crowd.exchange(connection, Request(rng)):
            return
        if rng.random() < 0.3:
            await asyncio.sleep(rng.random() / 5)


async def short(crowd, connection, rng):
    await connection.open()
    request = Request(rng)
    request.close = True
    await crowd.exchange(connection, request)


async def pipelined(crowd, connection, rng):
    await connection.open()
    for _ in range(rng.randint(1, 3)):
        requests = [Request(rng, upload=False)
                    for _ in range(rng.randint(2, 7))]
        for request in requests:
            request.close = False
        connection.what = requests[0].target()
        data = b''.join(r.head() for r in requests)
        await connection.send(data, rng.choice((0, 0, 50, len(data) - 3)),
                              rng.random() / 100)
        for request in requests:
            if not await crowd.answer(connection, request):
                return


async def slow_reader(crowd, connection, rng):
    await connection.open(rcvbuf=4096)
    connection.slow = rng.choice((3000, 20000))
    for _ in range(2):
        request = Request(rng, action=rng.choice(CLEAN))
        request.size = rng.choice((70000, 300000, 700000))
        if request.action == 'bytes':
            request.size = 200
        if not await crowd.exchange(connection, request):
            return


async def slow_writer(crowd, connection, rng):
    await connection.open()
    for _ in range(2):
        if not await crowd.exchange(connection, Request(rng),
                                    rng.choice((1, 7, 40)), 0.002):
            return


async def leaver(crowd, connection, rng):
    """Goes at any point: of the head, the upload, the response."""
    await connection.open()
    for _ in range(rng.randint(0, 2)):
        if not await crowd.exchange(connection, Request(rng)):
            return
    request = Request(rng)
    data = request.head() + request.body()
    if rng.random() < 0.5:
        await connection.send(data[:rng.randint(0, len(data))])
    else:
        await connection.send(data)
        if rng.random() < 0.3 and connection.writer.can_write_eof():
            connection.writer.write_eof()
        try:
            await asyncio.wait_for(
                connection.reader.read(rng.choice((1, 1000, 100000))),
                rng.random() / 3)
        except asyncio.TimeoutError:
            pass
    await asyncio.sleep(rng.random() / 10)


async def half_head(crowd, connection, rng):
    """Leaves others' threads in peace while it thinks about the rest."""
    await connection.open()
    await crowd.exchange(connection, Request(rng, 'buf', 'late', False))
    request = Request(rng, 'buf', 'len', False)
    data = request.head()
    at = rng.randint(1, len(data) - 1)
    await connection.send(data[:at])
    await asyncio.sleep(rng.random())
    if rng.random() < 0.5:
        await connection.send(data[at:])
        await crowd.answer(connection, request)


async def nonsense(crowd, connection, rng):
    """After a good request a bad one: it has to be refused."""
    await connection.open()
    if not await crowd.exchange(connection,
                                Request(rng, 'buf', 'late', False)):
        return
    await connection.send(rng.choice((
        b'GET /buf/ HTTP/1.1\r\n\r\n', b'BAD\x01 / HTTP/1.1\r\n\r\n',
        b'GET / HTTP/1.1\r\nHost: x\r\nX' + b'y' * 90000 + b'\r\n\r\n')))
    try:
        answer = await connection.response(False)
    except OSError:
        return
    if answer is None and crowd.strict:
        raise Wrong('a bad request is not answered')
    if answer and answer[0] != 400:
        raise Wrong(f'a bad request is answered with {answer[0]}')


async def files(crowd, connection, rng):
    """What is not proxied, on a connection that was."""
    await connection.open(rcvbuf=rng.choice((0, 4096)))
    connection.slow = rng.choice((0, 20000))
    for _ in range(rng.randint(1, 6)):
        if not await crowd.exchange(connection,
                                    Request(rng, 'buf', 'late', False)):
            return
        path, status, size = rng.choice((
            ('/file.txt', 200, 300000), ('/missing', 404, 1000),
            ('/denied/', 403, None)))
        connection.what = path
        await connection.send(f'GET {path} HTTP/1.1\r\nHost: x\r\n\r\n'
                              .encode())
        answer = await connection.response(False)
        if answer is None:
            return
        if answer[0] != status or answer[3] and size is not None and (
                answer[2] != pattern('file' if status == 200 else 'none',
                                     size)):
            raise Wrong(f'{path}: {answer[0]}, {len(answer[2])} bytes')


async def withholder(crowd, connection, rng):
    """Announces a body that is refused, and does not send it."""
    await connection.open()
    await crowd.exchange(connection, Request(rng, 'buf', 'late', False))
    await connection.send(b'POST /denied%d/ HTTP/1.1\r\nHost: x\r\n'
                          b'Content-Length: 100\r\n\r\n'
                          % rng.randrange(10000))
    await asyncio.sleep(rng.random() * 2)


KINDS = (keep_alive, keep_alive, keep_alive, short, short, pipelined,
         pipelined, slow_reader, slow_writer, leaver, leaver, leaver,
         half_head, nonsense, files, withholder)
