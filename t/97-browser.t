# Licensed under the Apache License, Version 2.0; see LICENSE.

# A browser on the demo's page: its EventSource and its WebSocket.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use File::Temp ();
use POSIX ();
use Time::HiRes qw(time sleep);

use Up::Server ();

my ($browser) = grep { -x } map { ("$_/chromium-headless-shell",
    "$_/chromium") } split /:/, $ENV{PATH};
plan skip_all => 'needs chromium-headless-shell (tools/install-deps.sh)'
    if !$browser;
plan skip_all => 'the demo has one configuration'
    if ($ENV{UP_DRIVER} // 'loop') ne 'loop' || $ENV{UP_MPM} ne 'event';

my $TOP = $ENV{UP_TOP};
my @started;

# A process of our own, with its output in a file.
sub start {
    my ($output, @command) = @_;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        POSIX::setsid();
        open STDIN, '<', '/dev/null';
        open STDOUT, '>', $output;
        open STDERR, '>&', \*STDOUT;
        exec @command or POSIX::_exit(127);
    }
    push @started, $pid;
    return $pid;
}

sub stop {
    my ($pid) = @_;
    kill TERM => -$pid; # its children, too
    waitpid $pid, 0;
    @started = grep { $_ != $pid } @started;
    return;
}
END { stop($_) for @started }

sub slurp {
    open my $fh, '<', $_[0] or return '';
    local $/;
    return <$fh> // '';
}

# What `pattern` captures, once the file has it.
sub wait_for {
    my ($file, $pattern, $timeout) = @_;
    my $until = time + $timeout;
    while (time < $until) {
        return $1 if slurp($file) =~ $pattern;
        sleep 0.05;
    }
    return;
}

my $dir = File::Temp->newdir('upstream-browser-XXXXXX', TMPDIR => 1);
my $port = Up::Server::free_port();
local $ENV{PORT} = $port;
my $demo = start("$dir/demo", $^X, "$TOP/demo/run");
my $log = wait_for("$dir/demo", qr/^\s*tail (\S+)$/m, 10);
ok $log, 'the demo runs' or diag slurp("$dir/demo");

my $page = start("$dir/browser", $browser, qw(--headless --no-sandbox
    --disable-gpu --disable-dev-shm-usage --no-first-run
    --remote-debugging-port=0), "--user-data-dir=$dir/profile",
    "http://127.0.0.1:$port/#check");
is wait_for($log // '', qr{GET /hello\?(\S+)}, 15), 'events=3&echo=hello',
    'three events and an echo' or diag slurp("$dir/browser");
stop($page);
for (['/events', 200], ['/echo', 101]) {
    my ($path, $status) = @$_;
    is wait_for($log // '', qr{"GET $path HTTP/1\.1" (\d+)}, 5), $status,
        "$path ends with the browser";
}
stop($demo);
done_testing;
