#!/bin/sh
# Uses the installed packages as their users do; packaging/check runs it in a chroot. usage: use.sh command|library
set -eu
work=$(mktemp -d)
export KUBECONFIG="$work/kubeconfig"
kinformer serve --pods 20 --write-kubeconfig "$KUBECONFIG" >"$work/serve" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
tries=0
while [ ! -s "$KUBECONFIG" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || { cat "$work/serve"; exit 1; }
    sleep 0.1
done

case $1 in
    command)
        kinformer version
        kinformer get pods -A >"$work/pods"
        head -n 3 "$work/pods"
        test "$(wc -l <"$work/pods")" -gt 10
        test -s /usr/share/man/man1/kinformer.1.gz
        test -s /usr/share/bash-completion/completions/kinformer
        ;;
    library)
        documents=/usr/share/doc/libkinformer-dev
        cd "$documents"
        grep -rHoE --include='*.md' '\]\([^)#: ]+[)#]' . | sed 's/:](/ /; s/[)#]$//' | sort -u >"$work/links"
        grep -qx './README.md copyright' "$work/links"
        while read -r document link; do
            [ -e "${document%/*}/$link" ] || { echo "$document links to $link, which is not installed"; exit 1; }
        done <"$work/links"
        cp "$documents"/examples/count-up.c* "$work"
        gunzip -f "$work"/*.gz 2>/dev/null || true
        # shellcheck disable=SC2046
        cc -D_POSIX_C_SOURCE=200809L "$work/count-up.c" $(pkg-config --cflags --libs kinformer) -o "$work/count-up"
        "$work/count-up"
        printf '%s\n' '#include <kinformer-testing/server.h>' '#include <stdio.h>' \
            'int main(void) { ki_error err = KI_ERROR_INIT; ki_testing_server *server = 0;' \
            'if (ki_testing_server_new(0, &server, &err)) return 1;' \
            'printf("a server of its own: %s\n", ki_testing_server_url(server)); ki_testing_server_free(server); return 0; }' >"$work/test.c"
        # shellcheck disable=SC2046
        cc "$work/test.c" $(pkg-config --cflags --libs kinformer-testing) -o "$work/test"
        "$work/test"
        printf '%s\n' '#include <kinformer-status/server.h>' 'int main(void) { ki_error err = KI_ERROR_INIT; ki_factory *factory = 0;' \
            'ki_status_server *server = 0; if (ki_factory_new_default(0, &factory, &err) ||' \
            'ki_status_server_new(factory, &KI_STATUS_SERVER_OPTIONS(.address = "0"), &server, &err)) return 1;' \
            'ki_status_server_free(server); ki_factory_free(factory); return 0; }' >"$work/status.c"
        # shellcheck disable=SC2046
        cc "$work/status.c" $(pkg-config --cflags --libs kinformer-status) -o "$work/status"
        "$work/status"
        printf '%s\n' '#include <kinformer-controllers/workqueue.h>' '#include <kinformer/kinformer.h>' \
            'int main(void) { ki_error err = KI_ERROR_INIT; ki_factory *factory = 0; ki_workqueue *queue = 0; size_t size;' \
            'if (ki_factory_new_default(0, &factory, &err) || ki_workqueue_new(ki_factory_engine(factory), 0, &queue, &err)) return 1;' \
            'ki_workqueue_free(queue); ki_factory_free(factory); return 0; }' >"$work/queue.c"
        # shellcheck disable=SC2046
        cc "$work/queue.c" $(pkg-config --cflags --libs kinformer-controllers) -o "$work/queue"
        "$work/queue"
        for page in ki_factory_new ki_controller_new ki_status_server_new ki_testing_server_new; do
            test -s "/usr/share/man/man3/$page.3.gz"
            gunzip -c "/usr/share/man/man3/$page.3.gz" | sed -n '/^\.SH NAME/{n;s/^/manual page: /p;}'
        done
        ;;
esac
