/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/**
 * Directives about TLS to servers, and what goes before it.
 *
 * ROW(type, name, first field, last field, least value, default, usage).
 * A type needs two macros: PARSE_type, the parser of a plain one or NULL, and
 * SET_type, which makes the directive. Only for settings.c.
 */

#ifndef UP_ROWS_TLS_H
#define UP_ROWS_TLS_H

#include "config/setters_tls.h"

#define PARSE_CERT NULL
#define SET_CERT(name, row, help)     RAW(name, up_setters_cert, row, help)

#define PARSE_CERTKEY NULL
#define SET_CERTKEY(name, row, help)  RAW(name, up_setters_certkey, row, help)

#define PARSE_CERTCACHE NULL
#define SET_CERTCACHE(name, row, help)                                        \
    AP_INIT_TAKE123(name, up_setters_certcache, row, WHERE, help)

#define PARSE_CIPHERS NULL
#define SET_CIPHERS(name, row, help)  ONE(name, up_setters_ciphers, row, help)

#define PARSE_COMMAND NULL
#define SET_COMMAND(name, row, help)  TWO(name, up_setters_command, row, help)

#define PARSE_CRL NULL
#define SET_CRL(name, row, help)      ONE(name, up_setters_crl, row, help)

#define PARSE_TRUSTED NULL
#define SET_TRUSTED(name, row, help)  ONE(name, up_setters_trusted, row, help)

#define PARSE_PEERNAMES NULL
#define SET_PEERNAMES(name, row, help) RAW(name, up_setters_names, row, help)

#define PARSE_PASSWORDS NULL
#define SET_PASSWORDS(name, row, help)                                        \
    ONE(name, up_setters_passwords, row, help)

#define PARSE_PROTOCOLS NULL
#define SET_PROTOCOLS(name, row, help)                                        \
    AP_INIT_ITERATE(name, up_setters_protocols, row, WHERE, help)

#define PARSE_VERIFY NULL
#define SET_VERIFY(name, row, help)   ONE(name, up_setters_verify, row, help)

#define PARSE_KEYLOG NULL
#define SET_KEYLOG(name, row, help)   ONE(name, up_setters_keylog, row, help)

#define PARSE_PROXY NULL
#define SET_PROXY(name, row, help)    ONE(name, up_setters_proxy, row, help)

#define UP_ROWS_TLS(ROW)                                                      \
    ROW(CERT, SSLCertificate, tls.certificate, tls.pair, 0, NULL,             \
        "a PEM file, an expression that gives one, data: and PEM, or \"\"")   \
    ROW(CERTKEY, SSLCertificateKey, tls.certificate_key, tls.certificate_key,  \
        0, NULL, "a PEM file, an expression that gives one, or data:")        \
    ROW(CERTCACHE, SSLCertificateCache, tls.cache, tls.cache, 0, NULL,        \
        "off, or max= and perhaps inactive= and valid=")                      \
    ROW(CIPHERS, SSLCiphers, tls.ciphers, tls.ciphers, 0, NULL,               \
        "a list of ciphers in OpenSSL's form")                                \
    ROW(COMMAND, SSLConfCommand, tls.commands, tls.commands, 0, NULL,         \
        "a name and a value of OpenSSL's SSL_CONF_cmd")                       \
    ROW(CRL, SSLCRL, tls.crl, tls.crl, 0, NULL, "a PEM file")                 \
    ROW(PEERNAMES, SSLName, tls.name, tls.names, 0, NULL,                     \
        "a name or an expression, and others that the certificate may be for")\
    ROW(PASSWORDS, SSLPasswordFile, tls.passwords, tls.passwords, 0, NULL,    \
        "a file with a password a line")                                      \
    ROW(PROTOCOLS, SSLProtocols, tls.protocols, tls.protocols, 0, NULL,       \
        "words such as TLSv1.2 TLSv1.3")                                      \
    ROW(FLAG, SSLServerName, tls.server_name, tls.server_name, 0, "on",       \
        "on or off")                                                          \
    ROW(FLAG, SSLSessionReuse, tls.session_reuse, tls.session_reuse, 0, "on", \
        "on or off")                                                          \
    ROW(TRUSTED, SSLTrustedCertificate, tls.trusted, tls.trusted, 0, NULL,    \
        "a PEM file")                                                         \
    ROW(VERIFY, SSLVerify, tls.verify, tls.verify, 0, NULL,                   \
        "on, off or chain")                                                   \
    ROW(NUM, SSLVerifyDepth, tls.verify_depth, tls.verify_depth, 0, "1",      \
        "a number such as 1")                                                 \
    ROW(KEYLOG, SSLKeyLog, tls.key_log, tls.key_log, 0, NULL, "a file")       \
    ROW(PROXY, ProxyProtocol, proxy_protocol, proxy_protocol, 0, NULL,        \
        "off, v1 or v2")

#endif
