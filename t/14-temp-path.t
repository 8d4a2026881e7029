# Licensed under the Apache License, Version 2.0; see LICENSE.

# UpstreamTempPath: a directory that the children cannot write to is warned
# about when the server starts, not when the first large body comes.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Server ();

Test::More::plan(skip_all => 'children are another user only under root')
    if $> != 0;

my $body = 'x' x 100_000;

sub warnings_of {
    my ($s) = @_;
    return grep { /UP0107/ } map { split /\n/, $s->_slurp($_) }
        qw(error_log output);
}

my $s = Up::Server->start(conf => <<'END');
UpstreamPass /a/ http://127.0.0.1:1
UpstreamTempPath @TMP@
<Location /b/>
    UpstreamTempPath @TMP@ 1
</Location>
END
is scalar(warnings_of($s)), 0, 'nothing is said of a good one';

my $private = $s->root . '/private';
mkdir $private, 0700 or die "$private: $!";
mkdir "$private/open" or die "$private/open: $!";
chmod 0777, "$private/open";
ok $s->stop, 'no crash, nothing left';

for my $path ($private, "$private/open") {
    $s = Up::Server->start(P => $path, conf => <<'END');
<Location /a/>
    UpstreamPass http://127.0.0.1:1
    UpstreamTempPath @P@
</Location>
<Location /b/>
    UpstreamTempPath @P@
</Location>
END
    my @said = warnings_of($s);
    is scalar @said, 1, "one line about $path";
    like $said[0], qr{:warn\].*Permission\ denied:.*UP0107:\ UpstreamTempPath
        \ \Q$path\E:\ user\ nobody\ cannot\ make\ files\ there;}x,
        'names directory and user';
    is $s->ask('POST', '/a/x', undef, $body)->status, 500, 'and is right';
    ok $s->graceful, 'a reload';
    is scalar(warnings_of($s)), 2, 'says it again';
    ok $s->stop, 'no crash, nothing left';
}

done_testing;
