// router.cc: the routing table of a proxy, in C++17: the addresses that are ready for each Service, found by its key or
// by the host in its label router/host. Four threads answer lookups by UDP on 127.0.0.1 while the table changes.
//
//     $ ./router 8053 &
//     $ echo shop.example.com | nc -u -W 1 127.0.0.1 8053        10.0.3.4:8080; the next address at each lookup
//     $ echo metrics | nc -u -W 1 127.0.0.1 8053                 what the program counts
#include <kinformer-controllers/controller.hpp>
#include <kinformer/kinformer.hpp>

#include <arpa/inet.h>
#include <atomic>
#include <iostream>
#include <map>
#include <shared_mutex>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using kinformer::object;

namespace {
// ---- what the program reads of each object ----
struct port {
    const char *name;
    int number;
    KI_VIEW(KI_FIELD(port, name, "name"), KI_FIELD(port, number, "port"))
};
struct service {
    kinformer::list<port> ports;
    KI_VIEW(KI_FIELD(service, ports, "spec.ports"))
};
struct endpoint {
    ki_string_list addresses;
    bool ready, has_ready; // an endpoint without the condition is ready
    KI_VIEW(KI_FIELD(endpoint, addresses, "addresses"), KI_FIELD(endpoint, ready, "conditions.ready"),
            KI_FIELD_PRESENT(endpoint, has_ready, "conditions.ready"))
};
struct slice {
    kinformer::list<endpoint> endpoints;
    kinformer::list<port> ports;
    KI_VIEW(KI_FIELD(slice, endpoints, "endpoints"), KI_FIELD(slice, ports, "ports"))
};

bool is_same(const char *a, const char *b) { // names of ports; an only port has none
    return std::string_view(a ? a : "") == (b ? b : "");
}
std::string service_of(object slice) {
    const auto name = slice.label("kubernetes.io/service-name");
    return name ? std::string(slice.namespace_name()) + "/" + std::string(*name) : "";
}

// ---- the table ----
class router {
public:
    router() {
        slices.add_index("service", [](object obj, auto &values) { values.add(service_of(obj)); });
        controller.watch(slices, [](object obj, auto &keys) { keys.add(service_of(obj)); });
    }
    void run() { factory.run(); }
    // Answers a host, or the key of a Service, with the next ready address. On any thread.
    std::string answer(const std::string &name) {
        if (name == "metrics")
            return metrics();
        const std::size_t number = lookups++;
        const std::shared_lock lock(guard);
        const auto host = hosts.find(name);
        const auto found = routes.find(host == hosts.end() ? name : host->second);
        if (found == routes.end() || found->second.addresses.empty())
            return misses++, "none";
        return found->second.addresses[number % found->second.addresses.size()];
    }
    std::string metrics() {
        const std::shared_lock lock(guard);
        return "router_lookups_total " + std::to_string(lookups) + "\nrouter_misses_total " + std::to_string(misses) +
               "\nrouter_services " + std::to_string(routes.size()) + "\nrouter_hosts " + std::to_string(hosts.size());
    }

private:
    struct route {
        std::vector<std::string> addresses;
        std::string host;
    };
    // Called for each Service that changes, or whose slices do: after the first lists, and one at a time for each key.
    void update(const std::string &key) {
        route made;
        const kinformer::object_ref obj = services.find(key);
        if (obj) {
            made.host = obj.label("router/host").value_or("");
            const auto &ports = obj.view<service>().ports;
            const kinformer::snapshot now = slices.snapshot();
            for (object part : now.by_index("service", key))
                for (const port &target : part.view<slice>().ports)
                    if (ports.size() > 0 && is_same(target.name, ports[0].name))
                        for (const endpoint &e : part.view<slice>().endpoints)
                            if (e.ready || !e.has_ready)
                                for (const char *address : e.addresses)
                                    made.addresses.push_back(address + (":" + std::to_string(target.number)));
        }
        const std::lock_guard lock(guard);
        if (const auto old = hosts.find(routes[key].host); old != hosts.end() && old->second == key)
            hosts.erase(old);
        if (!made.host.empty())
            hosts[made.host] = key;
        routes[key] = std::move(made);
        if (!obj)
            routes.erase(key);
    }
    std::atomic<std::size_t> lookups = 0, misses = 0;
    std::shared_mutex guard;                  // of the next two
    std::map<std::string, route> routes;      // by the key of the Service
    std::map<std::string, std::string> hosts; // the key of the Service of a host
    const ki_log log = { ki_log_stderr, nullptr, KI_LOG_INFO };
    // The last members: they end, and with them the calls of update, before the others do.
    const kinformer::factory factory{ KI_FACTORY_OPTIONS(.log = &log) };
    const kinformer::controller controller{ factory, KI_CONTROLLER_OPTIONS(.name = "router", .workers = 2),
                                            [this](auto &, std::string_view key) { update(std::string(key)); } };
    const kinformer::informer services = controller.watch_for<service>(KI_SERVICES);
    const kinformer::informer slices = factory.informer<slice>(KI_ENDPOINTSLICES);
};

// ---- the threads that answer ----
class server {
public:
    server(router &of, std::uint16_t number) : routes(of), fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(number);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience = { 0, 100000 }; // after which a thread looks whether it must end
        socklen_t size = sizeof address;
        if (::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
            ::bind(fd, reinterpret_cast<sockaddr *>(&address), size) ||
            ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size))
            throw std::system_error(errno, std::generic_category(), "port " + std::to_string(number));
        std::cout << "answering on 127.0.0.1:" << ntohs(address.sin_port) << std::endl;
        for (std::thread &thread : threads)
            thread = std::thread([this] { serve(); });
    }
    ~server() {
        stopping = true;
        for (std::thread &thread : threads)
            thread.join();
        ::close(fd);
    }

private:
    void serve() {
        char question[512];
        sockaddr_storage from;
        for (socklen_t size = sizeof from; !stopping; size = sizeof from) {
            const auto to = reinterpret_cast<sockaddr *>(&from);
            const ssize_t got = ::recvfrom(fd, question, sizeof question, 0, to, &size);
            if (got <= 0)
                continue;
            const std::string_view line(question, static_cast<std::size_t>(got));
            const std::string answer = routes.answer(std::string(line.substr(0, line.find('\n')))) + "\n";
            (void)::sendto(fd, answer.data(), answer.size(), 0, to, size);
        }
    }
    router &routes;
    const int fd;
    std::atomic<bool> stopping = false;
    std::thread threads[4];
};
} // namespace

int main(int argc, char **argv) {
    try {
        kinformer::call(ki_block_signals); // for the threads of the server
        router routes;
        const server answers(routes, static_cast<std::uint16_t>(argc > 1 ? std::atoi(argv[1]) : 8053));
        routes.run(); // until SIGTERM
        std::cout << routes.metrics() << "\n";
        return 0;
    } catch (const std::exception &e) {
        std::cerr << "router: " << e.what() << "\n";
        return 1;
    }
}
