# Licensed under the Apache License, Version 2.0; see LICENSE.

"""sink.py PORT: a backend that reads request bodies and answers with the
number of their bytes. Bodies need a Content-Length."""

import re
import socket
import sys
import threading

ROOM = 1 << 20


def read_head(sock, data):
    """(length of the body, bytes of it that came along) or None."""
    while b'\r\n\r\n' not in data:
        more = sock.recv(65536)
        if not more:
            return None
        data += more
    head, rest = data.split(b'\r\n\r\n', 1)
    length = re.search(rb'(?im)^content-length:\s*(\d+)', head)
    return int(length.group(1)) if length else 0, rest


def serve(sock):
    room = memoryview(bytearray(ROOM))
    data = b''
    with sock:
        while True:
            request = read_head(sock, data)
            if request is None:
                return
            length, data = request
            got = len(data[:length])
            data = data[length:]
            while got < length:
                n = sock.recv_into(room, min(ROOM, length - got))
                if not n:
                    return
                got += n
            text = str(got).encode()
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s'
                         % (len(text), text))


def main():
    listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))
    while True:
        sock, _ = listener.accept()
        threading.Thread(target=serve, args=(sock,), daemon=True).start()


main()
