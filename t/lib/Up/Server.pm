# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Server;

# A private httpd for one test file, with the module and the file's own
# configuration, on a port and in a directory of its own.
#
#   my $s = Up::Server->start(conf => q{
#       <Location /p/>
#           UpstreamPass http://@A@
#       </Location>
#   }, A => $backend->addr);
#   my $res = $s->get('/p/x');             # a connection of its own
#   my $k = $s->client;                    # Up::Client, for more
#   my ($line) = $s->access_log(1);        # waits for one line
#   ok $s->stop, 'server ended well';
#
# @NAME@ in the configuration stands for the argument of that name. Always
# there: @PORT@, @ROOT@ (its directory), @HTDOCS@, @TMP@ (writable for the
# children), @MODULES@. Options: mpm (event, worker, prefork; UP_MPM),
# driver (UP_DRIVER), main (configuration before everything else), loglevel,
# hosts (a text that stands in for /etc/hosts; see ->has_hosts).

use strict;
use warnings;

use Carp qw(croak);
use File::Path ();
use IO::Socket::IP ();
use POSIX ();
use Socket qw(SOL_SOCKET SO_REUSEADDR SOCK_STREAM);
use Test::More ();
use Time::HiRes qw(time sleep);

use Up::Client ();

# Configuration that selects a driver. Behaviour tests run once for each.
our %DRIVERS = (sync => "UpstreamAsync off\n",
    loop => "UpstreamAsyncDelay 0\n");

# Modules that every server loads, after the MPM.
our @MODULES = qw(authz_core log_config headers rewrite deflate filter alias
    mime dir status env setenvif logio reqtimeout cgid auth_basic authn_core
    authn_file authz_user authz_host remoteip ratelimit http2 unixd);

# What a child must never say.
my $CRASHED = qr/exit\ signal|AH0005[012]|Assertion|AH00046|AH00047
    |AddressSanitizer|runtime\ error:|stack\ smashing|free\(\):/x;

my $failed = 0; # a server ended badly and no test asked
my $serial = 0;

sub start {
    my ($class, %arg) = @_;
    my $self = $class->_prepare(%arg);
    for my $try (1 .. 5) {
        $self->_configure;
        $self->_spawn;
        return $self if $self->_ready;
        last if $self->{log} !~ /AH00072/; # the port was taken meanwhile
    }
    delete $self->{pid};
    croak "httpd does not start:\n$self->{log}";
}

# Only checks a configuration: returns (accepted, what httpd said).
sub check {
    my ($class, %arg) = @_;
    my $self = $class->_prepare(%arg);
    $self->_configure;
    my $said = join '', qx{@{[ $self->_command ]} -t 2>&1};
    return ($? == 0, $said);
}

# A port that nobody uses at the moment, outside the range from which the
# system picks.
sub free_port {
    for (1 .. 100) {
        my $port = 10000 + int rand 20000;
        my $sock = IO::Socket::IP->new(LocalHost => '127.0.0.1',
            LocalPort => $port, Type => SOCK_STREAM,
            Sockopts => [[SOL_SOCKET, SO_REUSEADDR, 1]]) or next;
        return $port;
    }
    croak 'no free port';
}

# LoadModule lines for an MPM. What this httpd does not have is left out, for
# http2 does not come with every one; with prefork it only warns.
sub load_modules {
    my ($mpm, $directory, $module) = @_;
    my $text = '';
    for my $name ("mpm_$mpm", @MODULES) {
        next if $name eq 'http2' && $mpm eq 'prefork';
        my $file = "$directory/mod_$name.so";
        $text .= "LoadModule ${name}_module \"$file\"\n" if -e $file;
    }
    return "${text}LoadModule upstream_proxy_module \"$module\"\n";
}

# The first line of a log that tells of a crash.
sub crashed {
    my ($file) = @_;
    open my $fh, '<:raw', $file or return;
    return (grep { /$CRASHED/ } <$fh>)[0];
}

sub _prepare {
    my ($class, %arg) = @_;
    my $driver = delete $arg{driver} // $ENV{UP_DRIVER} // 'sync';
    croak "unknown driver $driver" if !exists $DRIVERS{$driver};
    my $self = bless {
        owner => $$, marks => {}, fail => 0,
        mpm => delete $arg{mpm} // $ENV{UP_MPM} // 'event',
        conf => delete $arg{conf} // '', main => delete $arg{main} // '',
        loglevel => delete $arg{loglevel} // 'info upstream_proxy:trace2',
        driver => $driver, hosts => delete $arg{hosts}, vars => \%arg,
        root => "$ENV{UP_RUN}/server-$$-" . ++$serial,
    }, $class;
    File::Path::make_path(map { "$self->{root}/$_" }
        qw(logs htdocs tmp conf));
    chmod 01777, "$self->{root}/tmp";
    return $self;
}

sub _configure {
    my ($self) = @_;
    my $root = $self->{root};
    $self->{port} = free_port();
    my %var = (PORT => $self->{port}, ROOT => $root,
        HTDOCS => "$root/htdocs", TMP => "$root/tmp",
        MODULES => $ENV{UP_LIBEXECDIR}, %{ $self->{vars} });
    my $text = $self->_template;
    $text =~ s/\@([A-Z][A-Z0-9_]*)\@/
        $var{$1} \/\/ croak "no value for \@$1\@"/gex;
    open my $fh, '>', "$root/conf/httpd.conf" or croak "httpd.conf: $!";
    print $fh $text;
    close $fh or croak "httpd.conf: $!";
    if (defined $self->{hosts}) {
        open $fh, '>', "$root/conf/hosts" or croak "hosts: $!";
        print $fh $self->{hosts};
        close $fh or croak "hosts: $!";
    }
    return;
}

sub _template {
    my ($self) = @_;
    my $user = $> == 0 ? "User nobody\nGroup "
        . getgrgid((getpwnam 'nobody')[3]) . "\n" : '';
    return <<"END";
ServerRoot "\@ROOT\@"
DefaultRuntimeDir "\@ROOT\@/logs"
PidFile "\@ROOT\@/logs/httpd.pid"
ErrorLog "\@ROOT\@/logs/error_log"
LogLevel $self->{loglevel}
@{[ load_modules($self->{mpm}, $ENV{UP_LIBEXECDIR}, $ENV{UP_MODULE}) ]}
ScriptSock "\@ROOT\@/logs/cgisock"
TypesConfig "/dev/null"
${user}ServerName localhost
Listen 127.0.0.1:\@PORT\@
DocumentRoot "\@HTDOCS\@"
Include "$ENV{UP_RUN}/t/conf/common.conf"
CustomLog "\@ROOT\@/logs/access_log" upstream
$DRIVERS{ $self->{driver} }
$self->{main}
$self->{conf}
END
}

# setpriv: httpd ends when this test does, however that happens.
sub _command {
    my ($self) = @_;
    my @command = ($ENV{UP_HTTPD}, '-f', "$self->{root}/conf/httpd.conf",
        '-DFOREGROUND');
    unshift @command, _with_hosts("$self->{root}/conf/hosts")
        if defined $self->{hosts};
    return ('setpriv', '--pdeathsig', 'TERM', @command);
}

# A file system of its own, in which another file is /etc/hosts.
sub _with_hosts {
    my ($file) = @_;
    return ('unshare', '--mount', 'sh', '-c',
        'mount --bind "$0" /etc/hosts && exec "$@"', $file);
}

# May this test give its server an /etc/hosts?
sub has_hosts {
    return system('unshare --mount mount --bind /etc/hosts /etc/hosts '
        . '2>/dev/null') == 0;
}

sub _spawn {
    my ($self) = @_;
    STDOUT->flush;
    my $pid = fork // croak "fork: $!";
    if (!$pid) {
        # httpd signals its whole process group when it stops.
        POSIX::setsid();
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$self->{root}/logs/output";
        open STDERR, '>&', \*STDOUT;
        exec { 'setpriv' } $self->_command or POSIX::_exit(127);
    }
    $self->{pid} = $pid;
    return;
}

sub _ready {
    my ($self, $seen) = @_;
    my $until = time + 20;
    $seen //= 0;
    while (time < $until) {
        $self->{log} = $self->_slurp('error_log') . $self->_slurp('output');
        my @up = $self->{log} =~ /resuming normal operations/g;
        return 1 if @up > $seen && $self->_connects;
        return 0 if waitpid($self->{pid}, POSIX::WNOHANG()) == $self->{pid};
        sleep 0.02;
    }
    return 0;
}

sub _connects {
    my ($self) = @_;
    return defined IO::Socket::IP->new(PeerHost => '127.0.0.1',
        PeerPort => $self->{port}, Type => SOCK_STREAM, Timeout => 1);
}

sub _slurp {
    my ($self, $name) = @_;
    open my $fh, '<:raw', "$self->{root}/logs/$name" or return '';
    local $/;
    return <$fh> // '';
}

# --- what a test does with it -----------------------------------------------

sub port { return $_[0]{port} }
sub pid { return $_[0]{pid} }
sub root { return $_[0]{root} }
sub htdocs { return "$_[0]{root}/htdocs" }
sub tmp { return "$_[0]{root}/tmp" }
sub url { return "http://127.0.0.1:$_[0]{port}" . ($_[1] // '') }

# A file below the document root.
sub write_file {
    my ($self, $name, $content) = @_;
    my $file = $self->htdocs . "/$name";
    File::Path::make_path($file =~ s{/[^/]+\z}{}r);
    open my $fh, '>:raw', $file or croak "$file: $!";
    print $fh $content;
    close $fh or croak "$file: $!";
    return $file;
}

# A connection, with the options of Up::Client.
sub client {
    my ($self, %opt) = @_;
    return Up::Client->new(port => $self->{port}, %opt);
}

# One exchange on a connection of its own.
sub ask {
    my ($self, $method, $target, $fields, $body, %opt) = @_;
    my $res = $self->client->ask($method, $target, $fields, $body, %opt);
    return $res;
}

sub get {
    my ($self, $target, $fields, %opt) = @_;
    return $self->ask('GET', $target, $fields, undef, %opt);
}

# Pids of the children.
sub children {
    my ($self) = @_;
    my @pids;
    for my $stat (glob '/proc/[0-9]*/stat') {
        open my $fh, '<', $stat or next;
        my $line = <$fh> // next;
        my ($pid, $parent) = $line =~ /^(\d+) \(.*\) \S (\d+)/s;
        push @pids, $pid if $parent == $self->{pid};
    }
    return @pids;
}

# --- logs -------------------------------------------------------------------

# What follows is new: error_log and access_log give lines after this.
sub mark {
    my ($self) = @_;
    $self->{marks}{$_} = -s "$self->{root}/logs/$_" // 0
        for qw(error_log access_log);
    return $self;
}

sub _lines {
    my ($self, $name) = @_;
    my $text = substr $self->_slurp($name), $self->{marks}{$name} // 0;
    $text =~ s/[^\n]+\z//; # not yet whole
    return split /\n/, $text;
}

# Lines of the error log since the mark. With a pattern: waits (5 s) until a
# line matches and returns those that do.
sub error_log {
    my ($self, $pattern, $timeout) = @_;
    return $self->_lines('error_log') if !defined $pattern;
    my $until = time + ($timeout // 5);
    while (1) {
        my @found = grep { /$pattern/ } $self->_lines('error_log');
        return @found if @found || time > $until;
        sleep 0.02;
    }
}

# Entries of the access log since the mark, as {client, request, status,
# bytes, us, conn, UPSTREAM_...}; waits (5 s) for at least n.
sub access_log {
    my ($self, $n, $timeout) = @_;
    my $until = time + ($timeout // 5);
    while (1) {
        my @lines = $self->_lines('access_log');
        if (@lines >= ($n // 0) || time > $until) {
            return map { +{ map { /^(\w+)=(.*)$/s } split /\t/ } } @lines;
        }
        sleep 0.02;
    }
}

# The last entry of a request with this target; waits (5 s) for it. A client
# has its answer before httpd writes the entry: what ->mark leaves behind may
# still come.
sub logged {
    my ($self, $target, $timeout) = @_;
    my $until = time + ($timeout // 5);
    while (1) {
        my ($entry) = grep { $_->{request} =~ / \Q$target\E HTTP/ }
            reverse $self->access_log;
        return $entry if $entry || time > $until;
        sleep 0.005;
    }
}

# --- life -------------------------------------------------------------------

sub graceful { return $_[0]->_again('USR1') }
sub restart { return $_[0]->_again('HUP') }

# Signals and waits until the new generation is up.
sub _again {
    my ($self, $signal) = @_;
    my @before = $self->_slurp('error_log') =~ /resuming normal operations/g;
    kill $signal => $self->{pid};
    return $self->_ready(scalar @before);
}

# Ends it. True when nothing went wrong in its life: no child crashed, no
# process is left; else says what did.
sub stop {
    my ($self, $signal) = @_;
    my $pid = delete $self->{pid} or return !$self->{fail};
    local $?;
    my @children = do { local $self->{pid} = $pid; $self->children };
    kill $signal // 'TERM', $pid;
    my @wrong = $self->_wait($pid) ? () : "process $pid did not stop";
    push @wrong, map { "process $_ is left" }
        grep { -e "/proc/$_" && $self->_ours($_) } @children;
    push @wrong, grep { /$CRASHED/ } split /\n/,
        $self->_slurp('error_log') . $self->_slurp('output');
    return 1 if !@wrong;
    $self->{fail} = 1;
    Test::More::diag("httpd in $self->{root}: $_") for @wrong;
    return 0;
}

sub _wait {
    my ($self, $pid) = @_;
    my $until = time + 20;
    while (time < $until) {
        return 1 if waitpid($pid, POSIX::WNOHANG()) != 0;
        sleep 0.01;
    }
    kill KILL => -$pid;
    waitpid $pid, 0;
    return 0;
}

# A pid may have been given to somebody else meanwhile.
sub _ours {
    my ($self, $pid) = @_;
    open my $fh, '<', "/proc/$pid/cmdline" or return 0;
    return (<$fh> // '') =~ /\Q$self->{root}\E/;
}

sub DESTROY {
    my ($self) = @_;
    return if $self->{owner} != $$ || !$self->{pid};
    local ($@, $!);
    $self->stop or $failed = 1;
    return;
}

END { $? ||= 1 if $failed }

1;
