# Licensed under the Apache License, Version 2.0; see LICENSE.

# SetHandler upstream-api: who may change what, what that does to requests in
# all children, and what outlives a restart.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use JSON::PP ();
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $ZONES = 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"';

# Several children, whatever the MPM.
my $s = Up::Server->start(A => $A->addr, B => $B->addr,
    main => "$ZONES\n<IfModule !mpm_prefork_module>\nStartServers 4\n"
        . "ServerLimit 12\nThreadsPerChild 2\nMaxRequestWorkers 8\n"
        . "MinSpareThreads 8\nMaxSpareThreads 8\n</IfModule>\n",
    conf => q{
    <Upstream app>
        UpstreamServer @A@ max_fails=0
        UpstreamServer @B@ max_fails=0
        UpstreamZone z
        UpstreamState "@TMP@/app.json"
    </Upstream>
    <Upstream own>
        UpstreamServer @A@
    </Upstream>
    UpstreamPass /app/ http://app/
    UpstreamPass /own/ http://own/
    <Location /api>
        SetHandler upstream-api
        Require ip 127.0.0.1
    </Location>
    <Location /open>
        SetHandler upstream-api
        Require all granted
    </Location>
    <Location /none>
        SetHandler upstream-api
    </Location>
    <Location /denied>
        SetHandler upstream-api
        Require ip 10.0.0.1
    </Location>
    <Location /token>
        SetHandler upstream-api
        Require expr %{HTTP:X-Token} == 'secret'
    </Location>
    <Location /user>
        SetHandler upstream-api
        AuthType Basic
        AuthName api
        AuthUserFile "@ROOT@/conf/none"
        Require valid-user
    </Location>
});

my @GOOD = ('Content-Type' => 'application/json', 'X-Upstream-API' => 1);

# [status, what the JSON says]
sub api {
    my ($method, $query, $body, $fields, $where) = @_;
    my $res = $s->ask($method, ($where // '/api') . "?$query",
        $fields // [@GOOD], $body);
    my $json = eval { JSON::PP::decode_json($res->body) };
    return [$res->status, $json];
}

sub patch {
    my ($peer, $body, $fields, $where) = @_;
    return api(PATCH => "upstream=app&peer=" . $peer->addr, $body, $fields,
        $where);
}

sub peer_now {
    my ($peer) = @_;
    my $found = api(GET => 'upstream=app&peer=' . $peer->addr);
    return $found->[1]{upstreams}[0]{peers}[0];
}

# Who answers so many requests, each on a connection of its own.
sub who {
    my ($n) = @_;
    my %who;
    $who{ $s->get('/app/x')->body }++ for 1 .. $n;
    return join ' ', map { "$_$who{$_}" } sort keys %who;
}

subtest 'reading' => sub {
    my $all = api(GET => '');
    is $all->[0], 200, 'it answers';
    is_deeply [map { $_->{upstream} } @{ $all->[1]{upstreams} }],
        [qw(app own)], 'all groups';
    ok $all->[1]{may_change}, 'one may change things here';
    is_deeply [map { $_->{upstream} }
        @{ api(GET => 'upstream=o*')->[1]{upstreams} }], ['own'],
        'one group';
    my $peer = peer_now($A);
    is $peer->{peer}, $A->addr, 'one server';
    is $peer->{state}, 'up', 'its state';
    is $peer->{weight}, 1, 'its weight';
    for (qw(open none)) {
        my $found = api(GET => '', undef, [], "/$_");
        ok !$found->[1]{may_change}, "/$_: one may not";
    }
};

subtest 'who may change' => sub {
    $s->mark;
    my $down = '{"state":"down"}';
    for my $where (qw(/open /none)) {
        my $no = patch($A, $down, undef, $where);
        is $no->[0], 403, "$where: nobody";
        like $no->[1]{error}, qr/Require/, 'what to do';
    }
    my @said = $s->error_log(qr/UP0851/);
    is scalar @said, 2, 'a line each' or diag @said;
    like $said[0], qr{PATCH /open is refused: .*Require}, 'which says so';
    is patch($A, $down, undef, '/denied')->[0], 403, 'not from elsewhere';
    is patch($A, $down, undef, '/user')->[0], 401, 'not without a name';
    is patch($A, $down, undef, '/token')->[0], 403, 'not without a token';
    my @forms = (
        'no X-Upstream-API' => ['Content-Type' => 'application/json'],
        'another origin' => [@GOOD, Origin => 'http://evil.example'],
        'the null origin' => [@GOOD, Origin => 'null'],
        'another site' => [@GOOD, 'Sec-Fetch-Site' => 'same-site'],
    );
    while (my ($what, $fields) = splice @forms, 0, 2) {
        is patch($A, $down, $fields)->[0], 403, $what;
    }
    is patch($A, $down, ['X-Upstream-API' => 1,
        'Content-Type' => 'text/plain'])->[0], 415, 'a form';
    is api($_ => '', undef)->[0], 405, $_ for qw(PUT OPTIONS);
    is peer_now($A)->{state}, 'up', 'nothing has changed';
    is patch($A, '{"weight":1}', [@GOOD, 'X-Token' => 'secret'],
        '/token')->[0], 200, 'a token is good';
    is patch($A, '{"weight":null}', [@GOOD,
        Origin => 'http://127.0.0.1:' . $s->port,
        'Sec-Fetch-Site' => 'same-origin',
        Host => '127.0.0.1:' . $s->port])->[0], 200, 'a page of this origin';
};

subtest 'what is wrong with it' => sub {
    my @wrong = ('' => 400, '[' => 400, '[]' => 400, '{}' => 400,
        '{"state":"off"}' => 400, '{"weight":0}' => 400,
        '{"weight":1.5}' => 400, '{"weight":"2"}' => 400,
        '{"max_conns":-1}' => 400, '{"max_conns":99999999999}' => 400,
        '{"color":1}' => 400, '{"weight":2,"weight":3}' => 400,
        '[' x 60_000 => 400, '"' . 'x' x 70_000 . '"' => 413);
    while (my ($body, $status) = splice @wrong, 0, 2) {
        is patch($A, $body)->[0], $status, substr $body, 0, 40;
    }
    is api(PATCH => 'upstream=app&peer=x', '{"weight":2}')->[0], 404,
        'no such server';
    is api(PATCH => 'upstream=app', '{"weight":2}')->[0], 400, 'no server';
    is api(PATCH => 'upstream=x&peer=x', '{"weight":2}')->[0], 404,
        'no such group';
    my $own = api(PATCH => 'upstream=own&peer=' . $A->addr, '{"weight":2}');
    is $own->[0], 409, 'a group without a zone';
    like $own->[1]{error}, qr/UpstreamZone/, 'what to do';
    is peer_now($A)->{weight}, 1, 'nothing has changed';
};

subtest 'states' => sub {
    for my $state (qw(drain down)) {
        $s->mark;
        my $done = patch($A, qq({"state":"$state"}));
        is $done->[0], 200, $state;
        is $done->[1]{upstreams}[0]{peers}[0]{state}, $state, 'it says so';
        is who(8), 'B8', 'no child asks it';
        like +($s->error_log(qr/UP0854/))[0] // '',
            qr/changes @{[ $A->addr ]} of group app: \{"state":"$state"\}/,
            'it is logged';
    }
    is patch($A, '{"state":"up"}')->[0], 200, 'up';
    like who(16), qr/^A\d+ B\d+$/, 'it is asked again';
    is patch($A, '{"state":null}')->[0], 200, 'as configured';
    is peer_now($A)->{reason}, 'in service', 'which is up';
};

subtest 'weight and max_conns' => sub {
    is patch($A, '{"weight":7,"max_conns":1}')->[0], 200, 'both';
    my $peer = peer_now($A);
    is "$peer->{weight} $peer->{max_conns}", '7 1', 'it says so';
    # so many that prefork has a child for each, which has no other request
    my $prefork = $s->{mpm} eq 'prefork';
    my @clients = map { $s->client } 1 .. ($prefork ? 4 : 7);
    $_->request(GET => '/app/x', ['X-A' => 'late:1', 'X-B' => 'late:1'])
        for @clients;
    like join('', sort map { $_->response->body } @clients),
        $prefork ? qr/^A?B{3,4}$/ : qr/^AB{6}$/,
        'A takes one at a time, in all children';
    is patch($A, '{"max_conns":null}')->[0], 200, 'as configured';
    $peer = peer_now($A);
    is "$peer->{weight} $peer->{max_conns}", '7 0', 'that alone';
};

subtest 'counts begin anew' => sub {
    cmp_ok peer_now($B)->{answers}{'2xx'}, '>', 0, 'there are some';
    is api(POST => 'upstream=app', '{"reset":false}')->[0], 400, 'not this';
    is api(POST => 'upstream=app', '{"reset":true}')->[0], 200, 'this';
    is peer_now($B)->{answers}{'2xx'}, 0, 'none';
};

sub write_state {
    my ($text) = @_;
    open my $fh, '>', $s->tmp . '/app.json' or die "$!\n";
    print $fh $text;
    close $fh or die "$!\n";
    return;
}

for my $way (qw(graceful restart)) {
    subtest "the state file, after a $way" => sub {
        is patch($B, '{"state":"down"}')->[0], 200, 'B is down';
        my $file = $s->tmp . '/app.json';
        open my $fh, '<', $file or die "$file: $!\n";
        my $text = do { local $/; <$fh> };
        is_deeply JSON::PP::decode_json($text), { version => 1, peers => {
            $A->addr => { weight => 7 }, $B->addr => { state => 'down' } } },
            'the file has what was ordered, and nothing else';
        ok !-e "$file.new", 'and there is no other';
        write_state($text =~ s/\b7\b/9/r); # not from the zone
        ok $s->$way, 'it comes back';
        is peer_now($B)->{state}, 'down', 'B is still down';
        is peer_now($A)->{weight}, 9, 'A has the weight in the file';
        is who(4), 'A4', 'and so it is';
        is patch($_->[0], $_->[1])->[0], 200, 'as before'
            for [$B, '{"state":null}'], [$A, '{"weight":7}'];
    };
}

subtest 'a file that is none' => sub {
    write_state('{"version":1,"peers":{"x":{"state":"no"}}}');
    $s->mark;
    ok $s->graceful, 'it starts';
    like +($s->error_log(qr/UP0852/))[0] // '',
        qr/app: cannot use \S+app\.json: x: state is/, 'and says why not';
};

subtest 'configuration' => sub {
    my ($ok, $said) = Up::Server->check(conf => "<Upstream x>\n"
        . "UpstreamServer 127.0.0.1:1\nUpstreamState f\n</Upstream>\n");
    ok !$ok, 'no state without a zone';
    like $said, qr/UpstreamZone in <Upstream x>/, 'what to do';
    ($ok, $said) = Up::Server->check(main => $ZONES, conf => "<Upstream x>\n"
        . "UpstreamServer 127.0.0.1:1\nUpstreamZone z\nUpstreamState f\n"
        . "UpstreamState g\n</Upstream>\n");
    ok !$ok, 'not twice';
};

ok $s->stop, 'no crash, nothing left';
done_testing;
