# Licensed under the Apache License, Version 2.0; see LICENSE.

"""The servers that are compared, and the backends behind them.

All proxies keep 64 idle connections to the backend and log errors only.
httpd has one child, nginx one worker, haproxy one thread; how large they are
is a Shape. What is not said here is each program's default.
"""

import dataclasses
import grp
import os
import pwd
import signal
import subprocess
import sys

from lab import LabError, find_program

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = os.path.abspath(os.environ.get('UP_MODULE') or os.path.join(
    os.path.dirname(HERE), 'mod_upstream_proxy.so'))

BASE = 'mod_proxy_http'  # what ratios are ratios to

# Configuration that selects a driver of the module: each of the module's
# peers runs once for each driver. `loop` is the default.
DRIVERS = {'loop': '', 'sync': 'UpstreamAsync off'}


@dataclasses.dataclass(frozen=True)
class Shape:
    """How large servers are for a scenario."""
    threads: int = 64        # of httpd's child
    slots: int = 1           # for its child, and for old ones that must end
    connections: int = 4096  # of nginx (both sides) and of haproxy (clients)
    status: bool = False     # httpd tells how many threads are busy


def first_line(program, option, stream):
    done = subprocess.run([program, option], check=True, text=True,
                          capture_output=True)
    return getattr(done, stream).strip().split('\n')[0]


def unprivileged():
    """(user, group) for servers that root starts, or None."""
    if os.getuid() != 0:
        return None
    nobody = pwd.getpwnam('nobody')
    return 'nobody', grp.getgrgid(nobody.pw_gid).gr_name


def compiled(lab, name, *parts):
    """A program of this directory."""
    program = lab.path(name)
    done = subprocess.run(
        [find_program('cc', 'gcc'), '-std=gnu11', '-O2', '-o', program,
         *(os.path.join(HERE, f'{part}.c') for part in (name, *parts))],
        text=True, capture_output=True, check=False)
    if done.returncode:
        raise LabError(f'{name}.c: {done.stderr}')
    return program


class Backend:
    """nginx with files, a sink for uploads, an application (app.c) that
    lets its clients wait, WebSockets (echo.c); addresses as HOST:PORT."""

    PROBE = '/probe'
    APP_SLOTS = 8

    def __init__(self, lab):
        os.makedirs(lab.path('www'))
        lab.write('www/probe', 'x')
        self.lab = lab
        self.files = self._serve('backend', self._nginx)
        self.sink = self._serve('sink', self._sink)
        compiled(lab, 'clients', 'answer', 'kit')
        compiled(lab, 'sockets', 'kit')
        echo = compiled(lab, 'echo', 'kit')
        self.echo = self._serve('echo', lambda port: [echo, str(port)])
        app = compiled(lab, 'app', 'kit')
        self.app = self._serve('app', lambda port: [app, str(port),
                                                    str(self.APP_SLOTS)])

    def _serve(self, name, configure):
        _, port = self.lab.serve(name, configure, self.lab.load_core,
                                 self.PROBE)
        return f'127.0.0.1:{port}'

    def _nginx(self, port):
        return nginx_command(self.lab, 'backend', f'''
sendfile on;
open_file_cache max=16;
default_type text/plain;
server {{
    listen 127.0.0.1:{port} backlog=1024;
    root {self.lab.path('www')};
}}
''')

    def _sink(self, port):
        return [sys.executable, os.path.join(HERE, 'sink.py'), str(port)]

    def add_file(self, name, size):
        """A file of zeros; returns its path on disk."""
        path = self.lab.path(f'www/{name}')
        if not os.path.exists(path):
            with open(path, 'wb') as file:
                file.truncate(size)
        return path


# --- httpd -----------------------------------------------------------------


def apxs(name):
    program = find_program('apxs', 'apache2-dev')
    return subprocess.run([program, '-q', name], check=True, text=True,
                          capture_output=True).stdout.strip()


class Httpd:
    """httpd with one way of proxying."""

    graceful = signal.SIGUSR1
    has_status = True

    def __init__(self, name, modules, configure):
        self.name = name
        self.modules = modules      # files, relative to httpd's own
        self.configure = configure  # (lab, backend) -> text

    def check(self):
        self.program = find_program(
            os.path.join(apxs('SBINDIR'), apxs('PROGNAME')), 'apache2')
        self.directory = apxs('LIBEXECDIR')
        for file in self.modules:
            if not os.path.exists(os.path.join(self.directory, file)):
                raise LabError(f'{file} is missing: run make'
                               if file == MODULE else
                               f'{file} is missing in {self.directory}')

    def version(self):
        line = first_line(self.program, '-v', 'stdout')
        return line.replace('Server version: ', '')

    def _loads(self, lab, shape):
        for file in ['mod_mpm_event.so', 'mod_authz_core.so',
                     *(['mod_status.so'] if shape.status else []),
                     *self.modules]:
            name = os.path.basename(file)[len('mod_'):-len('.so')]
            path = (lab.copy(file) if file == MODULE
                    else os.path.join(self.directory, file))
            yield f'LoadModule {name}_module "{path}"'

    def command(self, lab, port, backend, shape):
        tag = lab.path(self.name.replace('/', '-'))
        user = unprivileged()
        path = lab.write(f'{tag}.conf', '\n'.join([
            f'ServerRoot "{lab.root}"',
            f'DefaultRuntimeDir "{lab.root}"',
            f'PidFile "{tag}.pid"',
            f'ErrorLog "{tag}.log"',
            'LogLevel error',
            'ServerName localhost',
            f'Listen 127.0.0.1:{port}',
            'ListenBacklog 4096',
            f'DocumentRoot "{lab.path("www")}"',
            'User {}\nGroup {}'.format(*user) if user else '',
            *self._loads(lab, shape),
            'StartServers 1',
            f'ServerLimit {shape.slots}',
            f'ThreadLimit {shape.threads}',
            f'ThreadsPerChild {shape.threads}',
            f'MaxRequestWorkers {shape.threads}',
            'MinSpareThreads 1',
            f'MaxSpareThreads {shape.threads}',
            'AsyncRequestWorkerFactor 1000',
            'MaxKeepAliveRequests 0',
            'KeepAliveTimeout 60',
            'LimitRequestBody 0',
            self.configure(lab, backend),
            STATUS if shape.status else '', '']))
        return [self.program, '-f', path, '-DFOREGROUND']


# For all ways of proxying.
STATUS = '''
ExtendedStatus Off
<Location /server-status>
    SetHandler server-status
</Location>
'''


def module(name, extra, driver):
    """One of the module's peers: `extra` stands in its location."""

    def configure(lab, backend):
        return f'''
{DRIVERS[driver]}
<Upstream files>
    UpstreamServer {backend.files}
    UpstreamKeepalive 64
    UpstreamKeepaliveRequests 1000000000
</Upstream>
<Location />
    UpstreamPass http://files
    UpstreamTempPath "{lab.directory('module-temp')}"
    {extra}
</Location>
<Location /up/>
    UpstreamPass http://{backend.sink}/
</Location>
<Upstream app>
    UpstreamServer {backend.app}
    UpstreamKeepalive 64
    UpstreamKeepaliveRequests 1000000000
</Upstream>
<Location /app/>
    UpstreamPass http://app/
</Location>
<Location /ws/>
    UpstreamPass http://{backend.echo}
</Location>
<Location /server-status>
    UpstreamPass off
</Location>
'''
    return Httpd(name if len(DRIVERS) == 1 else f'{name}/{driver}',
                 [MODULE], configure)


def mod_proxy_http():
    def configure(_, backend):
        return f'''
ProxyPass /server-status !
ProxyPass /up/ http://{backend.sink}/
ProxyPass /app/ http://{backend.app}/
ProxyPass /ws/ http://{backend.echo}/ upgrade=WebSocket
ProxyPass / http://{backend.files}/
'''
    return Httpd(BASE, ['mod_proxy.so', 'mod_proxy_http.so'], configure)


# --- nginx -----------------------------------------------------------------


def nginx_command(lab, tag, http, shape=Shape()):
    temp = lab.directory(f'{tag}-temp')
    kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    paths = '\n'.join(f'{kind}_temp_path {temp}/{kind};' for kind in kinds)
    user = unprivileged()
    path = lab.write(f'{tag}.conf', f'''
{'user {} {};'.format(*user) if user else ''}
daemon off;
worker_processes 1;
pid {lab.path(tag)}.pid;
error_log {lab.path(tag)}.log error;
events {{ worker_connections {shape.connections}; }}
http {{
access_log off;
keepalive_requests 1000000000;
client_max_body_size 0;
{paths}
{http}
}}
''')
    return [find_program('nginx', 'nginx'), '-p', lab.root, '-c', path,
            '-e', f'{lab.path(tag)}.log']


class Nginx:
    """nginx as a proxy: `extra` stands in its server."""

    graceful = signal.SIGHUP
    has_status = False

    def __init__(self, name, extra):
        self.name = name
        self.extra = extra

    def check(self):
        self.program = find_program('nginx', 'nginx')

    def version(self):
        line = first_line(self.program, '-v', 'stderr')
        return line.replace('nginx version: ', '')

    def command(self, lab, port, backend, shape):
        return nginx_command(lab, self.name, f'''
upstream files {{
    server {backend.files};
    keepalive 64;
    keepalive_requests 1000000000;
}}
upstream app {{
    server {backend.app};
    keepalive 64;
    keepalive_requests 1000000000;
}}
server {{
    listen 127.0.0.1:{port} backlog=4096;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    {self.extra}
    location / {{ proxy_pass http://files; }}
    location /up/ {{ proxy_pass http://{backend.sink}/; }}
    location /app/ {{ proxy_pass http://app/; }}
    location /ws/ {{
        proxy_pass http://{backend.echo};
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection upgrade;
    }}
}}
''', shape)


# --- haproxy ---------------------------------------------------------------


class Haproxy:
    """haproxy, which has no buffering to turn off."""

    name = 'haproxy'
    graceful = signal.SIGUSR2  # to the master, as -W makes it
    has_status = False

    def check(self):
        self.program = find_program('haproxy', 'haproxy')

    def version(self):
        return ' '.join(first_line(self.program, '-v', 'stdout').split()[:3])

    def command(self, lab, port, backend, shape):
        path = lab.write('haproxy.conf', f'''
global
    maxconn {shape.connections}
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    http-reuse always
frontend front
    bind 127.0.0.1:{port} backlog 4096
    use_backend app if {{ path_beg /app/ }}
    use_backend sink if {{ path_beg /up/ }}
    use_backend echo if {{ path_beg /ws/ }}
    default_backend files
backend files
    server one {backend.files}
backend sink
    server one {backend.sink}
backend echo
    timeout tunnel 60s
    server one {backend.echo}
backend app
    http-request replace-path /app(/.*) \\1
    server one {backend.app}
''')
        return [self.program, '-W', '-db', '-f', path]


def all_peers():
    """Every peer, in the order of the tables."""
    unbuffered = 'UpstreamBuffering off\n    UpstreamRequestBuffering off'
    return [
        mod_proxy_http(),
        *[module('module', '', driver) for driver in DRIVERS],
        *[module('module-unbuffered', unbuffered, driver)
          for driver in DRIVERS],
        Nginx('nginx', ''),
        Nginx('nginx-unbuffered',
              'proxy_buffering off; proxy_request_buffering off;'),
        Haproxy(),
    ]
