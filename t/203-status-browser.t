# Licensed under the Apache License, Version 2.0; see LICENSE.

# The status page in a browser: on a desk and on a phone, by day and by night,
# with the keyboard alone. Screenshots are kept in build/.

use strict;
use warnings;

use Apache::Test qw(-withtestmore);

use Up::Browser ();
use Up::Scripts ();
use Up::Server ();

plan skip_all => 'needs chromium-headless-shell (tools/install-deps.sh)'
    if !Up::Browser->find;
plan skip_all => 'a page has no driver'
    if ($ENV{UP_DRIVER} // 'loop') ne 'loop' || $ENV{UP_MPM} ne 'event';

my ($A, $B) = map { Up::Scripts->obedient($_) } qw(A B);
my $s = Up::Server->start(A => $A->addr, B => $B->addr,
    main => 'LoadModule slotmem_shm_module "@MODULES@/mod_slotmem_shm.so"',
    conf => q{
    <Upstream app>
        UpstreamServer @A@
        UpstreamServer @B@ down weight=2
        UpstreamZone z
    </Upstream>
    <Upstream static>
        UpstreamServer @B@ max_conns=8
    </Upstream>
    UpstreamPass /p/ http://static/
    <Location /status>
        SetHandler upstream-status
    </Location>
    <Location /api>
        SetHandler upstream-api
        Require ip 127.0.0.1
    </Location>
});

my $b = Up::Browser->start;
my $shots = "$ENV{UP_TOP}/build/screenshots";
my $cards = 'document.querySelectorAll("li").length';

$s->get('/p/x') for 1 .. 5;
$b->size(1280, 800, 'light');
ok $b->open($s->url('/status')), 'the page loads';
ok $b->until("$cards === 3"), 'three servers';
is $b->eval('document.querySelectorAll("h2").length'), 2, 'of two groups';
like $b->eval('document.getElementById("summary").textContent'),
    qr/^2 groups, 3 servers, 1 troubled, 1 child/, 'in short';

# The card of a server: of what its CSS selector is.
sub card {
    my ($group, $address, $selector) = @_;
    return qq{[...document.querySelectorAll("section")].find((s) =>
        s.querySelector("h2").textContent === "$group")
        .querySelectorAll("li").values().find((l) =>
        l.querySelector("b").textContent === "$address")}
        . ($selector ? qq{.querySelector("$selector")} : '');
}

is $b->eval(card('app', $B->addr, '.state') . '.textContent'), 'down',
    'one is down';
is $b->eval(card('app', $B->addr, '.reason') . '.textContent'), 'configured',
    'and why';
like $b->eval(card('static', $B->addr, 'dl') . '.textContent'),
    qr/Requests5Active0 \/ 8/, 'numbers';

subtest 'it moves' => sub {
    $s->get('/p/x') for 1 .. 20;
    ok $b->until(card('static', $B->addr, 'dl')
        . '.textContent.includes("Requests25")'), 'new numbers come';
    ok $b->until(card('static', $B->addr, '.rate')
        . '.getAttribute("points").split(" ").length > 2'),
        'the graph has points';
    like $b->eval(card('static', $B->addr, 'svg')
        . '.getAttribute("aria-label")'), qr/requests\/s/, 'and words';
};

subtest 'only the keyboard' => sub {
    $b->eval('document.activeElement.blur()');
    my $seen = '';
    for (1 .. 12) {
        $b->press('Tab');
        $seen = $b->eval('document.activeElement.getAttribute("aria-label")'
            . ' || document.activeElement.textContent') // '';
        last if $seen eq 'Change ' . $B->addr . ' of app';
    }
    is $seen, 'Change ' . $B->addr . ' of app', 'one gets to the server';
    isnt $b->eval('getComputedStyle(document.activeElement).outlineStyle'),
        'none', 'and sees where one is';
    $b->press('Enter');
    ok $b->until(card('app', $B->addr, 'details') . '.open'), 'it opens';
    $b->press('Tab');
    $b->press('u'); # the option "up"
    is $b->eval(card('app', $B->addr, 'select') . '.value'), 'up', 'up';
    $b->press('Tab') for 1 .. 3;
    is $b->eval('document.activeElement.textContent'), 'Apply', 'Apply';
    $b->press('Enter');
    ok $b->until(card('app', $B->addr, '.state')
        . '.textContent === "up"'), 'the server is up';
    like $b->eval('document.getElementById("message").textContent'),
        qr/of app is changed$/, 'which is said';
    my $json = $b->eval('fetch("/api?upstream=app").then((r) => r.json())');
    is $json->{upstreams}[0]{peers}[1]{weight}, 2, 'nothing else is';
    like $b->eval('document.activeElement.tagName'), qr/SUMMARY/,
        'one is where one was';
};

subtest 'filters' => sub {
    $b->eval('document.getElementById("filter").value = "static";'
        . 'document.getElementById("filter").dispatchEvent('
        . 'new Event("input"))');
    my $visible = '[...document.querySelectorAll("li")]'
        . '.filter((l) => l.offsetParent).length';
    is $b->eval($visible), 1, 'one server';
    $b->eval('document.getElementById("filter").value = "";'
        . 'document.getElementById("troubled").click()');
    is $b->eval($visible), 0, 'none is troubled';
    $b->eval('document.getElementById("troubled").click()');
    is $b->eval($visible), 3, 'all';
};

for ([1280, 'light', 'desk'], [1280, 'dark', 'desk-dark'],
    [360, 'light', 'phone'], [360, 'dark', 'phone-dark']) {
    my ($width, $scheme, $name) = @$_;
    subtest $name => sub {
        $b->size($width, 800, $scheme);
        is $b->eval('document.documentElement.scrollWidth'), $width,
            'nothing is wider than the screen';
        my $contrast = $b->eval(contrast());
        cmp_ok $contrast, '>=', 4.5, 'all text can be read';
        cmp_ok $b->eval('Math.min(...[...document.querySelectorAll('
            . '"button, select, summary")].filter((e) => e.offsetParent)'
            . '.map((e) => e.offsetHeight))'), '>=', 36,
            'what is touched is large enough';
        $b->shot("$shots/status-$name.png");
        cmp_ok -s "$shots/status-$name.png", '>', 10_000, 'a screenshot';
    };
}

# The least contrast of a text to its ground (WCAG 2).
sub contrast {
    return q{(() => {
        const rgb = (c) => c.match(/[\d.]+/g).map(Number);
        const light = (c) => c.slice(0, 3).map((v) => v / 255)
            .map((v) => v <= 0.04045 ? v / 12.92
                : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
        const ground = (e) => {
            for (; e; e = e.parentElement) {
                const c = rgb(getComputedStyle(e).backgroundColor);
                if (c.length < 4 || c[3] > 0) return light(c);
            }
            return 1;
        };
        return Math.min(...[...document.querySelectorAll("body *")]
            .filter((e) => e.offsetParent && [...e.childNodes].some((n) =>
                n.nodeType === 3 && n.textContent.trim()))
            .map((e) => {
                const a = light(rgb(getComputedStyle(e).color));
                const b = ground(e);
                return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            }));
    })()};
}

subtest 'a server that stops' => sub {
    ok $s->stop, 'no crash, nothing left';
    ok $b->until('document.getElementById("message").textContent'
        . '.startsWith("No news")'), 'the page says so';
};

is_deeply [grep { !/ERR_CONNECTION/ } $b->problems], [],
    'nothing in the console';
$b->stop;
done_testing;
