# Licensed under the Apache License, Version 2.0; see LICENSE.

# The machine's time is set back or forth while exchanges wait: timeouts end
# when they would have, and no exchange ends because of it.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);
use Time::HiRes qw(sleep time);

use Up::Answers;
use Up::Server ();

# A sanitizer wants to be the first library that is loaded.
plan skip_all => 'another library is preloaded' if $ENV{UP_PRELOAD};

my $clock = "$ENV{UP_RUN}/clock-$$";
sub set_clock {
    my ($shift) = @_;
    open my $fh, '+<:raw', "$clock.shift" or die "$clock.shift: $!";
    print $fh pack 'q', $shift;
    close $fh;
    return;
}
open my $fh, '>:raw', "$clock.shift" or die "$clock.shift: $!";
print $fh pack 'q', 0;
close $fh;
chmod 0644, "$clock.shift";
# What stands at the end of this file, to be preloaded.
open my $cc, '|-', 'cc', qw(-shared -fPIC -O1 -x c - -ldl -o), "$clock.so"
    or die "cc: $!";
print $cc <DATA>;
my $built = close $cc;
plan skip_all => 'no compiler' if !$built;

my $H = "HTTP/1.1 200 OK\r\n";
my $b = Up::Answers->start({
    quick => "${H}Content-Length: 2\r\n\r\nok",
    silent => [sub { $_[0]->wait_eof; 0 }],
    late => [pause(0.8), "${H}Content-Length: 4\r\n\r\nlate"],
    stalls => ["${H}Content-Length: 9\r\n\r\npart",
        sub { $_[0]->wait_eof; 0 }],
});
my $s = do {
    local $ENV{LD_PRELOAD} = "$clock.so";
    local $ENV{UP_CLOCK} = "$clock.shift";
    Up::Server->start(A => $b->addr, conf => <<'END');
UpstreamReadTimeout 1s
<Location /p/>
    UpstreamPass http://@A@
</Location>
<Location /long/>
    UpstreamPass http://@A@
    UpstreamReadTimeout 20s
    UpstreamTotalTimeout 20s
</Location>
END
};

# The answer to a request during which the time is set, and how long it took.
sub during {
    my ($target, $shift) = @_;
    my $k = $s->client(strict => 0);
    my $began = time;
    $k->request('GET', $target);
    sleep 0.3;
    set_clock($shift);
    my $res = $k->response;
    return ($res, time - $began);
}

is $s->get('/p/quick')->body, 'ok', 'an answer';
for (['back', -7200], ['forth', 7200]) {
    my ($how, $shift) = @$_;
    my ($res, $took) = during('/p/silent', $shift);
    is $res->status, 504, "set $how: a silent backend times out";
    cmp_ok $took, '<', 5, 'in time';
    cmp_ok $took, '>', 0.9, 'and not before';
    ($res, $took) = during('/p/stalls', $shift / 2);
    ok $res->cut, 'one that stalls, too';
    cmp_ok $took, '<', 5, 'in time';
    ($res, $took) = during('/long/late', $shift);
    is $res->body, 'late', 'a late answer arrives';
    my $k = $s->client;
    is $k->get('/p/quick')->body, 'ok', 'and so do others';
    set_clock($shift + 60);
    is $k->get('/p/quick')->body, 'ok', 'on a kept connection';
}

ok $s->stop, 'no crash, nothing left';
unlink "$clock.so", "$clock.shift";
done_testing;

__DATA__
/* The time of a process, set back or forth: by how many seconds stands in the
 * first eight bytes of the file that UP_CLOCK names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile const long long *shift;

__attribute__((constructor)) static void find_shift(void)
{
    const char *file = getenv("UP_CLOCK");
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    void *mem;

    if (fd < 0) {
        return;
    }
    mem = mmap(NULL, sizeof(*shift), PROT_READ, MAP_SHARED, fd, 0);
    shift = mem == MAP_FAILED ? NULL : mem;
    close(fd);
}

static time_t shift_now(void)
{
    return shift ? (time_t)*shift : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    int rv;

    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    }
    rv = real(clock, now);
    if (rv == 0 && (clock == CLOCK_REALTIME
                    || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += shift_now();
    }
    return rv;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec exact;
    int rv = clock_gettime(CLOCK_REALTIME, &exact);

    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return rv;
}

time_t time(time_t *to)
{
    struct timespec exact;

    clock_gettime(CLOCK_REALTIME, &exact);
    if (to) {
        *to = exact.tv_sec;
    }
    return exact.tv_sec;
}
