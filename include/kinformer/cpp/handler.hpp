/* cpp/handler.hpp: the functions of the program that the library calls. kinformer.hpp has the contract. */
#ifndef KINFORMER_CPP_HANDLER_HPP
#define KINFORMER_CPP_HANDLER_HPP

#include <kinformer/cpp/object.hpp>

#include <functional>
#include <mutex>
#include <new>
#include <vector>

namespace kinformer {

/* Gets an exception that left a function of the program, and the name of that function: "on_add". */
using exception_handler = std::function<void(const char *function, const std::exception &exception)>;

/* One change; the objects are borrowed for the call. */
struct event {
    object obj, old;
    bool is_in_initial_list, is_resync, final_state_unknown;
    ki_event_type type;

    explicit event(const ki_event &e) noexcept
        : obj(e.obj), old(e.old), is_in_initial_list(e.is_in_initial_list), is_resync(e.is_resync),
          final_state_unknown(e.final_state_unknown), type(e.type) {}
};

/* Functions that are called for changes, as those of ki_handler. Each may be empty, as there. An exception of the
 * filter skips the object. */
struct handler {
    std::function<void(const event &e)> on_add{}, on_update{}, on_delete{};
    std::function<void()> on_synced{}, on_changed{}, on_namespaces_synced{};
    std::function<bool(object obj)> filter{};
};

/* The values that an index function adds. */
class index_values {
public:
    explicit index_values(ki_index_values *values) noexcept : values_(values) {}
    void add(std::string_view value) {
        if (const ki_status status = ki_index_values_add(values_, detail::c_string(value).get()))
            throw error(status, ki_status_name(status));
    }

private:
    ki_index_values *values_;
};

using index_function = std::function<void(object obj, index_values &values)>;
/* Returns the object to store: obj.ref(), or one of ki_object_with_json. */
using transform_function = std::function<object_ref(object obj)>;

namespace detail {

/* What a factory and the functions of the program share. Guard: `mutex` for `kept`; the rest is constant. */
struct state {
    ki_factory *factory = nullptr;
    exception_handler on_exception;
    ki_log log;
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> kept; /* functions, until the factory is freed */

    state(exception_handler handler, const ki_log *of_factory)
        : on_exception(std::move(handler)),
          log(of_factory && of_factory->write ? *of_factory : ki_log{ ki_log_stderr, nullptr, KI_LOG_ERROR }) {}
    state(const state &) = delete;
    state &operator=(const state &) = delete;
    ~state() { ki_factory_free(factory); }

    void report(const char *function, const std::exception &exception) const {
        if (on_exception)
            return on_exception(function, exception);
        ki_error message = KI_ERROR_INIT;
        ki_error_set(&message, KI_ERR_INVALID, "exception in %s: %s", function, exception.what());
        log.write(KI_LOG_ERROR, "program", message.message, log.user);
    }
};

struct close_state {
    void operator()(state *closed) const noexcept {
        if (ki_factory_shutdown(closed->factory, nullptr) != KI_ERR_DEADLOCK)
            delete closed;
    }
};

/* Fills `err` with the exception that is being handled. */
inline ki_status current_error(ki_error *err) noexcept {
    try {
        throw;
    } catch (const error &e) {
        if (e.code() == KI_OK)
            return ki_error_set(err, KI_ERR_INVALID, "an error without a code");
        *err = e.get();
        return e.code();
    } catch (const std::bad_alloc &) {
        return ki_error_set(err, KI_ERR_NO_MEMORY, "no memory");
    } catch (const std::exception &e) {
        return ki_error_set(err, KI_ERR_INVALID, "%s", e.what());
    } catch (...) {
        return ki_error_set(err, KI_ERR_INVALID, "an exception that is no std::exception");
    }
}

/* A function of the program with what its calls need; `user` of the C library. */
template <class Function> struct kept {
    Function function;
    const state *of;

    /* Calls `code`, which calls the function. Reports an exception, and returns its status. */
    template <class Code> ki_status guarded(const char *name, const Code &code) const noexcept {
        ki_error err = KI_ERROR_INIT;
        return guarded(name, code, err);
    }
    template <class Code> ki_status guarded(const char *name, const Code &code, ki_error &err) const noexcept {
        try {
            code(function);
        } catch (const std::exception &e) {
            current_error(&err);
            of->report(name, e);
        } catch (...) {
            current_error(&err);
            of->report(name, error(err));
        }
        return err.code;
    }
    static const kept &of_user(void *user) noexcept { return *static_cast<const kept *>(user); }
};

/* Keeps a function until the factory is freed. */
template <class Function> kept<Function> *keep(state *of, Function function) {
    auto made = std::make_shared<kept<Function>>(kept<Function>{ std::move(function), of });
    const std::lock_guard<std::mutex> lock(of->mutex);
    of->kept.push_back(made);
    return made.get();
}

template <auto member> void on_event(const char *name, const ki_event *e, void *user) noexcept {
    kept<handler>::of_user(user).guarded(name, [e](const handler &h) { (h.*member)(event(*e)); });
}

/* The C functions of a handler; those that it does not have are NULL. */
inline ki_handler c_handler(const handler &h) noexcept {
    using box = kept<handler>;
    ki_handler made = {};
    if (h.on_add)
        made.on_add = [](const ki_event *e, void *user) noexcept { on_event<&handler::on_add>("on_add", e, user); };
    if (h.on_update)
        made.on_update = [](const ki_event *e, void *user) noexcept {
            on_event<&handler::on_update>("on_update", e, user);
        };
    if (h.on_delete)
        made.on_delete = [](const ki_event *e, void *user) noexcept {
            on_event<&handler::on_delete>("on_delete", e, user);
        };
    if (h.on_synced)
        made.on_synced = [](ki_informer *, void *user) noexcept {
            box::of_user(user).guarded("on_synced", [](const handler &called) { called.on_synced(); });
        };
    if (h.on_changed)
        made.on_changed = [](ki_informer *, void *user) noexcept {
            box::of_user(user).guarded("on_changed", [](const handler &called) { called.on_changed(); });
        };
    if (h.on_namespaces_synced)
        made.on_namespaces_synced = [](ki_informer *, void *user) noexcept {
            box::of_user(user).guarded("on_namespaces_synced",
                                       [](const handler &called) { called.on_namespaces_synced(); });
        };
    if (h.filter)
        made.filter = [](const ki_object *obj, void *user) noexcept {
            bool is_accepted = false;
            box::of_user(user).guarded("filter", [&](const handler &called) { is_accepted = called.filter(obj); });
            return is_accepted;
        };
    made.on_removed = [](void *user) noexcept { delete static_cast<box *>(user); };
    return made;
}

} // namespace detail

} // namespace kinformer

#endif
