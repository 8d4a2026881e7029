#!/usr/bin/python3
# Licensed under the Apache License, Version 2.0; see LICENSE.

"""A WebSocket server and client that are not ours (python3-websockets).

websocket.py serve: takes a free port and prints it; ends with its standard
input. By the last part of the path:

  echo         what comes goes back, each message as it is
  pieces       each message goes back as one of many fragments
  ping         pings, waits for the pong, says so; then as echo
  close-N      closes with code N and the reason "N said"

It prints `closed CODE REASON` for each connection that ends.

websocket.py URL STEP...: a client; says what came, a line each. Steps:

  text:TEXT     sends a message and prints the answer
  binary:N      N random bytes; tells whether the same came back
  squash:N      N bytes that compress well, the same
  pieces:A,B    one message in fragments A, B and so on; prints the answer
  many:N        N messages at once, then their answers
  ping          pings and waits for the pong
  said          prints a message of the server's
  close:CODE    closes with this code and the reason "bye"
  wait          waits for the server's close, prints code and reason
"""

import asyncio
import os
import ssl
import sys

import websockets

MOST = 1 << 24


async def answer(socket):
    name = socket.path.rsplit('/', 1)[-1]
    if name.startswith('close-'):
        await socket.close(int(name[6:]), name[6:] + ' said')
        return
    if name == 'ping':
        pong = await socket.ping('are you there')
        await asyncio.wait_for(pong, 5)
        await socket.send('pong came')
    async for message in socket:
        if name == 'pieces':
            step = max(1, len(message) // 7)
            await socket.send([message[i:i + step] for i in
                               range(0, len(message), step)])
        else:
            await socket.send(message)


async def serve_one(socket):
    try:
        await answer(socket)
    except websockets.ConnectionClosed:
        pass
    await socket.wait_closed()
    print('closed', socket.close_code, socket.close_reason, flush=True)


async def serve():
    loop = asyncio.get_running_loop()
    async with websockets.serve(serve_one, '127.0.0.1', 0, max_size=MOST,
                                subprotocols=['second', 'third']) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await loop.run_in_executor(None, sys.stdin.read)


async def same(socket, message):
    await socket.send(message)
    return (await socket.recv()) == message


async def step(socket, what, value):
    if what == 'text':
        await socket.send(value)
        print(await socket.recv())
    elif what == 'binary':
        print(await same(socket, os.urandom(int(value))))
    elif what == 'squash':
        print(await same(socket, b'squash' * (int(value) // 6)))
    elif what == 'pieces':
        await socket.send(value.split(','))
        print(await socket.recv())
    elif what == 'many':
        for number in range(int(value)):
            await socket.send(f'message {number}')
        print(all([await socket.recv() == f'message {number}'
                   for number in range(int(value))]))
    elif what == 'ping':
        await (await socket.ping('hello'))
        print('pong')
    elif what == 'said':
        print(await socket.recv())
    elif what == 'close':
        await socket.close(int(value), 'bye')
        print('closed', socket.close_code, socket.close_reason)
    elif what == 'wait':
        await socket.wait_closed()
        print('closed', socket.close_code, socket.close_reason)


def trusting(url):
    if not url.startswith('wss:'):
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def client(url, steps):
    try:
        socket = await websockets.connect(
            url, ssl=trusting(url), max_size=MOST,
            subprotocols=['first', 'second'])
    except websockets.InvalidStatusCode as refusal:
        print('status', refusal.status_code)
        return
    names = ' '.join(extension.name for extension in socket.extensions)
    print('open', socket.subprotocol, names or 'plain')
    for word in steps:
        what, _, value = word.partition(':')
        await asyncio.wait_for(step(socket, what, value), 10)
    await socket.close()


def main():
    if sys.argv[1] == 'serve':
        asyncio.run(serve())
    else:
        asyncio.run(client(sys.argv[1], sys.argv[2:]))


main()
