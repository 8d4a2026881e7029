# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Browser;

# A headless Chromium, driven over its DevTools protocol.
#
#   my $b = Up::Browser->start or skip ...      # undef: there is none
#   $b->size(390, 844, 'dark');                 # a phone at night
#   $b->open($url);
#   $b->eval('document.title')                  # a value, promises awaited
#   $b->until('document.title === "x"')         # true, or false after 10 s
#   $b->press('Tab');
#   $b->problems                                # what its console complains of
#   $b->shot("$file.png");
#   $b->stop;

use strict;
use warnings;

use File::Path ();
use File::Temp ();
use JSON::PP ();
use MIME::Base64 ();
use POSIX ();
use Time::HiRes qw(time sleep);

use Up::Client ();
use Up::WS qw(upgrade frame read_frame);

my @NAMES = qw(chromium-headless-shell chromium);
my %KEYS = (Tab => 9, Enter => 13, Escape => 27, ' ' => 32, ArrowDown => 40);

sub find {
    my ($found) = grep { -x } map { my $name = $_;
        map { "$_/$name" } split /:/, $ENV{PATH} } @NAMES;
    return $found;
}

sub start {
    my ($class) = @_;
    my $program = find() // return;
    my $dir = File::Temp->newdir('upstream-browser-XXXXXX', TMPDIR => 1);
    my $self = bless { dir => $dir, owner => $$, id => 0, problems => [] },
        $class;
    my $pid = fork // die "fork: $!\n";
    if (!$pid) {
        POSIX::setsid();
        CORE::open STDIN, '<', '/dev/null';
        CORE::open STDOUT, '>', "$dir/output";
        CORE::open STDERR, '>&', \*STDOUT;
        exec $program, qw(--headless --no-sandbox --disable-gpu
            --disable-dev-shm-usage --no-first-run --hide-scrollbars
            --remote-debugging-port=0), "--user-data-dir=$dir/profile",
            'about:blank' or POSIX::_exit(127);
    }
    $self->{pid} = $pid;
    $self->_connect;
    $self->call("$_.enable") for qw(Page Runtime Log);
    return $self;
}

sub _connect {
    my ($self) = @_;
    my $port;
    my $until = time + 20;
    while (!$port) {
        die "the browser does not start\n" if time > $until;
        sleep 0.05;
        CORE::open my $fh, '<', "$self->{dir}/profile/DevToolsActivePort"
            or next;
        ($port) = (<$fh> // '') =~ /^(\d+)$/;
    }
    my $list = Up::Client->new(port => $port)->get('/json/list');
    my ($page) = grep { $_->{type} eq 'page' }
        @{ JSON::PP::decode_json($list->body) };
    my ($path) = $page->{webSocketDebuggerUrl} =~ m{://[^/]+(/.*)};
    $self->{k} = Up::Client->new(port => $port);
    my $res = upgrade($self->{k}, $path);
    die "no WebSocket to the browser\n" if $res->status != 101;
    return;
}

# A text message, put together.
sub _message {
    my ($self) = @_;
    my $text = '';
    while (1) {
        my ($opcode, $payload, $more) = read_frame($self->{k});
        die "the browser has gone\n" if !defined $opcode || $opcode == 8;
        next if $opcode > 8;
        $text .= $payload;
        my $json = eval { JSON::PP::decode_json($text) } or next;
        return $json;
    }
}

sub _heed {
    my ($self, $event) = @_;
    my ($method, $what) = @$event{qw(method params)};
    if ($method eq 'Log.entryAdded' && $what->{entry}{level} eq 'error') {
        push @{ $self->{problems} }, $what->{entry}{text};
    }
    elsif ($method eq 'Runtime.exceptionThrown') {
        push @{ $self->{problems} }, $what->{exceptionDetails}{exception}
            {description} // $what->{exceptionDetails}{text};
    }
    return;
}

sub call {
    my ($self, $method, $params) = @_;
    my $id = ++$self->{id};
    $self->{k}->send(frame(1, JSON::PP::encode_json({ id => $id,
        method => $method, params => $params // {} }), 'mask'));
    while (1) {
        my $message = $self->_message;
        if (($message->{id} // 0) == $id) {
            die "$method: $message->{error}{message}\n" if $message->{error};
            return $message->{result};
        }
        $self->_heed($message) if $message->{method};
    }
}

sub size {
    my ($self, $width, $height, $scheme) = @_;
    $self->call('Emulation.setDeviceMetricsOverride', { width => $width,
        height => $height, deviceScaleFactor => 1,
        mobile => $width < 600 ? JSON::PP::true : JSON::PP::false });
    $self->call('Emulation.setEmulatedMedia', { features => [
        { name => 'prefers-color-scheme', value => $scheme // 'light' }] });
    return;
}

sub open { ## no critic
    my ($self, $url) = @_;
    $self->call('Page.navigate', { url => $url });
    return $self->until("location.href.startsWith('$url')"
        . " && document.readyState === 'complete'");
}

sub eval { ## no critic
    my ($self, $script) = @_;
    my $result = $self->call('Runtime.evaluate', { expression => $script,
        returnByValue => JSON::PP::true, awaitPromise => JSON::PP::true });
    die "$script: $result->{exceptionDetails}{exception}{description}\n"
        if $result->{exceptionDetails};
    return $result->{result}{value};
}

sub until { ## no critic
    my ($self, $script, $timeout) = @_;
    my $end = time + ($timeout // 10);
    while (time < $end) {
        return 1 if $self->eval("!!($script)");
        sleep 0.1;
    }
    return 0;
}

sub press {
    my ($self, $key) = @_;
    my %what = (key => $key, code => $key eq ' ' ? 'Space' : $key,
        windowsVirtualKeyCode => $KEYS{$key} // ord uc $key,
        ($key eq 'Enter' ? (text => "\r") : $key eq ' ' ? (text => ' ')
            : length $key == 1 ? (text => $key) : ()));
    $self->call('Input.dispatchKeyEvent', { type => 'keyDown', %what });
    $self->call('Input.dispatchKeyEvent', { type => 'keyUp', %what });
    return;
}

sub problems { return @{ $_[0]{problems} } }

# All of the page, as PNG.
sub shot {
    my ($self, $file) = @_;
    my $result = $self->call('Page.captureScreenshot', { format => 'png',
        captureBeyondViewport => JSON::PP::true });
    File::Path::make_path($file =~ s{/[^/]+\z}{}r);
    CORE::open my $fh, '>:raw', $file or die "$file: $!\n";
    print $fh MIME::Base64::decode_base64($result->{data});
    CORE::close $fh or die "$file: $!\n";
    return;
}

sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;
    kill TERM => -$pid; # its children, too
    waitpid $pid, 0;
    return;
}

sub DESTROY {
    my ($self) = @_;
    local $?;
    $self->stop if $self->{owner} == $$;
    return;
}

1;
