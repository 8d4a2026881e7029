#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.

"""h2_websocket.py PORT PATH STEP...: extended CONNECT (RFC 8441) over HTTP/2
with prior knowledge, on one stream. Says what came, a line each. Steps:

  send:TEXT   a masked text frame
  raw:N       N bytes 'x' as DATA
  expect:N    waits until N bytes of DATA came in all, says how many and, when
              few, which
  end         ends our side of the stream
  reset       resets the stream
  wait        waits for the server's end of the stream
  pause:MS    waits
"""

import socket
import sys
import time

import h2.config
import h2.connection
import h2.events
import h2.settings

MASK = b'mask'


def frame(text):
    data = text.encode()
    masked = bytes(byte ^ MASK[i % 4] for i, byte in enumerate(data))
    return bytes([0x81, 0x80 | len(data)]) + MASK + masked


class Client:
    def __init__(self, port, path):
        self.sock = socket.create_connection(('127.0.0.1', port), 10)
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=True))
        self.data = b''
        self.ended = None
        self.status = None
        self.settled = False
        self.fields = []
        self.h2.initiate_connection()
        self.flush()
        self.until(lambda: self.settled)
        allowed = self.h2.remote_settings.enable_connect_protocol
        print('connect protocol', allowed)
        self.stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(self.stream, [
            (':method', 'CONNECT'), (':protocol', 'websocket'),
            (':scheme', 'http'), (':path', path), (':authority', 'localhost'),
            ('sec-websocket-version', '13'), ('origin', 'http://localhost')])
        self.flush()
        self.until(lambda: self.status is not None)
        print('status', self.status)
        print('fields', ' '.join(sorted(self.fields)))

    def flush(self):
        self.sock.sendall(self.h2.data_to_send())

    def take(self, event):
        if isinstance(event, h2.events.RemoteSettingsChanged):
            self.settled = True
        elif isinstance(event, h2.events.ResponseReceived):
            fields = dict(event.headers)
            status = fields.get(':status', fields.get(b':status'))
            self.status = status.decode() if isinstance(status, bytes) \
                else status
            self.fields = [name.decode() if isinstance(name, bytes) else name
                           for name, _ in event.headers]
        elif isinstance(event, h2.events.DataReceived):
            self.data += event.data
            self.h2.acknowledge_received_data(
                event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended = 'ended'
        elif isinstance(event, h2.events.StreamReset):
            self.ended = self.ended or f'reset {event.error_code}'
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.ended = self.ended or 'goaway'

    def until(self, done, seconds=8):
        end = time.time() + seconds
        while not done() and time.time() < end:
            self.sock.settimeout(max(0.01, end - time.time()))
            try:
                got = self.sock.recv(65536)
            except socket.timeout:
                return False
            if not got:
                self.ended = self.ended or 'closed'
                return done()
            for event in self.h2.receive_data(got):
                self.take(event)
            self.flush()
        return done()

    def send(self, data):
        while data:
            self.until(lambda: self.h2.local_flow_control_window(self.stream))
            room = min(self.h2.local_flow_control_window(self.stream),
                       self.h2.max_outbound_frame_size, len(data))
            self.h2.send_data(self.stream, data[:room])
            self.flush()
            data = data[room:]

    def step(self, what, value):
        if what == 'send':
            self.send(frame(value))
        elif what == 'raw':
            self.send(b'x' * int(value))
        elif what == 'expect':
            began = time.time()
            self.until(lambda: len(self.data) >= int(value) or self.ended)
            shown = self.data if len(self.data) < 60 else b'...'
            print('data', len(self.data), shown,
                  'quick' if time.time() - began < 0.5 else 'slow')
        elif what == 'end':
            self.h2.end_stream(self.stream)
            self.flush()
        elif what == 'reset':
            self.h2.reset_stream(self.stream)
            self.flush()
        elif what == 'wait':
            self.until(lambda: self.ended)
            print('end', self.ended)
        elif what == 'pause':
            self.until(lambda: False, int(value) / 1000)


def main():
    client = Client(int(sys.argv[1]), sys.argv[2])
    for word in sys.argv[3:]:
        what, _, value = word.partition(':')
        client.step(what, value)


main()
