# Licensed under the Apache License, Version 2.0; see LICENSE.

# SetHandler upstream-metrics: what is counted, over all children, and in what
# form it is told.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Backend ();
use Up::Metrics ();
use Up::Scripts ();
use Up::Server ();

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $closed = Up::Backend->closed;

my $s = Up::Server->start(A => $A->addr, B => $B->addr, C => $closed->addr,
    conf => q{
    <Upstream one>
        UpstreamServer @A@ max_fails=0
        UpstreamServer @B@ backup weight=3
    </Upstream>
    <Upstream two>
        UpstreamServer @C@ max_fails=0
        UpstreamServer @B@ backup
    </Upstream>
    <Upstream full>
        UpstreamServer @A@ max_conns=1
        UpstreamQueue 1 timeout=1s
    </Upstream>
    UpstreamPass /one/ http://one/
    UpstreamPass /two/ http://two/
    UpstreamPass /full/ http://full/
    UpstreamPass /bare/ http://@B@/
    <Location /metrics>
        SetHandler upstream-metrics
    </Location>
});

sub metrics {
    my ($query) = @_;
    my $res = $s->get('/metrics' . ($query ? "?$query" : ''));
    return Up::Metrics->parse($res->body);
}

# Waits: what an exchange has is given back after its last byte has gone out.
sub becomes {
    my ($want, $what, @where) = @_;
    my $until = time + 5;
    my $value;
    while (1) {
        $value = metrics()->value(@where);
        last if (defined $value && $value == $want) || time > $until;
        sleep 0.02;
    }
    is $value, $want, $what;
    return;
}

my @A = (upstream => 'one', peer => $A->addr);

subtest 'the form' => sub {
    my $res = $s->get('/metrics');
    is $res->status, 200, 'it answers';
    is $res->header('Content-Type'),
        'text/plain; version=0.0.4; charset=utf-8', 'its type';
    is $res->header('Cache-Control'), 'no-store', 'nobody keeps it';
    my $m = Up::Metrics->parse($res->body);
    is_deeply [$m->labels('peer_up', 'upstream')],
        [sort 'one', 'two', 'full', $B->addr], 'all groups';
    is_deeply [grep { !/^httpd_upstream_[a-z_]+\z/ } $m->families], [],
        'all names have the prefix';
    cmp_ok scalar $m->families, '>', 30, 'there are many';
    is $m->value('peer_weight', upstream => 'one', peer => $B->addr), 3,
        'a weight';
    is $s->ask('POST', '/metrics', [], 'x')->status, 405, 'only to be read';
    is $s->ask('HEAD', '/metrics')->body, '', 'HEAD has no body';
};

subtest 'the reader is strict' => sub {
    my $good = "# HELP a_total x\n# TYPE a_total counter\na_total{b=\"c\"} 1\n";
    ok eval { Up::Metrics->parse($good) }, 'it takes what is right';
    for my $bad ($good =~ s/TYPE a_total counter/TYPE a_total thing/r,
        $good =~ s/# TYPE.*\n//r, $good . "a_total{b=\"c\"} 2\n",
        $good =~ s/"c"/"c\\x"/r, $good =~ s/ 1\n/ -1\n/r,
        $good =~ s/1\n/1/r, $good . "b_total 1\n",
        $good =~ s/a_total/a/gr) {
        ok !eval { Up::Metrics->parse($bad) }, 'not this: ' . $@ =~ s/\n.*//sr;
    }
};

subtest 'filters' => sub {
    my $m = metrics('upstream=one,t*');
    is_deeply [$m->labels('peer_up', 'upstream')], ['one', 'two'], 'upstream';
    $m = metrics('upstream=one&metrics=peer_*,httpd_upstream_bytes_in_total');
    is_deeply [$m->families], [map { "httpd_upstream_$_" }
        qw(bytes_in_total peer_up peer_state peer_weight peer_max_conns)],
        'metrics';
    is_deeply [metrics('metrics=none')->families], [], 'none';
};

subtest 'answers and connections' => sub {
    my $k = $s->client;
    my @codes = (200, 200, 204, 302, 404, 500);
    for my $code (@codes) {
        $k->request(GET => '/one/x', ['X-A' => "say:$code"]);
        is $k->response->status, $code, "an answer $code";
    }
    becomes(0, 'nothing is under way', requests_active => @A);
    my $m = metrics();
    is $m->value(requests_total => @A, code => '2xx'), 3, 'three 2xx';
    is $m->value(requests_total => @A, code => "${_}xx"), 1, "one ${_}xx"
        for 3 .. 5;
    is $m->value(requests_total => @A), scalar @codes, 'no more';
    my $made = $m->value(connections_total => @A);
    is $m->value(connection_reuses_total => @A) + $made, scalar @codes,
        'each has a connection, new or not';
    SKIP: {
        Test::More::skip('pools are per connection', 1)
            if $s->{mpm} eq 'prefork';
        is $made, 2, 'the first is new, and that after the 204';
    }
    is $m->value(unexpected_data_total => @A), 1, 'which had a body';
    cmp_ok $m->value(connections_idle => @A), '>=', 1, 'one is kept';
    is $m->value(connections_active => @A), 0, 'none is in use';
    for my $span (qw(header response)) {
        is $m->value("${span}_seconds_count" => @A), scalar @codes,
            "the time of each, $span";
    }
    is $m->value(connect_seconds_count => @A), $made, 'of each connect';
    cmp_ok $m->value(bytes_in_total => @A), '>', 6 * 30, 'bytes in';
    cmp_ok $m->value(bytes_out_total => @A), '>', 6 * 30, 'bytes out';
};

subtest 'what is slow is seen to be' => sub {
    my $c = $s->client;
    $c->request(GET => '/one/x', ['X-A' => 'late:1.2']);
    becomes(1, 'one is under way', requests_active => @A);
    my $m = metrics();
    is $m->value(connections_active => @A), 1, 'with a connection';
    my %held = map { $_ => $m->value($_ => upstream => 'one') }
        qw(suspended_transactions worker_threads_held);
    my $loop = ($ENV{UP_DRIVER} // '') eq 'loop' && $s->{mpm} eq 'event';
    is_deeply \%held, { suspended_transactions => $loop ? 1 : 0,
        worker_threads_held => $loop ? 0 : 1 }, $loop
        ? 'it holds no thread' : 'it holds a thread';
    is $c->response->status, 200, 'it is answered';
    becomes(0, 'and over', requests_active => @A);
    $m = metrics();
    is $m->value(header_seconds_bucket => @A, le => '+Inf')
        - $m->value(header_seconds_bucket => @A, le => '1'), 1,
        'it took more than a second';
    is $m->value($_ => upstream => 'one'), 0, "$_: none now"
        for qw(suspended_transactions worker_threads_held);
};

subtest 'failures' => sub {
    is $s->get('/two/x')->body, 'B', 'C refuses, B answers';
    my $m = metrics();
    my @C = (upstream => 'two', peer => $closed->addr);
    is $m->value(connect_failures_total => @C, reason => 'refused'), 1,
        'refused';
    is $m->value(requests_total => @C, code => 'none'), 1, 'no answer';
    is $m->value(retries_total => @C), 1, 'another one was asked';
    is $m->value(retries_total => upstream => 'two', peer => $B->addr), 0,
        'whose answer was good';
    is $s->get('/one/x', ['X-A' => 'close'])->status, 200, 'A closes';
    $m = metrics();
    is $m->value(response_errors_total => @A, reason => 'closed'), 1,
        'closed without an answer';
    is $m->value(connect_failures_total => @A), 0, 'which is another thing';
};

subtest 'clients that leave' => sub {
    my $c = $s->client;
    $c->request(GET => '/one/x', ['X-A' => 'late:10']);
    becomes(1, 'one is under way', requests_active => @A);
    $c->close;
    becomes(1, 'it has left', client_aborts_total => upstream => 'one');
    becomes(0, 'the server is free', requests_active => @A);
};

subtest 'a queue' => sub {
    my @clients = map { $s->client } 1 .. 3;
    $clients[0]->request(GET => '/full/1', ['X-A' => 'late:2.5']);
    becomes(1, 'one has the server', requests_active => upstream => 'full');
    $clients[1]->request(GET => '/full/2');
    SKIP: {
        Test::More::skip('queues are per child', 3)
            if $s->{mpm} eq 'prefork';
        becomes(1, 'one waits', queue_length => upstream => 'full');
        $clients[2]->request(GET => '/full/3');
        is $clients[2]->response->status, 503, 'the third one cannot';
        becomes(1, 'counted', queue_overflow_total => upstream => 'full');
        is $clients[1]->response->status, 503, 'the second waits in vain';
        my $m = metrics();
        is $m->value(queue_timeouts_total => upstream => 'full'), 1,
            'counted';
        is $m->value(queue_length => upstream => 'full'), 0, 'none waits';
        is $m->value(queue_max => upstream => 'full'), 1, 'of one';
        is $m->value(queue_seconds_count => upstream => 'full'), 1,
            'with its time';
    }
    is $clients[0]->response->status, 200, 'the first is answered';
};

subtest 'numbers outlive a restart' => sub {
    my $before = metrics()->value(requests_total => @A);
    ok $s->graceful, 'a graceful restart';
    is metrics()->value(requests_total => @A), $before, 'the same as before';
    is $s->get('/one/x')->status, 200, 'a request';
    becomes($before + 1, 'is added', requests_total => @A);
    becomes(0, 'nothing hangs', requests_active => @A);
};

ok $s->stop, 'no crash, nothing left';
done_testing;
