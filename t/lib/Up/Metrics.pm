# Licensed under the Apache License, Version 2.0; see LICENSE.

package Up::Metrics;

# A strict reader of Prometheus' text format, version 0.0.4: it dies of
# everything that a scraper might refuse or that promtool would complain of.
#
#   my $m = Up::Metrics->parse($text);
#   $m->value('x_total', code => '2xx')    the sum of the samples with these
#   $m->families                           names, in order
#   $m->labels('x_total', 'peer')          values of a label, sorted

use strict;
use warnings;

my $NAME = qr/[a-zA-Z_:][a-zA-Z0-9_:]*/;
my $VALUE = qr/[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN/;

sub parse {
    my ($class, $text) = @_;
    my $self = bless { order => [], family => {}, samples => [], seen => {} },
        $class;
    die "does not end with a line end\n" if $text !~ /\n\z/ && $text ne '';
    die "a control in it\n" if $text =~ /[^\n\x20-\x7e]/;
    my $n = 0;
    for my $line (split /\n/, $text) {
        $n++;
        eval { $self->_line($line); 1 } or die "line $n: $@  $line\n";
    }
    $self->_check_histograms;
    return $self;
}

sub _line {
    my ($self, $line) = @_;
    if ($line =~ /^# (HELP|TYPE) ($NAME) (.+)\z/) {
        return $self->_head($1, $2, $3);
    }
    die "neither comment nor sample\n" if $line =~ /^\s|^#|^\z/;
    my ($name, $labels, $value) = $line
        =~ /^($NAME)(?:\{(.*)\})? ($VALUE)\z/ or die "no sample\n";
    my $family = $self->_family_of($name);
    my %label;
    while ($labels =~ s/^([a-zA-Z_]\w*)="((?:[^"\\]|\\["\\n])*)"(?:,|\z)//) {
        die "label $1 twice\n" if exists $label{$1};
        $label{$1} = $2;
    }
    die "bad labels: $labels\n" if $labels ne '';
    my $id = join ',', $name, map { "$_=$label{$_}" } sort keys %label;
    die "the same sample twice\n" if $self->{seen}{$id}++;
    die "negative\n" if $family->{type} ne 'gauge' && $value =~ /^-/;
    push @{ $self->{samples} }, { name => $name, value => $value,
        labels => \%label, family => $family };
    return;
}

sub _head {
    my ($self, $what, $name, $rest) = @_;
    my $family = $self->{family}{$name};
    if ($what eq 'HELP') {
        die "HELP twice, or apart\n" if $family;
        push @{ $self->{order} }, $name;
        $self->{family}{$name} = { name => $name, help => $rest };
        $self->{current} = $name;
        return;
    }
    die "TYPE without HELP before it\n"
        if !$family || $self->{current} ne $name;
    die "TYPE twice\n" if $family->{type};
    die "no such type\n" if $rest !~ /^(?:counter|gauge|histogram)\z/;
    die "a counter is called _total\n"
        if ($rest eq 'counter') != ($name =~ /_total\z/);
    $family->{type} = $rest;
    return;
}

sub _family_of {
    my ($self, $name) = @_;
    my $family = $self->{family}{ $self->{current} // '' }
        // die "no family\n";
    my $type = $family->{type} // die "no type\n";
    my $suffix = $type eq 'histogram' ? qr/_(?:bucket|sum|count)/ : qr//;
    die "not of the family $family->{name}\n"
        if $name !~ /^\Q$family->{name}\E$suffix\z/;
    return $family;
}

# Buckets rise, in order, up to +Inf, which is the count.
sub _check_histograms {
    my ($self) = @_;
    my %series;
    for my $sample (grep { $_->{family}{type} eq 'histogram' }
        @{ $self->{samples} }) {
        my %label = %{ $sample->{labels} };
        my $le = delete $label{le};
        my $id = join ',', $sample->{family}{name},
            map { "$_=$label{$_}" } sort keys %label;
        my $part = $sample->{name} =~ s/.*_//r;
        die "$id: le where it belongs\n"
            if defined $le != ($part eq 'bucket');
        push @{ $series{$id}{$part} }, [$le, $sample->{value}];
    }
    for my $id (sort keys %series) {
        my ($before, $n) = (-1, 0);
        for my $bucket (@{ $series{$id}{bucket} }) {
            die "$id: buckets do not rise\n" if $bucket->[1] < $n
                || ($bucket->[0] eq '+Inf' ? 9**9**9 : $bucket->[0])
                <= $before;
            ($before, $n) = @$bucket;
        }
        die "$id: no +Inf\n" if $before ne '+Inf';
        die "$id: count is not that of +Inf\n"
            if $series{$id}{count}[0][1] != $n;
        die "$id: no sum\n" if !$series{$id}{sum};
    }
    return;
}

sub families { return @{ $_[0]{order} } }

sub _matching {
    my ($self, $name, %label) = @_;
    return grep {
        my $sample = $_;
        $sample->{name} eq $name
            && !grep { ($sample->{labels}{$_} // '') ne $label{$_} }
                keys %label
    } @{ $self->{samples} };
}

# undef: there is no such sample.
sub value {
    my ($self, $name, %label) = @_;
    my @found = $self->_matching("httpd_upstream_$name", %label) or return;
    my $sum = 0;
    $sum += $_->{value} for @found;
    return $sum;
}

sub labels {
    my ($self, $name, $label) = @_;
    my %values = map { $_->{labels}{$label} => 1 }
        $self->_matching("httpd_upstream_$name");
    return sort keys %values;
}

1;
