// count-by-node.cc: kinformer from C++17. The informer runs in the background; the program reads its cache by an index.
// Prints the number of pods on each node once the cache has synced, and ends.
#include <kinformer/kinformer.hpp>

#include <iostream>

using namespace std::chrono_literals;

int main() {
    try {
        const ki_log log = { ki_log_stderr, nullptr, KI_LOG_INFO };
        const kinformer::factory factory(KI_FACTORY_OPTIONS(.log = &log));
        const kinformer::informer pods = factory.informer(KI_PODS);
        pods.add_index("node", "spec.nodeName");
        factory.start();
        factory.wait_for_sync(30s);

        const kinformer::snapshot now = pods.snapshot();
        for (std::string_view node : now.index_values("node"))
            std::cout << node << ": " << now.by_index("node", node).size() << " pods\n";
        return 0;
    } catch (const std::exception &e) {
        std::cerr << "count-by-node: " << e.what() << "\n";
        return 1;
    }
}
