/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/*
 * Tables: what fails, and which directive is about that.
 */

#include "transport/tls_remedy.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include "apr_strings.h"

typedef struct remedy_t {
    long code;
    const char *remedy;
} remedy_t;

/* X509_V_ERR_, of a certificate that was not accepted. */
static const remedy_t of_certificates[] = {
    { X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      "name it with UpstreamSSLTrustedCertificate if it is yours" },
    { X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      "name its CA with UpstreamSSLTrustedCertificate if that is yours" },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      "name its CA with UpstreamSSLTrustedCertificate; an intermediate one is "
      "the backend's to send" },
    { X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
      "name its CA with UpstreamSSLTrustedCertificate" },
    { X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
      "name its CA with UpstreamSSLTrustedCertificate" },
    { X509_V_ERR_CERT_HAS_EXPIRED, "the backend needs a new one" },
    { X509_V_ERR_CERT_NOT_YET_VALID, "look at the clocks" },
    { X509_V_ERR_CERT_CHAIN_TOO_LONG, "raise UpstreamSSLVerifyDepth" },
    { X509_V_ERR_CERT_REVOKED, "the backend needs a new one" },
    { X509_V_ERR_UNABLE_TO_GET_CRL,
      "UpstreamSSLCRL wants a list of each CA in the chain" },
    { X509_V_ERR_CRL_HAS_EXPIRED, "the file of UpstreamSSLCRL is too old" },
    { X509_V_OK, NULL }
};

/* SSL_R_, of a handshake or a record. */
static const remedy_t of_reasons[] = {
    { SSL_R_WRONG_VERSION_NUMBER,
      "does it speak TLS on this port? Else write http://" },
#ifdef SSL_R_PACKET_LENGTH_TOO_LONG
    { SSL_R_PACKET_LENGTH_TOO_LONG,
      "does it speak TLS on this port? Else write http://" },
#endif
    { SSL_R_UNSUPPORTED_PROTOCOL, "UpstreamSSLProtocols" },
    { SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "UpstreamSSLProtocols" },
    { SSL_R_NO_PROTOCOLS_AVAILABLE, "UpstreamSSLProtocols" },
    { SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
      "UpstreamSSLCiphers, UpstreamSSLProtocols, UpstreamSSLCertificate or "
      "UpstreamSSLName may not be what it wants" },
    { SSL_R_TLSV1_UNRECOGNIZED_NAME, "UpstreamSSLName, UpstreamSSLServerName" },
#ifdef SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED
    { SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
      "it wants a certificate of ours: UpstreamSSLCertificate" },
#endif
    { SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "UpstreamSSLCertificate" },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "UpstreamSSLCertificate" },
    { SSL_R_TLSV1_ALERT_UNKNOWN_CA, "UpstreamSSLCertificate" },
    { SSL_R_NO_CIPHERS_AVAILABLE, "UpstreamSSLCiphers" },
    { X509_V_OK, NULL }
};

static const char *find(const remedy_t *table, long code)
{
    for (; table->remedy; table++) {
        if (table->code == code) {
            return table->remedy;
        }
    }
    return NULL;
}

/* Those of alerts that the peer sent: 1000 and more. */
static int is_alert(int reason)
{
    return reason >= SSL_AD_REASON_OFFSET;
}

static void put(char *buf, apr_size_t size, const char *reason,
                const char *remedy)
{
    apr_snprintf(buf, size, "%s%s%s%s", reason, remedy ? " (" : "",
                 remedy ? remedy : "", remedy ? ")" : "");
}

const char *up_tlsremedy_of(const SSL *ssl, unsigned long code, char *buf,
                            apr_size_t size)
{
    int reason = ERR_GET_REASON(code);
    const char *text = ERR_reason_error_string(code);
    long verified = SSL_get_verify_result(ssl);

    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED
        && ERR_GET_LIB(code) == ERR_LIB_SSL) {
        put(buf, size, X509_verify_cert_error_string(verified),
            find(of_certificates, verified));
        return "tls_certificate_error";
    }
    if (ERR_GET_LIB(code) != ERR_LIB_SSL) {
        put(buf, size, text ? text : "OpenSSL gives no reason", NULL);
        return "tls_protocol_error";
    }
    put(buf, size, text ? text : "OpenSSL gives no reason",
        find(of_reasons, reason));
    return is_alert(reason) ? "tls_alert_received" : "tls_protocol_error";
}
