#!/usr/bin/env python3
# Licensed under the Apache License, Version 2.0; see LICENSE.

"""A backend that does what the request says, mostly bad things.

Prints its three ports: two of servers that obey, and one that has a will of
its own from the moment it accepts. Bytes that belong to another request are
told in a line that starts with MIXED. Ends with its standard input.
"""

import asyncio
import random
import sys

from common import (fields_of, pattern, query_of, read_chunk, read_head,
                    reset)

OK = 'HTTP/1.1 200 OK\r\n'


class Gone(Exception):
    """The connection is not to be used any more."""


class Exchange:
    """One request, and what is done with it."""

    def __init__(self, reader, writer, lines, rng):
        self.reader = reader
        self.writer = writer
        self.rng = rng
        self.fields = fields_of(lines)
        query = query_of(lines[0].split(' ')[1])
        self.token = query.get('tok', 'none')
        self.action = query.get('do', 'len')
        self.upload = int(query.get('u', 0))
        self.body = pattern(self.token, int(query.get('n', 0)))
        self.only_head = lines[0].startswith('HEAD ')

    def head(self, framing, more=''):
        return (f'{OK}X-Tok: {self.token}\r\n{more}{framing}\r\n').encode()

    def length(self):
        return f'Content-Length: {len(self.body)}\r\n'

    async def put(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def pieces(self, data, size, pause):
        for at in range(0, len(data), size):
            await self.put(data[at:at + size])
            await asyncio.sleep(pause)

    def chunks(self, data):
        out = bytearray()
        while data:
            size = self.rng.choice((1, 7, 100, 4096, 30000))
            part, data = data[:size], data[size:]
            out += b'%x%s\r\n%s\r\n' % (
                len(part), self.rng.choice((b'', b'', b';x=y')), part)
        return bytes(out + b'0\r\n\r\n')

    async def read_upload(self):
        body = bytearray()
        if 'chunked' in self.fields.get('transfer-encoding', ''):
            while data := await read_chunk(self.reader):
                body += data
        else:
            size = int(self.fields.get('content-length', 0))
            while len(body) < size:
                data = await self.reader.read(min(65536, size - len(body)))
                if not data:
                    raise Gone
                body += data
                if self.rng.random() < 0.1:
                    await asyncio.sleep(self.rng.random() / 50)
        if bytes(body) != pattern(self.token, self.upload):
            print(f'MIXED upload of {self.token}: {len(body)} bytes of '
                  f'{self.upload}', flush=True)

    async def run(self):
        if self.action != 'early':
            await self.read_upload()
        if self.only_head:
            await self.put(self.head(self.length()))
        else:
            await getattr(self, 'do_' + self.action)()

    # what leaves a whole response behind

    async def do_len(self):
        await self.put(self.head(self.length()) + self.body)

    async def do_chunk(self):
        await self.put(self.head('Transfer-Encoding: chunked\r\n')
                       + self.chunks(self.body))

    async def do_close(self):
        await self.put(self.head('') + self.body)
        raise Gone

    async def do_bytes(self):
        await self.pieces(self.head('Transfer-Encoding: chunked\r\n')
                          + self.chunks(self.body[:300]), 1, 0)

    async def do_drip(self):
        size = len(self.body) // self.rng.randint(1, 9) + 20
        await self.pieces(self.head(self.length()) + self.body, size,
                          self.rng.random() / 30)

    async def do_interim(self):
        for _ in range(self.rng.randint(1, 4)):
            await self.put(b'HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n')
            await asyncio.sleep(self.rng.random() / 100)
        await self.do_len()

    async def do_last(self):
        await self.put(self.head(self.length(), 'Connection: close\r\n')
                       + self.body)
        raise Gone

    async def do_surplus(self):
        await self.put(self.head(self.length()) + self.body
                       + b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nEVIL!')
        await asyncio.sleep(self.rng.random() / 20)
        raise Gone

    async def do_late(self):
        await asyncio.sleep(0.02 + self.rng.random() / 3)
        await self.do_len()

    async def do_idle(self):
        await self.do_len()
        await asyncio.sleep(self.rng.random() / 100)
        raise Gone

    async def do_rush(self):
        """The head, and at another moment everything else."""
        await self.put(self.head(self.length()))
        await asyncio.sleep(self.rng.random() / 50)
        await self.put(self.body)

    # what does not

    async def do_rst(self):
        reset(self.writer)
        raise Gone

    def part(self):
        return self.body[:self.rng.randint(0, max(0, len(self.body) - 1))]

    async def do_rstmid(self):
        await self.put(self.head(self.length()) + self.part())
        await asyncio.sleep(self.rng.random() / 50)
        reset(self.writer)
        raise Gone

    async def do_cut(self):
        await self.put(self.head(self.length()) + self.part())
        raise Gone

    async def do_garbage(self):
        await self.put(self.rng.randbytes(self.rng.randint(1, 3000)))
        raise Gone

    async def do_stall(self):
        await self.reader.read(1)
        raise Gone

    async def do_stallmid(self):
        await self.put(self.head(self.length()) + self.part())
        await self.do_stall()

    async def do_huge(self):
        await self.put(OK.encode() + b'X: ' + b'y' * 200000)
        raise Gone

    async def do_badchunk(self):
        part = self.part()
        chunk = b'%x\r\n%s\r\n' % (len(part), part) if part else b''
        await self.put(self.head('Transfer-Encoding: chunked\r\n') + chunk
                       + b'zzzzzzzzzzzz')
        await asyncio.sleep(self.rng.random() / 50)
        raise Gone

    async def do_half(self):
        head = self.head(self.length())
        await self.put(head[:self.rng.randint(1, len(head) - 1)])
        if self.rng.random() < 0.5:
            await self.do_stall()
        raise Gone

    async def do_early(self):
        """Answers before it has read the upload, and may never read it."""
        await self.do_len()
        if self.rng.random() < 0.5:
            await self.read_upload()
        else:
            await asyncio.sleep(self.rng.random() / 10)
            raise Gone


async def wild(reader, writer, rng):
    """Begins before anybody has asked."""
    kind = rng.randrange(8)
    if kind == 0:
        reset(writer)
        raise Gone
    if kind == 1:
        raise Gone
    if kind == 2:
        writer.write(rng.randbytes(50))
    elif kind == 3:
        writer.write(b'HTTP/1.1 200 OK\r\nX-Wild: 1\r\n'
                     b'Content-Length: 2\r\n\r\nhi')
        await writer.drain()
        await asyncio.sleep(rng.random() / 10)
        raise Gone # or it would answer another request next
    elif kind == 4:
        await asyncio.sleep(0.1)
        reset(writer)
        raise Gone
    await writer.drain()


class Backend:
    """The servers and the sources of chance."""

    def __init__(self, seed):
        self.rng = random.Random(seed)

    async def serve(self, reader, writer, is_wild):
        rng = random.Random(self.rng.random())
        try:
            if is_wild:
                await wild(reader, writer, rng)
            while lines := await read_head(reader):
                await Exchange(reader, writer, lines, rng).run()
        except (Gone, OSError, ValueError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def listen(self, is_wild):
        server = await asyncio.start_server(
            lambda r, w: self.serve(r, w, is_wild), '127.0.0.1', 0,
            backlog=1024)
        return server, server.sockets[0].getsockname()[1]


async def main():
    backend = Backend(int(sys.argv[1]))
    servers = [await backend.listen(i == 2) for i in range(3)]
    print(*(port for _, port in servers), flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
