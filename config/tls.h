/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * What the UpstreamSSL directives say of a location. What they name in files
 * is read while the configuration is, and kept in memory: children need not
 * be allowed to read a key. In the configuration pool, read-only after start.
 */

#ifndef UP_TLS_H
#define UP_TLS_H

#include "apr_tables.h"
#include "config/expressions.h"
#include "config/tls_files.h"
#include "httpd.h"
#include "http_config.h"
#include "mod_upstream_proxy.h"

#define UP_TLS_SSL2 (1u << 0) /* UpstreamSSLProtocols */
#define UP_TLS_SSL3 (1u << 1)
#define UP_TLS_1_0  (1u << 2)
#define UP_TLS_1_1  (1u << 3)
#define UP_TLS_1_2  (1u << 4)
#define UP_TLS_1_3  (1u << 5)

/** UpstreamSSLVerify. */
typedef enum up_verify_e {
    UP_VERIFY_ON,    /* the chain, and that it is for the right name */
    UP_VERIFY_OFF,
    UP_VERIFY_CHAIN  /* any name will do */
} up_verify_e;

/** UpstreamSSLCertificateCache. */
typedef struct up_certcache_t {
    int max;                      /* pairs kept, 0: off */
    apr_interval_time_t inactive; /* unused for so long: forgotten */
    apr_interval_time_t valid;    /* files are looked at after that */
} up_certcache_t;

/** One UpstreamSSLConfCommand. */
typedef struct up_tlscommand_t {
    const char *name;
    const char *value;
} up_tlscommand_t;

typedef struct up_tlsconf_t {
    const up_text_t *certificate; /* NULL or "": none */
    up_tlspair_t *pair;           /* of a literal one, read at start */
    const up_text_t *certificate_key; /* NULL: in the certificate's file */
    const apr_array_header_t *passwords; /* of const char *, may be NULL */
    up_certcache_t cache;
    const char *ciphers;                /* of TLS 1.2 and before, NULL: the
                                           library's */
    apr_array_header_t *commands;       /* of up_tlscommand_t, may be NULL */
    const up_tlsbundle_t *crl;          /* NULL: none */
    const up_tlsbundle_t *trusted;      /* NULL: the system's */
    const up_text_t *name;              /* NULL: the host of UpstreamPass */
    const apr_array_header_t *names;    /* of const up_text_t *: others that
                                           a certificate may be for */
    unsigned int protocols;             /* mask of UP_TLS */
    int server_name;                    /* SNI is sent */
    int session_reuse;
    int verify;                         /* up_verify_e */
    int verify_depth;
    apr_file_t *key_log;                /* NULL: none */
} up_tlsconf_t;

/**
 * Once the configuration is read: certificates with their keys, for each
 * section that names some. Complaints are logged with file and line. For the
 * check_config hook, as root.
 * @return OK or HTTP_INTERNAL_SERVER_ERROR
 */
int up_tls_check(apr_pool_t *ptemp, server_rec *s);

/** A section with something to check when all of it is known. */
void up_tls_note(cmd_parms *cmd, up_tlsconf_t *conf);

#endif
