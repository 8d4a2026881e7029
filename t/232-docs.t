# Licensed under the Apache License, Version 2.0; see LICENSE.

# The guides: httpd takes each block of theirs, and links lead somewhere.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Server ();

Test::More::plan(skip_all => 'no driver is concerned')
    if ($ENV{UP_DRIVER} // 'sync') ne 'sync';

my $top = $ENV{UP_TOP};

sub slurp {
    my ($file) = @_;
    open my $fh, '<', $file or die "$file: $!\n";
    local $/;
    return <$fh>;
}

my %guide = map { $_ => slurp("$top/docs/$_.md") }
    qw(from-nginx from-mod_proxy tuning troubleshooting security);

for my $name (sort keys %guide) {
    my ($n, @bad) = (0);
    while ($guide{$name} =~ /^```apache\n(.*?)^```/msg) {
        my $block = $1;
        $n++;
        my ($ok, $said) = Up::Server->check(conf => $block);
        push @bad, "$block$said" if !$ok;
    }
    is scalar @bad, 0, "$name: httpd takes all $n blocks" or diag @bad;
    for my $link ($guide{$name} =~ /\]\(([^)#]+)/g) {
        ok -e "$top/docs/$link", "$name: $link is there";
    }
}

done_testing;
