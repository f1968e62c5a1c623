// count-by-node.cc: kinformer from C++17, with the same headers. The informer runs in the background; the program reads
// its cache by an index. Prints the number of pods on each node once the cache has synced, and ends.
#include <kinformer/kinformer.h>

#include <cstdio>
#include <memory>

namespace {

struct factory_free {
    void operator()(ki_factory *factory) const { ki_factory_free(factory); }
};
struct snapshot_free {
    void operator()(ki_snapshot *snapshot) const { ki_snapshot_free(snapshot); }
};

ki_status count_by_node(ki_error *err) {
    const ki_log log = { ki_log_stderr, nullptr, KI_LOG_INFO };
    ki_factory *made = nullptr;
    if (ki_status status = ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log), &made, err))
        return status;
    std::unique_ptr<ki_factory, factory_free> factory(made);

    ki_informer *pods = nullptr;
    if (ki_status status = ki_factory_informer(factory.get(), KI_PODS, nullptr, &pods, err))
        return status;

    const ki_indexer by_node = { "node", nullptr, nullptr, "spec.nodeName" };
    if (ki_status status = ki_informer_add_indexers(pods, &by_node, 1, err))
        return status;
    if (ki_status status = ki_factory_start(factory.get(), err))
        return status;
    if (ki_status status = ki_factory_wait_for_sync(factory.get(), 30000, NULL, err))
        return status;

    std::unique_ptr<ki_snapshot, snapshot_free> now(ki_informer_snapshot(pods));
    ki_cursor cursor = KI_CURSOR_INIT;
    while (const char *node = ki_snapshot_next_index_value(now.get(), "node", &cursor))
        std::printf("%s: %zu pods\n", node, ki_snapshot_count_by_index(now.get(), "node", node));
    return KI_OK;
}

} // namespace

int main() {
    ki_error err = KI_ERROR_INIT;
    if (count_by_node(&err) == KI_OK)
        return 0;
    std::fprintf(stderr, "count-by-node: %s\n", ki_error_message(&err));
    return 1;
}
