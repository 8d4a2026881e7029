# Licensed under the Apache License, Version 2.0; see LICENSE.

"""What the hostile backend and the clients have agreed upon.

A request carries a token that no other has, what the backend is to do, and
sizes: GET /buf/?tok=T&do=chunk&n=1000&u=0. The bodies of both directions are
the token's pattern, so a byte of somebody else's is seen at once.
"""

import socket
import struct
import urllib.parse

# After these the client must have got everything.
CLEAN = ('len', 'chunk', 'close', 'bytes', 'drip', 'interim', 'last',
         'surplus', 'late', 'idle', 'rush')

# After these it may have got less, or a gateway's error.
HOSTILE = ('rst', 'rstmid', 'cut', 'garbage', 'stall', 'stallmid', 'huge',
           'badchunk', 'half', 'early')


def pattern(token, size):
    """The first `size` bytes of the token's body."""
    line = (token + '\n').encode()
    return (line * (size // len(line) + 1))[:size]


def query_of(target):
    """The parameters of a request target."""
    query = urllib.parse.urlsplit(target).query
    return dict(urllib.parse.parse_qsl(query))


def reset(writer):
    """Closes with a RST."""
    sock = writer.get_extra_info('socket')
    if sock is not None and sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack('ii', 1, 0))
    writer.transport.abort()


async def read_head(reader):
    """The lines of a head, None at the end of the stream."""
    lines = []
    while True:
        line = await reader.readline()
        if not line.endswith(b'\n'):
            return None
        line = line.rstrip(b'\r\n').decode('latin-1')
        if not line and lines:
            return lines
        if line:
            lines.append(line)


def fields_of(lines):
    """Field names, in lower case, to values."""
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(':')
        fields[name.strip().lower()] = value.strip()
    return fields


async def read_chunk(reader):
    """One chunk's data; b'' is the last one."""
    line = await reader.readline()
    size = int(line.split(b';')[0], 16)
    data = await reader.readexactly(size)
    if await reader.readexactly(2) != b'\r\n':
        raise ValueError('no CRLF behind a chunk')
    return data
