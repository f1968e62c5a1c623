/* test_kinformer_hpp.cc: kinformer.hpp against an API server in the process: who owns what, what a moved-from owner
 * does, where exceptions go, when lambdas are destroyed, and what the ranges give. In C++17 and in C++20. */
#include <kinformer-controllers/controller.hpp>
#include <kinformer-testing/server.h>
#include <kinformer/kinformer.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#if __cplusplus >= 202002L
#include <ranges>
#include <span>
#endif

/* After kinformer.hpp, as kinformer-testing/server.h is before. */
#include <kinformer-status/server.h>

/* Its macros have common names. */
#include "tests/support/test.h"

using namespace std::chrono_literals;
using kinformer::object;

namespace {

struct container {
    const char *name;
    ki_string_list args;
    KI_VIEW(KI_FIELD(container, name, "name"), KI_FIELD(container, args, "args"))
};
struct pod {
    const char *node;
    ki_string_map labels;
    kinformer::list<container> containers;
    KI_VIEW(KI_FIELD(pod, node, "spec.nodeName"), KI_FIELD(pod, labels, "metadata.labels"),
            KI_FIELD(pod, containers, "spec.containers"))
};

/* A server with the pods a-0, a-1 and a-2 on the nodes n0, n1 and n0, and a factory. */
struct stage {
    explicit stage(kinformer::exception_handler on_exception = {}, const ki_log *log = nullptr)
        : server(kinformer::make(ki_testing_server_new, nullptr)),
          factory(kinformer::make(ki_config_new, &KI_CONFIG_OPTIONS(.server = ki_testing_server_url(server.get()))),
                  KI_FACTORY_OPTIONS(.log = log), std::move(on_exception)) {
        for (int i = 0; i < 3; i++)
            put(i, i % 2);
    }
    void put(int number, int node) {
        char json[512];
        std::snprintf(
            json, sizeof json,
            R"({"metadata":{"name":"a-%d","namespace":"shop","labels":{"app":"a","n":"%d"}},"spec":{"nodeName":"n%d",)"
            R"("containers":[{"name":"main","args":["-v","%d"],"ports":[{"port":80}]},{"name":"side"}]}})",
            number, number, node, number);
        kinformer::call(ki_testing_server_put, server.get(), KI_PODS, json, std::strlen(json));
    }
    void remove(const char *name) { kinformer::call(ki_testing_server_delete, server.get(), KI_PODS, "shop", name); }
    kinformer::informer synced_pods() {
        const kinformer::informer pods = factory.informer<pod>(KI_PODS);
        pods.add_index("node", "spec.nodeName");
        factory.start();
        factory.wait_for_sync(60s);
        return pods;
    }

    kinformer::owner<ki_testing_server> server;
    kinformer::factory factory;
};

/* Returns the code of the error that a function throws; KI_OK if it returns. */
template <class Function> ki_status code_of(Function function) {
    try {
        function();
        return KI_OK;
    } catch (const kinformer::error &e) {
        return e.code();
    }
}

/* Counts, for a thread that waits for a number. */
class counter {
public:
    void add() {
        const std::lock_guard lock(mutex);
        count++;
        changed.notify_all();
    }
    void wait_for(int number) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this, number] { return count >= number; });
    }
    int get() {
        const std::lock_guard lock(mutex);
        return count;
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    int count = 0;
};

} // namespace

/* ---- owners and errors ---- */

TEST(an_owner_can_be_moved_and_frees_once) {
    static_assert(!std::is_copy_constructible_v<kinformer::factory> && !std::is_copy_assignable_v<kinformer::factory>);
    static_assert(!std::is_copy_constructible_v<kinformer::snapshot> &&
                  !std::is_copy_constructible_v<kinformer::value>);
    static_assert(!std::is_copy_constructible_v<kinformer::object_ref> &&
                  !std::is_copy_constructible_v<kinformer::controller>);
    static_assert(!std::is_copy_constructible_v<kinformer::object_list>);
    static_assert(std::is_nothrow_move_constructible_v<kinformer::factory> &&
                  std::is_nothrow_move_assignable_v<kinformer::factory>);
    static_assert(std::is_nothrow_move_constructible_v<kinformer::object_ref>);
    static_assert(std::is_nothrow_copy_constructible_v<kinformer::error>);

    kinformer::owner<ki_engine> engine = kinformer::make(ki_engine_new, &KI_ENGINE_OPTIONS(.seed = 1));
    kinformer::owner<ki_engine> moved = std::move(engine);
    assert_null(engine.get());
    assert_non_null(moved.get());

    stage s;
    const kinformer::informer pods = s.synced_pods();
    kinformer::object_ref obj = pods.find("shop/a-1"), other = pods.find("shop/a-2");
    kinformer::object_ref first = std::move(obj);
    assert_false(static_cast<bool>(obj));
    assert_true(first.key() == "shop/a-1");
    first = std::move(other);
    assert_true(first.key() == "shop/a-2");
    first = kinformer::object_ref();
    assert_false(static_cast<bool>(first));
    kinformer::value value = pods.find("shop/a-1").field("metadata.name");
    kinformer::value taken = std::move(value);
    assert_false(static_cast<bool>(value));
    assert_true(taken.text() == "a-1");
    kinformer::snapshot now = pods.snapshot(), later = pods.snapshot();
    now = std::move(later);
    assert_int_equal(now.size(), 3);
    kinformer::object_list all = pods.list(), none = std::move(all);
    assert_int_equal(none.size(), 3);
    assert_int_equal(all.size(), 0);
}

TEST(a_factory_can_be_assigned_and_frees_the_one_before) {
    stage a, b;
    auto held = std::make_shared<int>(1);
    kinformer::handler handler;
    handler.on_add = [held](const kinformer::event &) {};
    a.synced_pods().add_handler(handler);
    handler = {};
    assert_int_equal(held.use_count(), 2);
    a.factory = std::move(b.factory);
    assert_int_equal(held.use_count(), 1);
    assert_int_equal(a.synced_pods().snapshot().size(), 3);
}

TEST(an_object_outlives_its_factory) {
    kinformer::object_ref kept;
    std::optional<kinformer::snapshot> now;
    {
        stage s;
        const kinformer::informer pods = s.synced_pods();
        now.emplace(pods.snapshot());
        kept = now->find("shop/a-0").ref();
    }
    assert_true(kept.name() == "a-0");
    assert_int_equal(now->size(), 3);
}

TEST(an_error_has_code_category_status_and_message) {
    stage s;
    try {
        const auto never = kinformer::make(ki_client_get, s.factory.client(), KI_PODS, "shop", "nothing", nullptr);
        fail();
    } catch (const kinformer::error &e) {
        assert_int_equal(e.code(), KI_ERR_HTTP);
        assert_int_equal(e.category(), KI_CATEGORY_REQUEST);
        assert_int_equal(e.http_status(), 404);
        assert_true(e.is(ki_error_is_not_found));
        assert_string_equal(e.get().reason, "NotFound");
        assert_non_null(std::strstr(e.what(), "nothing"));
    }
    assert_int_equal(code_of([] { throw kinformer::error(KI_ERR_LIMIT, "100 % full"); }), KI_ERR_LIMIT);
    assert_int_equal(code_of([] { (void)kinformer::make(ki_selector_new, "a in", nullptr); }), KI_ERR_PARSE);
    const kinformer::object_ref pod =
        kinformer::make(ki_client_get, s.factory.client(), KI_PODS, "shop", "a-1", nullptr);
    assert_true(pod.key() == "shop/a-1");
}

ki_status fail_without_words(ki_error *) {
    return KI_ERR_CLOSED;
}

TEST(a_status_without_an_error_is_an_error) {
    try {
        kinformer::call(fail_without_words);
        fail();
    } catch (const kinformer::error &e) {
        assert_int_equal(e.code(), KI_ERR_CLOSED);
        assert_int_equal(e.category(), KI_CATEGORY_REQUEST);
        assert_string_equal(e.what(), "closed");
    }
    assert_int_equal(code_of([] { kinformer::detail::find(fail_without_words); }), KI_ERR_CLOSED);
}

TEST(servers_of_the_other_libraries_have_owners) {
    stage s;
    const kinformer::owner<ki_status_server> status =
        kinformer::make(ki_status_server_new, s.factory.get(), &KI_STATUS_SERVER_OPTIONS(.address = ":0"));
    assert_non_null(std::strstr(ki_status_server_url(status.get()), "http://127.0.0.1:"));
    const kinformer::owner<ki_testing_server> server = kinformer::make(ki_testing_server_new, nullptr);
    assert_non_null(std::strstr(ki_testing_server_url(server.get()), "http://127.0.0.1:"));
}

TEST(a_factory_that_cannot_be_made_throws) {
    assert_int_equal(
        code_of([] {
            const auto config = kinformer::make(ki_config_new, &KI_CONFIG_OPTIONS(.server = "http://127.0.0.1:1"));
            const auto engine = kinformer::make(ki_engine_new, nullptr);
            const ki_log log = { ki_log_stderr, nullptr, KI_LOG_INFO };
            const kinformer::factory factory(config, KI_FACTORY_OPTIONS(.engine = engine.get(), .log = &log));
        }),
        KI_ERR_INVALID);
}

/* ---- texts ---- */

TEST(a_text_need_not_end_with_a_zero_and_must_not_have_one) {
    stage s;
    const kinformer::informer pods = s.synced_pods();
    const std::string text = "shop/a-1/more";
    assert_true(pods.find(std::string_view(text).substr(0, 8)).name() == "a-1");
    assert_false(static_cast<bool>(pods.find(text)));
    assert_false(static_cast<bool>(pods.find(std::string_view())));
    assert_false(static_cast<bool>(pods.find(std::string(4000, 'x'))));
    for (const std::size_t size : { 254u, 255u, 256u, 257u }) /* where the copy leaves the stack */
        assert_int_equal(pods.snapshot().find("shop/" + std::string(size - 5, 'x')).get() != nullptr, 0);
    assert_int_equal(code_of([&] { (void)pods.find(std::string_view("shop/a-1\0x", 10)); }), KI_ERR_INVALID);
    assert_int_equal(code_of([&] { (void)pods.snapshot().find(std::string_view("\0", 1)); }), KI_ERR_INVALID);
}

/* ---- ranges ---- */

TEST(range_for_goes_over_snapshots_indexes_and_lists) {
    stage s;
    const kinformer::informer pods = s.synced_pods();
    const kinformer::snapshot now = pods.snapshot();
    std::size_t count = 0;
    for (object obj : now)
        count += obj.namespace_name() == "shop";
    assert_int_equal(count, 3);
    assert_int_equal(std::count_if(now.begin(), now.end(), [](object obj) { return obj.view<pod>().node[1] == '0'; }),
                     2);

    std::string names;
    for (object obj : now.by_index("node", "n0"))
        names += obj.name();
    assert_true(names == "a-0a-2" || names == "a-2a-0");
    assert_int_equal(now.by_index("node", "n0").size(), 2);
    for (object obj : now.by_index("node", "none"))
        fail_msg("%s is on no node", std::string(obj.key()).c_str());

    std::vector<std::string> nodes;
    for (std::string_view node : now.index_values("node"))
        nodes.emplace_back(node);
    std::sort(nodes.begin(), nodes.end());
    assert_true((nodes == std::vector<std::string>{ "n0", "n1" }));
    assert_int_equal(code_of([&] { (void)now.by_index("no", "n0"); }), KI_ERR_INVALID);
    assert_int_equal(code_of([&] { (void)now.index_values("no"); }), KI_ERR_INVALID);

    count = 0;
    for (object obj : pods.list("shop", "n in (0, 2)", "spec.nodeName=n0"))
        count += obj.label("app") == "a";
    assert_int_equal(count, 2);
    assert_int_equal(pods.list("elsewhere").size(), 0);
    assert_true(pods.list("", "n=1")[0].name() == "a-1");
    assert_int_equal(code_of([&] { (void)pods.list("", "n in"); }), KI_ERR_PARSE);
    assert_true(pods.find_by_index("node", "n1").name() == "a-1");
    assert_false(static_cast<bool>(pods.find_by_index("node", "n9")));
    assert_int_equal(code_of([&] { (void)pods.find_by_index("no", "n1"); }), KI_ERR_INVALID);
#if __cplusplus >= 202002L
    static_assert(std::input_iterator<kinformer::snapshot::iterator> &&
                  std::ranges::input_range<const kinformer::snapshot>);
    static_assert(std::ranges::input_range<const kinformer::snapshot::matches> &&
                  std::ranges::input_range<kinformer::value>);
    static_assert(std::ranges::input_range<kinformer::object_list>);
    assert_int_equal(std::ranges::count_if(now, [](object obj) { return obj.view<pod>().node[1] == '1'; }), 1);
    const std::span<const container> containers = now.find("shop/a-0").view<pod>().containers;
    assert_int_equal(containers.size(), 2);
#endif
}

TEST(range_for_goes_over_the_members_of_a_value) {
    stage s;
    const kinformer::object_ref obj = s.synced_pods().find("shop/a-1");
    std::string seen;
    for (const auto &[index, one] : obj.field("spec.containers")) {
        assert_true(index.empty());
        for (const auto &[name, value] : one) {
            seen += std::string(name) + "=" + std::string(value.type() == KI_VALUE_STRING ? value.text() : "…") + ";";
            for (const auto &[number, element] : value)
                seen += number.empty() && element.type() == KI_VALUE_STRING ? std::string(element.text()) + "," : ".";
        }
    }
    assert_string_equal(seen.c_str(), "name=main;args=…;-v,1,ports=…;.name=side;");
    for (const auto &member : obj.field("metadata.name"))
        fail_msg("a string has no member %s", std::string(member.name).c_str());
    for (const auto &member : kinformer::value())
        fail_msg("nothing has no member %s", std::string(member.name).c_str());

    assert_int_equal(obj.field("spec.containers[0].ports[0].port").to_int(), 80);
    assert_int_equal(obj.field("spec.nothing").to_int(7), 7);
    assert_true(obj.field("spec.containers[0].ports[0].port").to_double() == 80.0);
    assert_true(obj.field("spec.nodeName").to_double(0.5) == 0.5);
    assert_true(obj.field("spec.nodeName").to_bool(true));
    assert_false(static_cast<bool>(obj.field("spec.nothing")));
    assert_int_equal(code_of([&] { (void)obj.field("spec["); }), KI_ERR_PARSE);
    assert_non_null(std::strstr(obj.json().c_str(), "\"nodeName\":\"n1\""));
    assert_false(obj.label("no").has_value());
    assert_true(obj.label("n").value() == "1");
}

TEST(a_view_has_its_lists_and_maps) {
    stage s;
    const kinformer::object_ref obj = s.synced_pods().find("shop/a-2");
    const pod &p = obj.view<pod>();
    assert_string_equal(p.node, "n0");
    std::string seen;
    for (const container &c : p.containers) {
        seen += c.name;
        for (const char *arg : c.args)
            seen += arg;
    }
    for (const auto &[name, value] : p.labels)
        seen += std::string(name) + "=" + value;
    assert_string_equal(seen.c_str(), "main-v2sideapp=an=2");
    assert_int_equal(p.containers.size(), 2);
    assert_string_equal(p.containers[1].name, "side");
    const kinformer::object_ref other(
        kinformer::make(ki_client_get, s.factory.client(), KI_PODS, "shop", "a-1", nullptr));
    assert_int_equal(code_of([&] { (void)other.view<pod>(); }), KI_ERR_STATE); /* of no informer */
}

/* ---- handlers ---- */

TEST(lambdas_get_each_change_and_are_destroyed_after_the_last_call) {
    counter calls, destroyed;
    std::shared_ptr<void> held(&destroyed, [](void *counts) { static_cast<counter *>(counts)->add(); });
    stage s;
    const kinformer::informer pods = s.factory.informer<pod>(KI_PODS);
    std::mutex guard;
    std::string seen;
    const auto note = [&](char what, const kinformer::event &e) {
        const std::lock_guard lock(guard);
        seen += what + std::string(e.obj.name()) + (e.old ? e.old.view<pod>().node : "");
    };
    kinformer::handler handler;
    handler.on_add = [&, held](const kinformer::event &e) { note('+', e), calls.add(); };
    handler.on_update = [&, held](const kinformer::event &e) { note('~', e), calls.add(); };
    handler.on_delete = [&, held](const kinformer::event &e) { note('-', e), calls.add(); };
    handler.on_synced = [&, held] { calls.add(); };
    handler.filter = [](object obj) { return obj.name() != "a-0"; };
    const ki_registration registration = pods.add_handler(std::move(handler), KI_REGISTRATION_OPTIONS(.name = "test"));
    handler = {};
    s.factory.start();
    calls.wait_for(3);
    s.put(1, 2);
    calls.wait_for(4);
    s.remove("a-2");
    calls.wait_for(5);
    {
        const std::lock_guard lock(guard);
        assert_true(seen == "+a-1+a-2~a-1n1-a-2" || seen == "+a-2+a-1~a-1n1-a-2");
    }
    held.reset();
    assert_int_equal(destroyed.get(), 0);
    kinformer::call(ki_informer_remove_handler, pods.get(), registration);
    destroyed.wait_for(1); /* with the factory still running */
}

TEST(on_changed_comes_after_the_lists_and_the_changes) {
    counter calls;
    std::atomic<std::size_t> last{ 0 };
    stage s;
    const kinformer::informer pods = s.factory.informer(KI_PODS);
    kinformer::handler handler;
    handler.on_changed = [&, pods] { last = pods.snapshot().size(), calls.add(); };
    pods.add_handler(handler);
    s.factory.start();
    calls.wait_for(1);
    assert_int_equal(last, 3);
    s.remove("a-0");
    calls.wait_for(2);
    assert_int_equal(last, 2);
}

TEST(a_handler_that_cannot_be_added_is_destroyed) {
    stage s;
    const kinformer::informer pods = s.synced_pods();
    s.factory.shutdown();
    auto held = std::make_shared<int>(1);
    kinformer::handler handler;
    handler.on_add = [held](const kinformer::event &) {};
    assert_int_equal(code_of([&] { pods.add_handler(std::move(handler)); }), KI_ERR_STATE);
    handler = {};
    assert_int_equal(held.use_count(), 1);
}

TEST(an_exception_of_a_handler_is_reported_and_the_handler_stays) {
    std::mutex guard;
    std::vector<std::string> reports;
    counter calls, changes;
    stage s([&](const char *function, const std::exception &e) {
        const std::lock_guard lock(guard);
        reports.push_back(std::string(function) + ": " + e.what());
    });
    const kinformer::informer pods = s.factory.informer(KI_PODS);
    kinformer::handler handler;
    handler.on_add = [&](const kinformer::event &e) {
        calls.add();
        if (e.obj.name() == "a-0")
            throw 5;
        throw std::runtime_error("no " + std::string(e.obj.name()));
    };
    handler.on_update = [&](const kinformer::event &) { calls.add(), throw kinformer::error(KI_ERR_LIMIT, "full"); };
    handler.on_delete = [&](const kinformer::event &) { calls.add(), throw std::bad_alloc(); };
    handler.on_synced = [&] { calls.add(), throw std::logic_error("synced"); };
    handler.on_changed = [&] { changes.add(), throw std::logic_error("changed"); };
    handler.filter = [](object obj) { return obj.name() == "a-1" ? throw std::logic_error("filter") : true; };
    pods.add_handler(handler);
    s.factory.start();
    calls.wait_for(3);
    s.put(2, 7);
    calls.wait_for(4);
    s.remove("a-2");
    calls.wait_for(5);
    changes.wait_for(1);
    s.factory.shutdown();
    for (const char *expected : { "on_add: an exception that is no std::exception", "on_add: no a-2", "on_update: full",
                                  "on_delete: ", "on_synced: synced", "on_changed: changed", "filter: filter" })
        assert_true(std::any_of(reports.begin(), reports.end(),
                                [&](const std::string &line) { return line.find(expected) == 0; }));
    for (const std::string &line : reports)
        assert_true(line.find("a-1") == std::string::npos);
}

TEST(without_an_exception_handler_the_log_has_the_exception) {
    static std::mutex guard;
    static std::string logged;
    const ki_log log = { [](ki_log_level level, const char *component, const char *message, void *) noexcept {
                            const std::lock_guard lock(guard);
                            if (level == KI_LOG_ERROR)
                                logged += std::string(component) + "] " + message + "\n";
                        },
                         nullptr, KI_LOG_ERROR };
    counter calls;
    stage s({}, &log);
    kinformer::handler handler;
    handler.on_synced = [&] { calls.add(), throw std::runtime_error("100 % wrong"); };
    s.synced_pods().add_handler(handler);
    calls.wait_for(1);
    s.factory.shutdown();
    assert_string_equal(logged.c_str(), "program] exception in on_synced: 100 % wrong\n");
}

/* ---- other functions of the program ---- */

TEST(an_index_function_may_add_many_values_or_throw) {
    counter reports, watch_errors;
    stage s([&](const char *function, const std::exception &) {
        strcmp(function, "index function") ? (void)0 : reports.add();
    });
    const kinformer::informer pods = s.factory.informer(KI_PODS);
    pods.on_watch_error([&](const ki_error &cause, std::string_view key) {
        if (cause.code == KI_ERR_LIMIT && key == "shop/a-2")
            watch_errors.add();
        throw std::runtime_error("reported, too");
    });
    auto held = std::make_shared<int>(1);
    pods.add_index("letters", [held](object obj, kinformer::index_values &values) {
        if (obj.name() == "a-2")
            throw kinformer::error(KI_ERR_LIMIT, "no");
        for (std::size_t i = 0; i < obj.name().size(); i++)
            values.add(obj.name().substr(i, 1));
    });
    s.factory.start();
    s.factory.wait_for_sync(60s);
    assert_int_equal(pods.snapshot().size(), 3);
    const kinformer::snapshot now = pods.snapshot();
    assert_int_equal(now.by_index("letters", "a").size(), 2);
    assert_int_equal(now.by_index("letters", "1").size(), 1);
    assert_int_equal(now.by_index("letters", "2").size(), 0);
    assert_true(reports.get() >= 1);
    watch_errors.wait_for(1);
    assert_int_equal(held.use_count(), 2);
    assert_int_equal(code_of([&] { pods.add_index("letters", [](object, kinformer::index_values &) {}); }),
                     KI_ERR_EXISTS);
    { const kinformer::factory gone = std::move(s.factory); }
    assert_int_equal(held.use_count(), 1);
}

TEST(a_transform_changes_objects_or_throws) {
    counter reports;
    stage s([&](const char *, const std::exception &) { reports.add(); });
    const kinformer::informer pods = s.factory.informer<pod>(KI_PODS);
    pods.set_transform([](object obj) {
        if (obj.name() == "a-0")
            return obj.ref();
        if (obj.name() == "a-1")
            throw std::runtime_error("no a-1");
        const std::string_view json = R"({"metadata":{"name":"a-2"},"spec":{"nodeName":"other"}})";
        return kinformer::make(ki_object_with_json, obj.get(), json.data(), json.size());
    });
    s.factory.start();
    s.factory.wait_for_sync(60s);
    assert_string_equal(pods.find("shop/a-0").view<pod>().node, "n0");
    assert_string_equal(pods.find("shop/a-2").view<pod>().node, "other");
    assert_false(static_cast<bool>(pods.find("shop/a-1")));
    assert_true(reports.get() >= 1);
    ki_health health;
    ki_informer_health(pods.get(), &health);
    assert_string_equal(health.unreadable_message, "shop/a-1: transform of shop/a-1: no a-1");
}

TEST(the_state_handler_gets_the_health) {
    counter watching;
    stage s;
    const kinformer::informer pods = s.factory.informer(KI_PODS);
    pods.on_state([&](const ki_health &health) { health.state == KI_STATE_WATCHING ? watching.add() : (void)0; });
    s.factory.start();
    watching.wait_for(1);
}

/* ---- waiting ---- */

TEST(waits_end_with_a_condition_an_exception_or_a_timeout) {
    stage s;
    const kinformer::informer pods = s.synced_pods();
    int calls = 0;
    bool saw_end = false;
    pods.wait_until([&](const kinformer::event *e) {
        calls++;
        saw_end = saw_end || !e;
        return !e;
    });
    assert_int_equal(calls, 4);
    assert_true(saw_end);
    try {
        pods.wait_until([](const kinformer::event *e) -> bool { throw std::out_of_range(std::string(e->obj.key())); },
                        60s);
        fail();
    } catch (const std::out_of_range &e) {
        assert_non_null(std::strstr(e.what(), "shop/a-"));
    }
    assert_int_equal(code_of([&] { pods.wait_until([](const kinformer::event *) { return false; }, 1ms); }),
                     KI_ERR_TIMEOUT);
    const std::string version(pods.find("shop/a-1").resource_version());
    pods.wait_for_version("shop/a-1", version, 1min);
    assert_int_equal(code_of([&] { pods.wait_for_version("shop/a-1", "99999999", 0ms); }), KI_ERR_TIMEOUT);
    pods.wait_for_deletion("shop/a-1", "another", 1min);
    assert_int_equal(code_of([&] { pods.wait_for_deletion("shop/a-1", "", 0ms); }), KI_ERR_TIMEOUT);
    assert_true(pods.get_or_fetch("shop/a-1", 60s).name() == "a-1");
    assert_false(static_cast<bool>(pods.get_or_fetch("shop/none", 60s)));
    pods.wait_for_sync();
    assert_non_null(std::strstr(s.factory.metrics_text().c_str(), "# EOF"));
}

/* ---- controllers ---- */

TEST(a_reconciler_that_throws_is_called_again) {
    std::mutex guard;
    std::map<std::string, int> tries;
    counter done;
    stage s([](const char *, const std::exception &) {
        std::terminate(); /* a reconciler's exception is its error */
    });
    const kinformer::controller controller(s.factory, KI_CONTROLLER_OPTIONS(.name = "test", .workers = 2),
                                           [&](kinformer::reconcile_call &call, std::string_view key) {
                                               int number = 0;
                                               {
                                                   const std::lock_guard lock(guard);
                                                   number = ++tries[std::string(key)];
                                               }
                                               if (number == 1 && key == "shop/a-0")
                                                   throw kinformer::error(KI_ERR_LIMIT, "again");
                                               if (number == 1 && key == "shop/a-1")
                                                   throw "a text";
                                               if (number == 1)
                                                   return call.requeue_after(1ms);
                                               if (number == 2 && key == "shop/a-1")
                                                   throw kinformer::error(ki_error KI_ERROR_INIT);
                                               if (number == 2 && key == "shop/a-0")
                                                   return call.requeue();
                                               if (!call.is_cancelled())
                                                   done.add();
                                           });
    const kinformer::informer pods = controller.watch_for<pod>(KI_PODS);
    assert_non_null(controller.watch_owned(KI_REPLICASETS).get());
    const kinformer::informer nodes = s.factory.informer(KI_NODES);
    controller.watch(
        nodes, [](object obj, kinformer::reconcile_keys &keys) { keys.add("shop/of-" + std::string(obj.name())); });
    s.factory.start();
    done.wait_for(3);
    assert_string_equal(pods.find("shop/a-1").view<pod>().node, "n1");
    const char node[] = R"({"metadata":{"name":"n0"}})";
    kinformer::call(ki_testing_server_put, s.server.get(), KI_NODES, node, sizeof node - 1);
    done.wait_for(4);
    assert_int_equal(tries["shop/a-0"], 3);
    assert_int_equal(tries["shop/a-1"], 3);
    assert_int_equal(tries["shop/a-2"], 2);
    assert_int_equal(tries["shop/of-n0"], 2);
    assert_int_equal(
        code_of([&] { const kinformer::controller same(s.factory, KI_CONTROLLER_OPTIONS(.name = "test"), {}); }),
        KI_ERR_EXISTS);
}

TEST(a_predicate_decides_which_events_are_processed) {
    std::mutex guard;
    std::map<std::string, int> seen;
    counter done, thrown;
    stage s([&](const char *function, const std::exception &) {
        if (function == std::string_view("predicate"))
            thrown.add();
    });
    const kinformer::controller controller(s.factory, KI_CONTROLLER_OPTIONS(.name = "test"),
                                           [&](kinformer::reconcile_call &, std::string_view key) {
                                               {
                                                   const std::lock_guard lock(guard);
                                                   seen[std::string(key)]++;
                                               }
                                               done.add();
                                           });
    (void)controller.watch_for(KI_PODS, [](const kinformer::event &e) {
        if (e.obj.name() == "a-2")
            throw std::runtime_error("a predicate that fails");
        return e.obj.name() != "a-0" && kinformer::generation_changed(e);
    });
    (void)controller.watch_owned(KI_REPLICASETS, kinformer::generation_changed);
    s.factory.start();
    done.wait_for(2);
    thrown.wait_for(1);
    const std::lock_guard lock(guard);
    assert_int_equal(seen.count("shop/a-0"), 0);
    assert_int_equal(seen["shop/a-1"], 1);
    assert_int_equal(seen["shop/a-2"], 1);
}

#if __cplusplus >= 202002L
TEST(a_handler_can_be_made_in_one_expression) {
    counter calls;
    stage s;
    s.synced_pods().add_handler({ .on_add = [&](const kinformer::event &) { calls.add(); } });
    calls.wait_for(3);
}
#endif
