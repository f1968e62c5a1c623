#!/bin/sh
# A program with other versions of the libraries than kinformer was built for. One that exports functions named yyjson_… of its own: the shared library
# binds to them. Another version is a clear error of the first use, and no crash. So is an old libcurl. One without HTTP/2 speaks HTTP/1.1, and one without TLS speaks http. With KI_TEST_YYJSON_SOURCE (a folder with yyjson.c and yyjson.h) also: a library that has a yyjson of its own does not meet the program's.
# usage: other_libraries.sh CMAKE GENERATOR BUILD CC [FLAGS...]
set -eu
cmake=$1 build=$3 compiler_alone=$4
export CMAKE_GENERATOR="$2"
shift 3
compiler=$*
work=$(mktemp -d "${TMPDIR:-/tmp}/ki-yyjson.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$(cd "$(dirname "$0")/../.." && pwd)
fail() { echo "$*"; exit 1; }

# Its yyjson has the version OWN_VERSION; whoever parses with it aborts.
cat >"$work/host.c" <<'EOF2'
#include <kinformer/kinformer.h>
#include <kinformer-testing/server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
EXPORTED uint32_t yyjson_version(void);
EXPORTED void *yyjson_read_opts(void);
EXPORTED void *yyjson_mut_doc_new(void);
uint32_t yyjson_version(void) { return OWN_VERSION; }
void *yyjson_read_opts(void) { abort(); }
void *yyjson_mut_doc_new(void) { abort(); }

int main(void) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_client *client = NULL;
    ki_status status = ki_config_new(&KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = "http://127.0.0.1:1"), &config, &err);
    if (!status)
        status = ki_factory_new(config, NULL, &factory, &err);
    ki_factory_free(factory);
    printf("factory: %s\n", status ? ki_error_message(&err) : "made");
    status = config ? ki_client_new(config, NULL, &client, &err) : KI_ERR_INVALID;
    ki_client_free(client);
    printf("client: %s\n", status ? ki_error_message(&err) : "made");
    ki_unstructured *object = ki_unstructured_new("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"}}");
    printf("object: %s\n", ki_unstructured_json(object, &err) ? "made" : ki_error_message(&err));
    ki_unstructured_free(object);
    ki_config_free(config);
#ifdef WITH_SERVER
    ki_testing_server *server = NULL;
    status = ki_testing_server_new(NULL, &server, &err);
    ki_testing_server_free(server);
    printf("server: %s\n", status ? ki_error_message(&err) : "made");
#endif
    return 0;
}
EOF2

# run NAME VERSION LIBRARIES: compiles and runs the host
run() {
    # shellcheck disable=SC2086
    $compiler -D_POSIX_C_SOURCE=200809L -DOWN_VERSION="$2" -I"$root/include" "$work/host.c" -rdynamic $3 -o "$work/$1"
    "$work/$1" >"$work/said" 2>&1 || { cat "$work/said"; fail "$1: status $?"; }
}
says() { grep -q "$1" "$work/said" || { cat "$work/said"; fail "it does not say: $1"; }; }

run other 0x00630200 "-L$build/lib -lkinformer -Wl,-rpath,$build/lib"
for what in factory client object; do
    says "$what: .*the process has yyjson 99.2.0, and kinformer was built for .*KI_YYJSON_SOURCE"
done

if ls "$build"/lib/libkinformer-testing.so >/dev/null 2>&1; then
    run server 0x00630200 "-DWITH_SERVER -L$build/lib -lkinformer-testing -lkinformer -Wl,-rpath,$build/lib"
    says "server: .*the process has yyjson 99.2.0, and kinformer was built for .*KI_YYJSON_SOURCE"
fi

# An old libcurl is an error of the first use, too.
cat >"$work/old_curl.c" <<'EOF2'
#include <curl/curl.h>
#include <kinformer/kinformer.h>
#include <stdio.h>

__attribute__((visibility("default"))) curl_version_info_data *curl_version_info(CURLversion stamp) {
    static curl_version_info_data old = { .version = "7.84.0", .version_num = 0x075400 };
    (void)stamp;
    return &old;
}

int main(void) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_client *client = NULL;
    if (!ki_config_new(&KI_CONFIG_OPTIONS(.no_kubeconfig = true, .server = "http://127.0.0.1:1"), &config, &err) &&
        ki_client_new(config, NULL, &client, &err) == KI_ERR_UNSUPPORTED)
        puts(ki_error_message(&err));
    ki_config_free(config);
    return 0;
}
EOF2
# shellcheck disable=SC2046
$compiler -D_POSIX_C_SOURCE=200809L -I"$root/include" "$work/old_curl.c" $(pkg-config --cflags libcurl) -rdynamic -L"$build/lib" -lkinformer \
    -Wl,-rpath,"$build/lib" -o "$work/old_curl"
"$work/old_curl" >"$work/said" 2>&1 || { cat "$work/said"; fail "old_curl: status $?"; }
says 'the process has libcurl 7.84.0: libcurl 7.88.1 or later is needed'

# A libcurl that was built without nghttp2: the option of the version refuses HTTP/2. MISSING is another option that it lacks. With PLAIN it
# was built without TLS, too: it rejects "https" and the options of TLS.
cat >"$work/plain_curl.c" <<'EOF2'
#include <curl/curl.h>
#include <dlfcn.h>
#include <kinformer-testing/access.h>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef curl_easy_setopt
#define EXPORTED __attribute__((visibility("default")))

EXPORTED curl_version_info_data *curl_version_info(CURLversion stamp) {
    static curl_version_info_data (*(*real)(CURLversion)), plain;
    *(void **)&real = dlsym(RTLD_NEXT, "curl_version_info");
    plain = *real(stamp);
    plain.features &= ~(CURL_VERSION_HTTP2 | (PLAIN ? CURL_VERSION_SSL : 0));
    return &plain;
}

EXPORTED CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    static CURLcode (*real)(CURL *, CURLoption, ...);
    *(void **)&real = dlsym(RTLD_NEXT, "curl_easy_setopt");
    va_list args;
    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    if (option == CURLOPT_HTTP_VERSION && (long)value >= CURL_HTTP_VERSION_2_0)
        return CURLE_UNSUPPORTED_PROTOCOL;
    if (PLAIN && option == CURLOPT_PROTOCOLS_STR && strstr(value, "https"))
        return CURLE_UNSUPPORTED_PROTOCOL;
    if (PLAIN && (option == CURLOPT_SSLVERSION || option == CURLOPT_CAPATH || option == CURLOPT_CAINFO_BLOB))
        return CURLE_NOT_BUILT_IN;
    return option == MISSING ? CURLE_UNKNOWN_OPTION : real(easy, option, value);
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = NULL;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    const ki_log log = { .write = ki_log_stderr };
    const char *path = argc > 1 ? argv[1] : "";
    const bool tls = argc > 2 && strcmp(argv[2], "https") == 0;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 3, .tls = tls), &server, &err) ||
        ki_testing_server_write_kubeconfig(server, path, &err) ||
        ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = path), &config, &err) ||
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.log = &log), &factory, &err) ||
        ki_factory_informer(factory, KI_PODS, NULL, &pods, &err) || ki_factory_start(factory, &err) ||
        (MISSING == 0 && ki_factory_wait_for_sync(factory, 60000, NULL, &err)))
        puts(ki_error_message(&err));
    ki_health health = { .state = KI_STATE_NOT_STARTED };
    while (MISSING && pods && health.state != KI_STATE_BLOCKED)
        ki_informer_health(pods, &health);
    if (!err.code)
        puts(MISSING ? health.message : "synced");
    ki_factory_free(factory);
    ki_config_free(config);
    ki_testing_server_free(server);
    return 0;
}
EOF2
system_authorities=/etc/ssl/certs/ca-certificates.crt # the environment's are not for http
try_plain() { # SCHEME EXPECTED DEFINES...: the server's URL is http or https
    scheme=$1 expected=$2
    shift 2
    # shellcheck disable=SC2046
    $compiler -D_GNU_SOURCE "$@" -I"$root/include" "$work/plain_curl.c" $(pkg-config --cflags libcurl) -rdynamic -L"$build/lib" \
        -lkinformer -lkinformer-testing -Wl,-rpath,"$build/lib" -o "$work/plain_curl"
    SSL_CERT_FILE=$system_authorities "$work/plain_curl" "$work/kubeconfig" "$scheme" >"$work/said" 2>&1 ||
        { cat "$work/said"; fail "plain_curl: status $?"; }
    says "$expected"
}
for missing in 0 CURLOPT_PATH_AS_IS; do
    expected='^synced$'
    [ "$missing" = 0 ] || expected="lacks the option $missing: "
    try_plain https "$expected" -DMISSING=$missing -DPLAIN=0
    count=$(grep -c 'is built without HTTP/2' "$work/said") || true
    [ "$count" = 1 ] || { cat "$work/said"; fail "it says $count times that there is no HTTP/2"; }
done
try_plain http '^synced$' -DMISSING=0 -DPLAIN=1
try_plain https '^https://.* needs TLS: this libcurl (.*) is built without TLS$' -DMISSING=0 -DPLAIN=1

[ -n "${KI_TEST_YYJSON_SOURCE:-}" ] || { echo "KI_TEST_YYJSON_SOURCE is not set: a yyjson in the library was not tried"; exit 0; }
compiler=$compiler_alone
"$cmake" -S "$root" -B "$work/build" -DCMAKE_C_COMPILER="$compiler_alone" -DCMAKE_C_FLAGS=-O0 -DCMAKE_INSTALL_LIBDIR=lib -DKI_COMMAND=OFF \
    -DKI_EXAMPLES=OFF -DKI_TESTS=OFF -DKI_YYJSON_SOURCE="$KI_TEST_YYJSON_SOURCE" >"$work/log" 2>&1 || { cat "$work/log"; fail "cmake"; }
"$cmake" --build "$work/build" --parallel "$(nproc)" >"$work/log" 2>&1 || { tail -30 "$work/log"; fail "the build"; }
"$cmake" --install "$work/build" --prefix "$work/usr" >/dev/null
for library in "$work/usr/lib"/libkinformer*.so; do
    if nm -D "$library" | grep yyjson; then fail "$library shows its yyjson"; fi
    if readelf -d "$library" | grep 'NEEDED.*yyjson'; then fail "$library needs libyyjson"; fi
done
for archive in "$work/usr/lib"/libkinformer*.a; do
    if nm "$archive" 2>/dev/null | grep -E '[ A-Z] (unsafe_)?yyjson_'; then fail "$archive shows its yyjson"; fi
done
if grep yyjson "$work/usr/lib/pkgconfig"/*.pc; then fail "a .pc file names yyjson"; fi
run shared 0x00630200 "-L$work/usr/lib -lkinformer -Wl,-rpath,$work/usr/lib"
for what in factory client object; do says "$what: made"; done
rm "$work/usr/lib"/libkinformer*.so*
run archive 0x00630200 "$(PKG_CONFIG_PATH=$work/usr/lib/pkgconfig pkg-config --static --libs kinformer)"
for what in factory client object; do says "$what: made"; done
run archives 0x00630200 "-DWITH_SERVER $(PKG_CONFIG_PATH=$work/usr/lib/pkgconfig pkg-config --static --libs kinformer-testing)"
for what in factory client object server; do says "$what: made"; done
