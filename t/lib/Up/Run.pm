# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Run;

# Apache::TestRun, with what this suite needs otherwise: root may run it (the
# children are nobody's), and the tests that talk to a server run once for
# each driver.

use strict;
use warnings;

use Apache::TestHarness ();
use Apache::TestRun ();
use TAP::Harness ();

use Up::Server ();

our @ISA = qw(Apache::TestRun);

sub check_runtime_user { return 1 }

sub run_tests {
    my ($self) = @_;
    my @tests = Apache::TestHarness->get_tests({ tests => $self->{tests} });
    my @drivers = sort { ($b eq 'sync') <=> ($a eq 'sync') || $a cmp $b }
        keys %Up::Server::DRIVERS;
    my ($passed, $failed) = (0, 0);
    for my $driver (@drivers) {
        $ENV{UP_DRIVER} = $driver;
        print "driver $driver, MPM $ENV{UP_MPM}\n";
        my @parsers = $self->once_or_twice(@tests);
        $passed += $_->passed for @parsers;
        $failed += scalar $_->failed || ($_->has_problems ? 1 : 0)
            for @parsers;
        @tests = grep { !m{(?:^|/)[01]\d-} } @tests;
    }
    print "$passed passed, $failed failed\n";
    $self->{good} = $passed && !$failed;
    return;
}

# Many tests watch the clock, on machines that have other things to do: what
# failed gets a second chance, alone. Not after a crash, which is no matter of
# time, and never with UP_STRICT.
sub once_or_twice {
    my ($self, @tests) = @_;
    my $result = $self->harness->runtests(@tests);
    my %parser = map { $_ => ($result->parsers($_))[0] } @tests;
    my @again = grep { $parser{$_}->has_problems } @tests;
    return values %parser if !@again || $ENV{UP_STRICT} || crashes();
    print "again, one at a time: @again\n";
    local $ENV{UP_JOBS} = 1;
    $result = $self->harness->runtests(@again);
    $parser{$_} = ($result->parsers($_))[0] for @again;
    return values %parser;
}

sub crashes {
    for my $file (glob "$ENV{UP_RUN}/server-*/logs/error_log") {
        open my $fh, '<:raw', $file or next;
        return 1 if grep {
            /exit signal (?!Killed)|Sanitizer|runtime error:|Assertion/
        } <$fh>;
    }
    return 0;
}

# What a test file says is shown only when it fails, for Apache::Test sends
# diagnostics to the standard output.
sub harness {
    my ($self) = @_;
    my $verbose = $self->{opts}{verbose} ? 1 : 0;
    my $harness = TAP::Harness->new({ merge => 0, verbosity => $verbose,
        jobs => $ENV{UP_JOBS} || 1, timer => 1,
        lib => ["$ENV{UP_RUN}/t/lib"] });
    return $harness if $verbose;
    my %said;
    $harness->callback(made_parser => sub {
        my ($parser) = @_;
        $parser->callback(ALL => sub {
            my $line = $_[0]->raw;
            push @{ $said{$parser} }, $line
                if $line =~ /^\s*(?:not ok|Bail|#(?! (?:Subtest|Using)))/;
        });
    });
    $harness->callback(after_test => sub {
        my (undef, $parser) = @_;
        my $said = delete $said{$parser} || [];
        print map { "$_\n" } @$said if $parser->has_problems;
    });
    return $harness;
}

# The end of the run: the server must have ended well, too.
sub stop {
    my ($self) = @_;
    my $pid = $self->SUPER::stop;
    my $log = "$ENV{UP_RUN}/t/logs/error_log";
    my $crash = Up::Server::crashed($log);
    print "$log: $crash\n" if $crash;
    exit !($self->{good} && !$crash);
}

1;
