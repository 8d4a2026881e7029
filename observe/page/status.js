/* Licensed under the Apache License, Version 2.0; see LICENSE. */
"use strict";

/* Polls ?format=json; rates and percentiles are made of the differences. All
 * that comes from the server is put in as text. */

const EVERY = 2000; // ms
const KEEP = 60;    // samples in a graph

const by = (id) => document.getElementById(id);
const shown = new Map(); // group -> { element, peers }
let before = null;
let paused = false;
let api = null;

function sum(object) {
    return Object.values(object).reduce((a, b) => a + b, 0);
}

function bytes(n) {
    for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
        if (n < 1000) {
            return `${n >= 100 || unit === "B" ? Math.round(n)
                : n.toFixed(1)} ${unit}`;
        }
        n /= 1000;
    }
    return `${Math.round(n)} PB`;
}

function rate(n) {
    return n >= 100 ? String(Math.round(n)) : n.toFixed(1);
}

function span(seconds) {
    if (seconds === null) {
        return "-";
    }
    return seconds === Infinity ? "> 60 s"
        : seconds < 1 ? `≤ ${+(seconds * 1000).toPrecision(3)} ms`
            : `≤ ${seconds} s`;
}

/* The bound below which a share of the times are. */
function percentile(buckets, bounds, share) {
    const all = buckets.reduce((a, b) => a + b, 0);
    let n = 0;
    for (let i = 0; all && i < buckets.length; i++) {
        n += buckets[i];
        if (n >= share * all) {
            return i < bounds.length ? bounds[i] : Infinity;
        }
    }
    return null;
}

/* Differences since the last answer; the whole when counting began anew. */
function since(now, then) {
    return now.map((n, i) => then && n >= then[i] ? n - then[i] : n);
}

function many(n, one, more) {
    return `${n} ${n === 1 ? one : more}`;
}

function state(peer) {
    return peer.state === "up" && peer.full ? "full" : peer.state;
}

function is_troubled(peer) {
    return state(peer) !== "up";
}

function facts(group) {
    const text = [many(group.peers.length, "server", "servers"),
        group.zone === null ? "no zone: states are each child's own"
            : `zone ${group.zone}`,
        `waiting without a thread: ${group.suspended}`,
        `holding one: ${group.threads_held}`];
    if (group.queue_max) {
        text.push(`queue ${group.queued} of ${group.queue_max}`);
    }
    if (group.no_live) {
        text.push(`${group.no_live} without a live server`);
    }
    return text.join(", ");
}

function numbers(peer, then, seconds, bounds) {
    const answers = sum(peer.answers);
    const delta = then && seconds ? Math.max(0,
        answers - sum(then.answers)) / seconds : 0;
    const wrong = (p) => p.answers["5xx"] + sum(p.failures);
    const bad = then && seconds
        ? Math.max(0, wrong(peer) - wrong(then)) / seconds : 0;
    const recent = since(peer.seconds.header.buckets,
        then && then.seconds.header.buckets);
    const buckets = recent.some((n) => n) ? recent
        : peer.seconds.header.buckets;
    const uses = peer.connections_made + peer.connections_reused;
    return {
        rate: delta,
        bad,
        cells: [
            ["Requests", answers],
            ["Active", peer.max_conns ? `${peer.active} / ${peer.max_conns}`
                : peer.active],
            ["Weight", peer.weight + (peer.backup ? " backup" : "")],
            ["Half within", span(percentile(buckets, bounds, 0.5))],
            ["95 % within", span(percentile(buckets, bounds, 0.95))],
            ["5xx, failed", `${peer.answers["5xx"]}, ${sum(peer.failures)}`],
            ["Kept idle", peer.connections_idle],
            ["Reused", uses
                ? `${Math.round(100 * peer.connections_reused / uses)} %`
                : "-"],
            ["In, out", `${bytes(peer.bytes_in)}, ${bytes(peer.bytes_out)}`],
        ],
    };
}

function points(values, top) {
    return values.map((v, i) =>
        `${(120 - 2 * (values.length - 1 - i)).toFixed(1)},`
        + (29 - 28 * v / top).toFixed(1)).join(" ");
}

function draw(entry, peer) {
    const top = Math.max(1, ...entry.rates, ...entry.bads);
    const now = entry.rates.at(-1);
    const text = `${rate(now)} requests/s, `
        + `${rate(entry.bads.at(-1))} bad/s, top ${rate(top)}`;
    entry.element.querySelector(".rate").setAttribute("points",
        points(entry.rates, top));
    entry.element.querySelector(".bad").setAttribute("points",
        points(entry.bads, top));
    entry.element.querySelector("svg").setAttribute("aria-label",
        `${peer.peer}: ${text}`);
    entry.element.querySelector("figcaption").textContent = text;
}

function say(text, is_error) {
    by("message").textContent = text;
    by("message").classList.toggle("error", Boolean(is_error));
}

async function change(event, group, peer) {
    event.preventDefault();
    const form = event.target;
    const body = {};
    for (const name of ["state", "weight", "max_conns"]) {
        const value = form[name].value;
        if (value !== form.dataset[name]) {
            body[name] = name === "state" ? value || null : Number(value);
        }
    }
    try {
        if (!Object.keys(body).length) {
            throw new Error("nothing is different");
        }
        const answer = await fetch(`${api}?${new URLSearchParams(
            { upstream: group, peer })}`, {
            method: "PATCH",
            headers: { "Content-Type": "application/json",
                "X-Upstream-API": "1" },
            body: JSON.stringify(body),
        });
        const json = await answer.json();
        if (!answer.ok) {
            throw new Error(json.error);
        }
        say(`${peer} of ${group} is changed`);
        form.closest("details").open = false;
        form.closest("details").querySelector("summary").focus();
        await look();
    } catch (error) {
        say(`${peer} of ${group} is not changed: ${error.message}`, true);
    }
}

function make_peer(group, peer, list) {
    const element = by("peer").content.cloneNode(true).firstElementChild;
    element.querySelector("b").textContent = peer.peer;
    element.querySelector("summary").setAttribute("aria-label",
        `Change ${peer.peer} of ${group.upstream}`);
    element.querySelector("form").addEventListener("submit",
        (event) => change(event, group.upstream, peer.peer));
    element.querySelector("details").addEventListener("toggle", (event) => {
        const form = element.querySelector("form");
        const now = shown.get(group.upstream).peers.get(peer.peer).now;
        if (event.target.open) {
            form.dataset.state = form.state.value
                = now.state === "failed" ? "up" : now.state;
            form.dataset.weight = form.weight.value = now.weight;
            form.dataset.max_conns = form.max_conns.value = now.max_conns;
        }
    });
    list.append(element);
    return { element, rates: [], bads: [], now: peer };
}

function show_peer(entry, group, peer, then, seconds, bounds) {
    const found = numbers(peer, then, seconds, bounds);
    const badge = entry.element.querySelector(".state");
    const list = entry.element.querySelector("dl");
    entry.now = peer;
    entry.rates = [...entry.rates, found.rate].slice(-KEEP);
    entry.bads = [...entry.bads, found.bad].slice(-KEEP);
    badge.textContent = badge.dataset.state = state(peer);
    entry.element.querySelector(".reason").textContent = peer.reason;
    entry.element.querySelector("details").hidden = !api || !group.zone;
    while (list.children.length < found.cells.length) {
        const cell = document.createElement("div");
        cell.append(document.createElement("dt"),
            document.createElement("dd"));
        list.append(cell);
    }
    found.cells.forEach(([name, value], i) => {
        list.children[i].firstElementChild.textContent = name;
        list.children[i].lastElementChild.textContent = value;
    });
    draw(entry, peer);
}

function show_group(group, then, seconds, bounds) {
    let entry = shown.get(group.upstream);
    if (!entry) {
        const element = by("group").content.cloneNode(true)
            .firstElementChild;
        element.querySelector("h2").textContent = group.upstream;
        by("groups").append(element);
        entry = { element, peers: new Map() };
        shown.set(group.upstream, entry);
    }
    entry.element.querySelector(".facts").textContent = facts(group);
    const names = new Set(group.peers.map((peer) => peer.peer));
    for (const [name, peer] of entry.peers) {
        if (!names.has(name)) {
            peer.element.remove();
            entry.peers.delete(name);
        }
    }
    for (const peer of group.peers) {
        if (!entry.peers.has(peer.peer)) {
            entry.peers.set(peer.peer, make_peer(group, peer,
                entry.element.querySelector("ul")));
        }
        show_peer(entry.peers.get(peer.peer), group, peer,
            then && then.peers.find((p) => p.peer === peer.peer), seconds,
            bounds);
    }
}

function choose() {
    const text = by("filter").value.toLowerCase();
    const only = by("troubled").checked;
    for (const [name, group] of shown) {
        let any = false;
        for (const [address, peer] of group.peers) {
            const hidden = only && !is_troubled(peer.now)
                || !`${name} ${address}`.toLowerCase().includes(text);
            peer.element.hidden = hidden;
            any = any || !hidden;
        }
        group.element.hidden = !any;
    }
}

function summarize(json) {
    const peers = json.upstreams.flatMap((group) => group.peers);
    const troubled = peers.filter(is_troubled).length;
    by("summary").textContent = `${
        many(json.upstreams.length, "group", "groups")}, ${
        many(peers.length, "server", "servers")}, ${troubled} troubled, ${
        many(json.children, "child", "children")}; at `
        + new Date(json.time * 1000).toLocaleTimeString();
}

function show(json) {
    const seconds = before ? json.time - before.time : 0;
    const names = new Set(json.upstreams.map((group) => group.upstream));
    for (const [name, group] of shown) {
        if (!names.has(name)) {
            group.element.remove();
            shown.delete(name);
        }
    }
    for (const group of json.upstreams) {
        show_group(group, before && before.upstreams.find(
            (g) => g.upstream === group.upstream), seconds, json.bounds);
    }
    before = json;
    summarize(json);
    choose();
}

/* May whoever looks at this page change anything? */
async function ask_api(path) {
    try {
        const answer = await fetch(`${path}?upstream=`);
        api = answer.ok && (await answer.json()).may_change ? path : null;
    } catch {
        api = null;
    }
}

async function look() {
    try {
        const answer = await fetch("?format=json");
        if (!answer.ok) {
            throw new Error(`status ${answer.status}`);
        }
        const json = await answer.json();
        if (!before && json.api) {
            await ask_api(json.api);
        }
        show(json);
        if (by("message").dataset.lost) {
            delete by("message").dataset.lost;
            say("");
        }
    } catch (error) {
        by("message").dataset.lost = "1";
        say(`No news from the server: ${error.message}`, true);
    }
}

async function run() {
    if (!paused && !document.hidden) {
        await look();
    }
    setTimeout(run, EVERY);
}

by("pause").addEventListener("click", () => {
    paused = !paused;
    by("pause").setAttribute("aria-pressed", String(paused));
    by("pause").textContent = paused ? "Go on" : "Pause";
});
by("filter").addEventListener("input", choose);
by("troubled").addEventListener("change", choose);
run();
