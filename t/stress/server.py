# Licensed under the Apache License, Version 2.0; see LICENSE.

"""An httpd of our own, and looks into its children."""

import os
import re
import signal
import socket
import struct
import subprocess
import time

from common import pattern

MODULES = ('mpm_event', 'authz_core', 'log_config', 'headers', 'deflate',
           'filter', 'mime', 'status', 'env', 'reqtimeout', 'unixd', 'ssl')

CRASHED = re.compile(r'exit signal|AH0005[012]|[Aa]ssertion|AH0004[67]|'
                     r'Sanitizer|runtime error:|smashing|free\(\):|corrupt')

CONF = '''
ServerRoot "{root}"
DefaultRuntimeDir "{root}"
PidFile "{root}/httpd.pid"
ErrorLog "{root}/error_log"
LogLevel {loglevel}
{load}
ServerName localhost
Listen 127.0.0.1:{port}
Listen 127.0.0.1:{tls}
DocumentRoot "{root}/htdocs"
TypesConfig /dev/null
{user}
Timeout {patience}
KeepAlive On
KeepAliveTimeout 2
MaxKeepAliveRequests 0
StartServers 1
ServerLimit 8
ThreadLimit 64
ThreadsPerChild 24
MaxRequestWorkers 24
MinSpareThreads 1
MaxSpareThreads 24
AsyncRequestWorkerFactor 30
LimitRequestLine 8190
CustomLog "{root}/access_log" "%r %>s %B"
ErrorDocument 404 /none.txt
<IfModule reqtimeout_module>
    RequestReadTimeout handshake=0 header=20-40,MinRate=500 body=0
</IfModule>
<Directory />
    Require all granted
</Directory>
<LocationMatch ^/denied>
    Require all denied
</LocationMatch>

<VirtualHost 127.0.0.1:{tls}>
    SSLEngine on
    SSLCertificateFile {root}/cert.pem
    SSLCertificateKeyFile {root}/key.pem
</VirtualHost>

UpstreamLoops 2
UpstreamTempPath "{root}/tmp"
UpstreamConnectTimeout {patience}
UpstreamSendTimeout {patience}
UpstreamReadTimeout {patience}
UpstreamNextUpstreamTries 3
{delay}

<Upstream m>
    UpstreamServer 127.0.0.1:{a} max_fails=0 max_conns={most}
    UpstreamServer 127.0.0.1:{b} max_fails=0 max_conns={most}
    UpstreamKeepaliveTimeout 1s
</Upstream>
<Upstream one>
    UpstreamServer 127.0.0.1:{a} max_fails=0 max_conns=1
    UpstreamKeepaliveTimeout 1s
</Upstream>
<Upstream refused>
    UpstreamServer 127.0.0.1:{refused} max_fails=0
    UpstreamServer 127.0.0.1:{a} max_fails=0
    UpstreamKeepaliveTimeout 1s
</Upstream>
<Upstream wild>
    UpstreamServer 127.0.0.1:{wild} max_fails=0 max_conns={most}
    UpstreamKeepaliveTimeout 1s
</Upstream>

<Location /buf/>
    UpstreamPass http://m
</Location>
<Location /unbuf/>
    UpstreamPass http://m
    UpstreamBuffering off
</Location>
<Location /small/>
    UpstreamPass http://m
    UpstreamBufferSize 4k
    UpstreamBuffers 3 4k
    UpstreamBusyBuffersSize 8k
    UpstreamTempFileWriteSize 8k
    UpstreamMaxTempFileSize 128k
    UpstreamRequestBufferSize 2k
</Location>
<Location /notemp/>
    UpstreamPass http://m
    UpstreamMaxTempFileSize 0
</Location>
<Location /stream/>
    UpstreamPass http://m
    UpstreamRequestBuffering off
    UpstreamBuffering off
</Location>
<Location /sync/>
    UpstreamPass http://m
    UpstreamAsync off
</Location>
<Location /deflate/>
    UpstreamPass http://m
    SetOutputFilter DEFLATE
</Location>
<Location /refused/>
    UpstreamPass http://refused
</Location>
<Location /one/>
    UpstreamPass http://one
</Location>
<Location /wild/>
    UpstreamPass http://wild
</Location>
'''


def ask_apxs(name):
    return subprocess.run(['apxs', '-q', name], check=True, text=True,
                          capture_output=True).stdout.strip()


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    """The parent process, its children and its logs."""

    def __init__(self, root, module, **conf):
        self.root = root
        self.module = module
        self.port = free_port()
        self.tls = free_port()
        self.conf = conf
        for name in ('tmp', 'htdocs', 'report'):
            os.makedirs(f'{root}/{name}')
        os.chmod(f'{root}/tmp', 0o1777)
        os.chmod(f'{root}/report', 0o1777)
        for name, size in (('file', 300000), ('none', 1000)):
            with open(f'{root}/htdocs/{name}.txt', 'wb') as f:
                f.write(pattern(name, size))
        self.make_certificate()
        self.write_conf()

    def make_certificate(self):
        subprocess.run(
            ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
             '-keyout', f'{self.root}/key.pem', '-out',
             f'{self.root}/cert.pem', '-subj', '/CN=localhost'], check=True,
            stderr=subprocess.DEVNULL)

    def write_conf(self):
        modules = ask_apxs('LIBEXECDIR')
        load = [f'LoadModule {name}_module "{modules}/mod_{name}.so"'
                for name in MODULES
                if os.path.exists(f'{modules}/mod_{name}.so')]
        load.append(f'LoadModule upstream_proxy_module "{self.module}"')
        user = 'User nobody\nGroup nogroup' if os.geteuid() == 0 else ''
        with open(f'{self.root}/httpd.conf', 'w', encoding='ascii') as f:
            f.write(CONF.format(root=self.root, port=self.port, user=user,
                                tls=self.tls, refused=free_port(),
                                load='\n'.join(load), **self.conf))

    def start(self, preload, suppressions):
        httpd = ask_apxs('SBINDIR') + '/' + ask_apxs('PROGNAME')
        command = [httpd, '-f', f'{self.root}/httpd.conf', '-DFOREGROUND']
        env = dict(os.environ)
        if preload:
            say = f'log_path={self.root}/report/r'
            env['LD_PRELOAD'] = preload
            env['UBSAN_OPTIONS'] = f'{say}:print_stacktrace=1'
            env['ASAN_OPTIONS'] = (f'{say}:detect_leaks=0:'
                                   'detect_odr_violation=0')
            # a child of the MPM that is told to stop early cleans up in its
            # signal handler
            env['TSAN_OPTIONS'] = (f'{say}:suppressions={suppressions}:'
                                   'report_signal_unsafe=0:history_size=4')
            command[:0] = ['setarch', '-R']
        self.process = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'TERM', *command], env=env)
        until = time.time() + 30
        while time.time() < until:
            try:
                # a connection is not enough: no child, and signals kill
                with socket.create_connection(
                        ('127.0.0.1', self.port), 30) as s:
                    s.sendall(b'GET /file.txt HTTP/1.0\r\n\r\n')
                    if s.recv(1):
                        return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f'httpd does not start, see {self.root}')

    def children(self):
        """Process ids, the oldest first."""
        pid = self.process.pid
        try:
            with open(f'/proc/{pid}/task/{pid}/children',
                      encoding='ascii') as f:
                return sorted(int(child) for child in f.read().split())
        except OSError:
            return []

    def graceful(self):
        self.process.send_signal(signal.SIGUSR1)

    def wait_for_one_child(self, seconds):
        """@return: only the newest child is left"""
        until = time.time() + seconds
        while len(self.children()) != 1 and time.time() < until:
            time.sleep(0.2)
        return len(self.children()) == 1

    def stop(self):
        """@return: it ended well and in time"""
        self.process.terminate()
        try:
            return self.process.wait(30) == 0
        except subprocess.TimeoutExpired:
            self.process.kill()
            return False

    def complaints(self):
        """What tells of a crash, in the log and from a sanitizer."""
        with open(f'{self.root}/error_log', encoding='latin-1') as f:
            found = [line.strip() for line in f if CRASHED.search(line)]
        for name in sorted(os.listdir(f'{self.root}/report')):
            with open(f'{self.root}/report/{name}', encoding='latin-1') as f:
                found += filter(concerns_us, f.read().split('=' * 18 + '\n'))
        return found


def concerns_us(report):
    """The thread sanitizer shows every instrumented function on a stack; a
    race without one of ours is between httpd's own threads."""
    return bool(report.strip()) and not (
        'ThreadSanitizer: reported' in report
        or 'ThreadSanitizer: data race' in report
        and 'module.so+' not in report)


def descriptors(pid):
    """How many, but for a sanitizer's report."""
    count = 0
    for name in os.listdir(f'/proc/{pid}/fd'):
        try:
            count += '/report/' not in os.readlink(f'/proc/{pid}/fd/{name}')
        except OSError:
            pass # closed meanwhile
    return count


def resident(pid):
    """Megabytes."""
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return int(re.search(r'VmRSS:\s+(\d+)', f.read())[1]) / 1024


def counter(pid, module, name):
    """A static integer of the module in a running child."""
    symbols = subprocess.run(['nm', module], check=True, text=True,
                             capture_output=True).stdout
    offset = int(re.search(rf'^(\w+) \w {name}$', symbols, re.M)[1], 16)
    with open(f'/proc/{pid}/maps', encoding='latin-1') as f:
        # a sanitizer may have the file in memory for itself, too
        start, shift = next(
            (int(line.split('-')[0], 16), int(line.split()[2], 16))
            for line in f if line.rstrip().endswith(os.path.realpath(module))
            and line.split()[1].startswith('r-x'))
    with open(f'/proc/{pid}/mem', 'rb') as f:
        f.seek(start - shift + offset)
        return struct.unpack('i', f.read(4))[0]
