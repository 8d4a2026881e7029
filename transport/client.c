/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* The downstream side of an exchange; see client.h. */

#include "transport/client.h"

#include <sys/socket.h>

#include "apr_portable.h"
#include "config/log.h"
#include "http_connection.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_request.h"
#include "http_ssl.h"
#include "mpm_common.h"
#include "util_filter.h"

/* Memory handed to the core at once stays below this, whatever
 * FlushMaxThreshold says, and below FlushMaxThreshold. */
#define SLICE_BYTES 49152

/* So much may gather within one pass before any of it is written. */
#define KEEP_BYTES 131072

#define INTERIM "HTTP/1.1 100 Continue\r\n\r\n"

/* The filter's state, one a connection. */
struct up_clientnet_t {
    conn_rec *c;
    ap_filter_t *filter;
    apr_bucket_brigade *kept; /* not yet given to the core */
    apr_bucket_brigade *next; /* what is being given; empty in between */
    apr_off_t kept_bytes;
    apr_off_t given;    /* bytes of the last slice given to the core */
    apr_size_t slice;   /* memory a slice may have */
    apr_pool_t *aside;  /* for set-aside buckets; cleared when empty; NULL:
                           none has needed it */
    int holding;        /* an exchange is under way */
    void *driver;       /* not used here */
};

static ap_filter_rec_t *client_filter;
static ap_filter_rec_t *refusal_filter;

/* Moves what the core takes without blocking from `kept` to `next`: files of
 * any size, memory up to net->slice. */
static void cut_slice(up_clientnet_t *net)
{
    apr_off_t memory = 0;
    apr_off_t bytes = 0;

    while (!APR_BRIGADE_EMPTY(net->kept)) {
        apr_bucket *e = APR_BRIGADE_FIRST(net->kept);

        if (e->length && !APR_BUCKET_IS_FILE(e)) {
            if (memory >= (apr_off_t)net->slice) {
                break;
            }
            if (e->length > net->slice - (apr_size_t)memory) {
                apr_bucket_split(e, net->slice - (apr_size_t)memory);
            }
            memory += (apr_off_t)e->length;
        }
        bytes += (apr_off_t)e->length;
        APR_BUCKET_REMOVE(e);
        APR_BRIGADE_INSERT_TAIL(net->next, e);
    }
    net->kept_bytes -= bytes;
    net->given = bytes;
}

/* What the MPM does on write completion: the core writes what it has. */
static apr_status_t core_write(up_clientnet_t *net)
{
    ap_filter_t *core = net->filter->next;

    return core->frec->filter_func.out_func(core, NULL);
}

/* Writes until nothing is kept or the socket is full. */
static apr_status_t write_kept(up_clientnet_t *net)
{
    apr_status_t rv = APR_SUCCESS;

    while (rv == APR_SUCCESS) {
        if (net->c->data_in_output_filters) {
            rv = core_write(net);
            if (rv != APR_SUCCESS || net->c->data_in_output_filters) {
                break;
            }
        }
        if (APR_BRIGADE_EMPTY(net->kept)) {
            net->given = 0;
            break;
        }
        cut_slice(net);
        rv = ap_pass_brigade(net->filter->next, net->next);
        apr_brigade_cleanup(net->next);
    }
    if (rv != APR_SUCCESS) {
        net->c->aborted = 1;
        return rv;
    }
    if (net->aside && APR_BRIGADE_EMPTY(net->kept)) {
        apr_pool_clear(net->aside);
    }
    return APR_SUCCESS;
}

/* Buckets whose setaside does not look at the pool. */
static int needs_no_pool(const apr_bucket *e)
{
    return APR_BUCKET_IS_HEAP(e) || APR_BUCKET_IS_TRANSIENT(e)
           || APR_BUCKET_IS_IMMORTAL(e) || APR_BUCKET_IS_EOS(e)
           || AP_BUCKET_IS_EOR(e);
}

/* What setting a bucket aside takes memory from: a pool more for every client
 * that waits would be felt, and most responses do not need it. */
static apr_pool_t *aside_for(up_clientnet_t *net, const apr_bucket *e)
{
    if (!net->aside && !needs_no_pool(e)) {
        apr_pool_create(&net->aside, net->c->pool);
        apr_pool_tag(net->aside, "upstream_client_aside");
    }
    return net->aside;
}

/* Takes over a brigade during an exchange: no FLUSH reaches the core. */
static apr_status_t keep(up_clientnet_t *net, apr_bucket_brigade *bb)
{
    apr_bucket *e;
    apr_bucket *next;
    apr_status_t rv;

    for (e = APR_BRIGADE_FIRST(bb); e != APR_BRIGADE_SENTINEL(bb); e = next) {
        next = APR_BUCKET_NEXT(e);
        if (APR_BUCKET_IS_FLUSH(e)) {
            apr_bucket_delete(e);
            continue;
        }
        rv = apr_bucket_setaside(e, aside_for(net, e));
        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
            return rv;
        }
        net->kept_bytes += (apr_off_t)e->length;
    }
    APR_BRIGADE_CONCAT(net->kept, bb);
    return APR_SUCCESS;
}

static apr_status_t client_out(ap_filter_t *f, apr_bucket_brigade *bb)
{
    up_clientnet_t *net = f->ctx;
    apr_status_t rv;

    if (!net->kept) {
        return bb ? ap_pass_brigade(f->next, bb)
                  : f->next->frec->filter_func.out_func(f->next, NULL);
    }
    if (net->c->aborted) {
        if (bb) {
            apr_brigade_cleanup(bb);
        }
        apr_brigade_cleanup(net->kept);
        net->kept_bytes = 0;
        return APR_ECONNABORTED;
    }
    if (net->holding) {
        /* Written when the pass is over, head and body in one go, unless
         * there is much of it. */
        rv = bb ? keep(net, bb) : APR_SUCCESS;
        return rv == APR_SUCCESS && net->kept_bytes > KEEP_BYTES
                   ? write_kept(net) : rv;
    }
    if (!bb) {
        return f->next->frec->filter_func.out_func(f->next, NULL);
    }
    if (!APR_BRIGADE_EMPTY(net->kept)) {
        APR_BRIGADE_PREPEND(bb, net->kept);
        net->kept_bytes = 0;
    }
    return ap_pass_brigade(f->next, bb);
}

/* In the place of a request's filters when the response has begun: see
 * get_brigade. */
static apr_status_t refuse(ap_filter_t *f, apr_bucket_brigade *bb)
{
    (void)f;
    apr_brigade_cleanup(bb);
    return AP_FILTER_ERROR;
}

void up_client_register(void)
{
    refusal_filter = ap_register_output_filter("UPSTREAM_REFUSAL", refuse,
                                               NULL, AP_FTYPE_PROTOCOL);
    /* Between mod_ssl and the core. */
    client_filter = ap_register_output_filter("UPSTREAM_CLIENT", client_out,
                                              NULL, AP_FTYPE_NETWORK - 1);
}

static apr_size_t slice_size(conn_rec *c)
{
    core_server_config *conf =
        ap_get_core_module_config(c->base_server->module_config);
    apr_size_t most = conf->flush_max_threshold;

    return most > 1 && most < SLICE_BYTES ? most - 1 : SLICE_BYTES;
}

void up_client_attach(conn_rec *c)
{
    up_clientnet_t *net = apr_pcalloc(c->pool, sizeof(*net));

    net->c = c;
    net->filter = ap_add_output_filter_handle(client_filter, net, NULL, c);
    ap_set_module_config(c->conn_config, &upstream_proxy_module, net);
}

up_clientnet_t *up_clientnet_of(conn_rec *c)
{
    return c->master ? NULL : ap_get_module_config(c->conn_config,
                                                   &upstream_proxy_module);
}

void **up_clientnet_driver(up_clientnet_t *net)
{
    return &net->driver;
}

/* What only connections with an exchange need. */
static void furnish(up_clientnet_t *net)
{
    conn_rec *c = net->c;

    net->kept = apr_brigade_create(c->pool, c->bucket_alloc);
    net->next = apr_brigade_create(c->pool, c->bucket_alloc);
    net->slice = slice_size(c);
}

void up_clientnet_hold(up_clientnet_t *net, int hold)
{
    if (hold && !net->kept) {
        furnish(net);
    }
    net->holding = hold;
}

/* Filters that neither hold nor change a body. */
static int is_transparent(const char *name)
{
    static const char *const names[] = {
        "content_length", "http_header", "http_outerror", "chunk",
        "byterange", "upstream_trailers", "upstream_client", "core",
        "log_input_output", NULL
    };
    int i;

    for (i = 0; names[i]; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static int only_transparent(request_rec *r)
{
    ap_filter_t *f;

    for (f = r->output_filters; f; f = f->next) {
        if (!is_transparent(f->frec->name)) {
            return 0;
        }
    }
    return 1;
}

up_client_t *up_client_open(request_rec *r)
{
    up_client_t *client = apr_pcalloc(r->pool, sizeof(*client));
    apr_socket_t *sock = NULL;
    apr_os_sock_t fd = -1;

    client->r = r;
    client->fd = -1;
    client->net = up_clientnet_of(r->connection);
    if (client->net) {
        sock = ap_get_conn_socket(r->connection);
        apr_os_sock_get(&fd, sock);
        client->fd = fd;
        client->was_held = client->net->holding;
        up_clientnet_hold(client->net, 1);
    }
    client->pass_through = -1;
    return client;
}

int up_client_pass_through(up_client_t *client)
{
    if (client->pass_through < 0) {
        client->pass_through = only_transparent(client->r);
    }
    return client->pass_through;
}

void up_client_close(up_client_t *client)
{
    if (client->net) {
        up_clientnet_hold(client->net, client->was_held);
    }
}

apr_status_t up_client_pass(up_client_t *client, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    client->header_out = 1;
    rv = ap_pass_brigade(client->r->output_filters, bb);
    apr_brigade_cleanup(bb);
    if (rv == APR_SUCCESS && client->net) {
        rv = write_kept(client->net);
    }
    if (rv == APR_SUCCESS && client->r->connection->aborted) {
        rv = APR_ECONNABORTED;
    }
    return rv;
}

apr_status_t up_client_cut(up_client_t *client, apr_bucket_brigade *bb)
{
    apr_bucket_alloc_t *alloc = bb->bucket_alloc;
    apr_status_t rv;

    client->r->connection->keepalive = AP_CONN_CLOSE;
    client->r->no_cache = 1;
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(alloc));
    rv = up_client_pass(client, bb);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    APR_BRIGADE_INSERT_TAIL(
        bb, ap_bucket_error_create(HTTP_BAD_GATEWAY, NULL, client->r->pool,
                                   alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(alloc));
    return up_client_pass(client, bb);
}

apr_status_t up_client_write(up_client_t *client)
{
    if (client->r->connection->aborted) {
        return APR_ECONNABORTED;
    }
    return client->net ? up_clientnet_write(client->net) : APR_SUCCESS;
}

static apr_off_t pending(const up_clientnet_t *net)
{
    apr_off_t bytes = net->kept_bytes;

    if (net->c->data_in_output_filters) {
        /* The core may also hold what was there before the exchange. */
        bytes += net->given > 0 ? net->given : 1;
    }
    return bytes;
}

apr_status_t up_clientnet_write(up_clientnet_t *net)
{
    apr_status_t rv = net->c->aborted ? APR_ECONNABORTED : write_kept(net);

    return rv == APR_SUCCESS && pending(net) > 0 ? APR_EAGAIN : rv;
}

apr_off_t up_client_pending(const up_client_t *client)
{
    return client->net ? pending(client->net) : 0;
}

apr_status_t up_client_interim(up_client_t *client, int status,
                               const char *line, apr_table_t *fields)
{
    request_rec *r = client->r;
    const char *old_line = r->status_line;
    apr_table_t *old_fields = r->headers_out;
    int old_status = r->status;

    r->status = status;
    r->status_line = line;
    if (fields) {
        r->headers_out = fields; /* httpd sends, and clears, these */
    }
    ap_send_interim_response(r, fields != NULL);
    r->headers_out = old_fields;
    r->status_line = old_line;
    r->status = old_status;
    return client->net ? write_kept(client->net) : APR_SUCCESS;
}

/*
 * httpd's input filter answers a body that it cannot read with an error
 * bucket, and tells what its output filters have said of it. Those of a
 * response that has begun say that all is well; the bytes that are no body
 * would then be taken for one.
 */
static apr_status_t get_brigade(up_client_t *client, apr_bucket_brigade *bb,
                                apr_read_type_e block, apr_off_t max)
{
    request_rec *r = client->r;
    ap_filter_t *filters = r->output_filters;
    ap_filter_t refusal = { .frec = refusal_filter, .c = r->connection };
    apr_status_t rv;

    if (client->header_out) {
        r->output_filters = &refusal;
    }
    rv = ap_get_brigade(r->input_filters, bb, AP_MODE_READBYTES, block, max);
    r->output_filters = filters;
    return rv;
}

apr_status_t up_client_read(up_client_t *client, apr_bucket_brigade *bb,
                            apr_off_t max)
{
    request_rec *r = client->r;
    apr_read_type_e block = client->net || client->raw ? APR_NONBLOCK_READ
                                                       : APR_BLOCK_READ;
    apr_status_t rv;

    rv = get_brigade(client, bb, block, max);
    if (client->half_closed
        && (rv == APR_SUCCESS ? APR_BRIGADE_EMPTY(bb)
                              : APR_STATUS_IS_EAGAIN(rv))) {
        /* At the end of a stream the core first says that nothing is there. */
        rv = get_brigade(client, bb, block, max);
    }
    if (rv == APR_SUCCESS && APR_BRIGADE_EMPTY(bb)) {
        rv = APR_EAGAIN;
    }
    if (!APR_STATUS_IS_EAGAIN(rv)) {
        return rv;
    }
    if (r->expecting_100 && !client->header_out) {
        /* httpd's input filter does so itself only when it may block. */
        up_client_interim(client, HTTP_CONTINUE, NULL, NULL);
    }
    return APR_EAGAIN;
}

/* What a stream has in the place of a socket: a pipe that is readable when
 * something has come. */
static int stream_fd(conn_rec *c)
{
    apr_pollfd_t pollfd = { .desc_type = APR_NO_DESC };
    apr_os_file_t fd = -1;

#if AP_MODULE_MAGIC_AT_LEAST(20120211, 129)
    if (ap_get_pollfd_from_conn(c, &pollfd, NULL) == APR_SUCCESS
        && pollfd.desc_type == APR_POLL_FILE) {
        apr_os_file_get(&fd, pollfd.desc.f);
    }
#endif
    return fd;
}

void up_client_switch(up_client_t *client)
{
    request_rec *r = client->r;
    conn_rec *c = r->connection;

    c->keepalive = AP_CONN_CLOSE;
    r->output_filters = c->output_filters;
    r->proto_output_filters = c->output_filters;
    /* It would wait for the end of a body. */
    ap_remove_input_filter_byhandle(c->input_filters, "reqtimeout");
}

void up_client_switch_input(up_client_t *client)
{
    request_rec *r = client->r;

    client->raw = 1;
    r->input_filters = r->connection->input_filters;
    r->proto_input_filters = r->input_filters;
    if (!client->net) {
        /* mod_http2 says the end of a request that is to be an upgrade. */
        client->skip_eos = 1;
        client->fd = stream_fd(r->connection);
    }
}

#define TRIM_MOST 4 /* blocks */

/* An allocator has no function for it: a free block is one that it gives, and
 * takes back while it may keep none. */
void up_client_trim(up_client_t *client, int most)
{
    apr_pool_t *p = client->r->connection->pool;
    apr_allocator_t *allocator = apr_pool_allocator_get(p);
    apr_memnode_t *blocks[TRIM_MOST];
    int n;

    if (!client->net || apr_allocator_owner_get(allocator) != p) {
        return; /* others use it, too */
    }
    apr_allocator_max_free_set(allocator, 1);
    for (n = 0; n < most && n < TRIM_MOST; n++) {
        blocks[n] = apr_allocator_alloc(allocator, APR_BUCKET_BUFF_SIZE);
    }
    while (n > 0) {
        apr_allocator_free(allocator, blocks[--n]);
    }
    apr_allocator_max_free_set(allocator, ap_max_mem_free);
}

int up_client_shut(up_client_t *client)
{
    conn_rec *c = client->r->connection;

    return client->net && !ap_ssl_conn_is_ssl(c)
           && apr_socket_shutdown(ap_get_conn_socket(c), APR_SHUTDOWN_WRITE)
                  == APR_SUCCESS;
}

/* May a 1xx be sent to find out? */
static int can_probe(const up_client_t *client)
{
    const request_rec *r = client->r;

    return !client->header_out && r->proto_num >= HTTP_VERSION(1, 1)
           && !ap_ssl_conn_is_ssl(r->connection);
}

int up_client_gone(up_client_t *client, int hangup)
{
    conn_rec *c = client->r->connection;
    apr_bucket_brigade *bb;
    apr_status_t rv;

    if (c->aborted || hangup) {
        c->aborted = 1;
        return 1;
    }
    if (client->half_closed) {
        return 0;
    }
    client->half_closed = 1;
    if (client->header_out && !ap_ssl_conn_is_ssl(c)) {
        return 0; /* the next write tells */
    }
    if (!can_probe(client)) {
        c->aborted = 1;
        return 1;
    }
    bb = apr_brigade_create(client->r->pool, c->bucket_alloc);
    APR_BRIGADE_INSERT_TAIL(
        bb, apr_bucket_immortal_create(INTERIM, sizeof(INTERIM) - 1,
                                       c->bucket_alloc));
    APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    rv = ap_pass_brigade(c->output_filters, bb);
    if (rv == APR_SUCCESS) {
        rv = write_kept(client->net);
    }
    return rv != APR_SUCCESS || c->aborted;
}
