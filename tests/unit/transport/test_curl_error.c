/* test_curl_error.c: what a libcurl result means: who has to act, and whether a watch that could not be opened is
 * one. */

#include "src/transport/curl_internal.h"
#include "tests/support/test.h"

#include <string.h>

static char server[] = "https://there", ca_file[] = "/pki/ca.pem", certificate_file[] = "/pki/me.pem",
            key_file[] = "/pki/me.key";
static ki_config config = { .server = { server, sizeof server - 1 } };

TEST(each_result_has_its_code_and_category) {
    static const struct {
        CURLcode result;
        const char *detail;
        ki_status code;
        ki_category category;
    } cases[] = {
        { CURLE_OUT_OF_MEMORY, "", KI_ERR_NO_MEMORY, KI_CATEGORY_FATAL },
#if LIBCURL_VERSION_NUM >= 0x080600
        { CURLE_TOO_LARGE, "Too many response headers, 5000 is max", KI_ERR_PROTOCOL, KI_CATEGORY_SERVER },
#endif
        { CURLE_COULDNT_RESOLVE_HOST, "", KI_ERR_CONNECT, KI_CATEGORY_RETRY },
        { CURLE_COULDNT_RESOLVE_PROXY, "", KI_ERR_CONNECT, KI_CATEGORY_RETRY },
        { CURLE_COULDNT_CONNECT, "refused", KI_ERR_CONNECT, KI_CATEGORY_RETRY },
        { CURLE_OPERATION_TIMEDOUT, "", KI_ERR_CONNECT,
          KI_CATEGORY_RETRY }, /* only connecting has a limit of libcurl's */
        { CURLE_PEER_FAILED_VERIFICATION, "", KI_ERR_TLS, KI_CATEGORY_REQUEST },
        { CURLE_SSL_CACERT_BADFILE, "", KI_ERR_TLS, KI_CATEGORY_REQUEST },
        { CURLE_SSL_CERTPROBLEM, "", KI_ERR_TLS, KI_CATEGORY_CREDENTIALS },
        { CURLE_SSL_CONNECT_ERROR, "tlsv13 alert certificate required", KI_ERR_TLS, KI_CATEGORY_CREDENTIALS },
        { CURLE_SSL_CONNECT_ERROR, "reset", KI_ERR_TLS, KI_CATEGORY_RETRY },
        { CURLE_SSL_CONNECT_ERROR, "OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to there:1 ", KI_ERR_CONNECT,
          KI_CATEGORY_RETRY },
        { CURLE_SSL_CONNECT_ERROR, "error:0A000126:SSL routines::unexpected eof while reading", KI_ERR_CONNECT,
          KI_CATEGORY_RETRY },
        { CURLE_SSL_CONNECT_ERROR, "error:0A00010B:SSL routines::wrong version number", KI_ERR_TLS, KI_CATEGORY_RETRY },
        { CURLE_SSL_CONNECT_ERROR, "error:0A00042E:SSL routines::tlsv1 alert protocol version", KI_ERR_TLS,
          KI_CATEGORY_RETRY },
        { CURLE_RECV_ERROR, "OpenSSL SSL_read: error:0A000412:SSL routines::sslv3 alert bad certificate, errno 0",
          KI_ERR_TLS, KI_CATEGORY_CREDENTIALS },
        { CURLE_SSL_CONNECT_ERROR, "Recv failure: Connection reset by peer", KI_ERR_CONNECT, KI_CATEGORY_RETRY },
        { CURLE_GOT_NOTHING, "", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
        { CURLE_PARTIAL_FILE, "", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
        { CURLE_RECV_ERROR, "", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
        { CURLE_HTTP2_STREAM, "", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
        { CURLE_HTTP2, "", KI_ERR_UNEXPECTED_EOF, KI_CATEGORY_RETRY },
        { CURLE_WEIRD_SERVER_REPLY, "", KI_ERR_PROTOCOL, KI_CATEGORY_SERVER },
        { CURLE_BAD_FUNCTION_ARGUMENT, "", KI_ERR_SYSTEM, KI_CATEGORY_RETRY },
    };
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_curl_error(easy, cases[i].result, cases[i].detail, &config, "", &err);
        if (err.code != cases[i].code || err.category != cases[i].category)
            fail_msg("%s: %s, category %d", curl_easy_strerror(cases[i].result), ki_error_message(&err), err.category);
        if (err.code == KI_ERR_CONNECT || err.code == KI_ERR_UNEXPECTED_EOF)
            assert_non_null(strstr(ki_error_message(&err), "https://there"));
    }
    curl_easy_cleanup(easy);
}

/* The connection of a stream that was reset goes on. */
TEST(a_failure_of_http2_is_named_as_one) {
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    ki_error err = KI_ERROR_INIT;
    ki_curl_error(easy, CURLE_HTTP2_STREAM, "HTTP/2 stream 1 was not closed cleanly: INTERNAL_ERROR (err 2)", &config,
                  "", &err);
    assert_string_equal(err.message, "https://there reset the stream: HTTP/2 stream 1 was not closed cleanly: "
                                     "INTERNAL_ERROR (err 2)");
    ki_curl_error(easy, CURLE_HTTP2, "nghttp2 shuts down connection with error 1: PROTOCOL_ERROR", &config, "", &err);
    assert_string_equal(err.message, "the HTTP/2 connection to https://there failed: nghttp2 shuts down connection "
                                     "with error 1: PROTOCOL_ERROR");
    curl_easy_cleanup(easy);
}

TEST(a_system_without_authorities_is_reported_as_one) {
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    ki_error err = KI_ERROR_INIT;
    ki_curl_error(easy, CURLE_SSL_CACERT_BADFILE, "error setting certificate file: /etc/ssl/certs/ca.crt", &config, "",
                  &err);
    assert_int_equal(err.category, KI_CATEGORY_REQUEST);
    assert_non_null(strstr(err.message, "https://there"));
    assert_non_null(strstr(err.message, "install ca-certificates"));
    ki_curl_error(easy, CURLE_SSL_CACERT_BADFILE, "error adding certificate blob", &config, "", &err);
    assert_non_null(strstr(err.message, "certificate-authority is not usable"));
    curl_easy_cleanup(easy);
}

TEST(what_libcurl_says_of_a_proxys_url_is_not_shown) {
    static const struct {
        const char *detail, *shown;
    } cases[] = {
        { "Could not resolve proxy: proxy.example.com", "Could not resolve proxy: proxy.example.com" },
        { "Unsupported proxy syntax in 'http://me:secret@[::::]'", "invalid proxy URL" },
        { "Unsupported proxy scheme for 'gopher://me:secret@there'", "invalid proxy URL" },
    };
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_curl_error(easy, CURLE_COULDNT_RESOLVE_PROXY, cases[i].detail, &config, "", &err);
        if (!strstr(err.message, cases[i].shown) || strstr(err.message, "secret"))
            fail_msg("%s: %s", cases[i].detail, err.message);
    }
    curl_easy_cleanup(easy);
}

TEST(what_is_wrong_with_a_file_names_field_file_and_remedy) {
    static const struct {
        CURLcode result;
        const char *detail, *with_files, *as_data;
    } cases[] = {
        { CURLE_SSL_CERTPROBLEM, "unable to set private key file: (memory blob)",
          "client-certificate (/pki/me.pem) or client-key (/pki/me.key) is not usable: client-key is not the key of "
          "client-certificate, or has a password; use a certificate and a key that were issued together",
          "client-certificate or client-key is not usable: client-key is not the key of client-certificate, or has a "
          "password; use a certificate and a key that were issued together" },
        { CURLE_SSL_CERTPROBLEM, "could not load PEM client certificate",
          "client-certificate (/pki/me.pem) or client-key (/pki/me.key) is not usable: could not load PEM client "
          "certificate",
          "client-certificate or client-key is not usable: could not load PEM client certificate" },
        { CURLE_SSL_CACERT_BADFILE, "bad",
          "certificate-authority (/pki/ca.pem) is not usable: bad; use the authority's certificate in PEM",
          "certificate-authority is not usable: bad; use the authority's certificate in PEM" },
        { CURLE_PEER_FAILED_VERIFICATION, "unable to get local issuer certificate",
          "the certificate of https://there is not trusted: unable to get local issuer certificate; check "
          "certificate-authority (/pki/ca.pem)",
          "the certificate of https://there is not trusted: unable to get local issuer certificate; set "
          "certificate-authority to the file of its authority" },
        { CURLE_SSL_CONNECT_ERROR, "tlsv13 alert certificate required",
          "TLS with https://there: tlsv13 alert certificate required; check client-certificate (/pki/me.pem)",
          "TLS with https://there: tlsv13 alert certificate required; check client-certificate" },
    };
    ki_config with_files = config;
    with_files.ca = with_files.ca_file = (ki_secret){ ca_file, sizeof ca_file - 1 };
    with_files.client_certificate_file = (ki_secret){ certificate_file, sizeof certificate_file - 1 };
    with_files.client_key_file = (ki_secret){ key_file, sizeof key_file - 1 };
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ki_error err = KI_ERROR_INIT;
        ki_curl_error(easy, cases[i].result, cases[i].detail, &with_files, "", &err);
        assert_string_equal(err.message, cases[i].with_files);
        err = (ki_error)KI_ERROR_INIT;
        ki_curl_error(easy, cases[i].result, cases[i].detail, &config, "", &err);
        assert_string_equal(err.message, cases[i].as_data);
    }
    curl_easy_cleanup(easy);
}
