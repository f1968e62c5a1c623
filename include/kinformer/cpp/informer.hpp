/* cpp/informer.hpp: an informer. kinformer.hpp has the contract. */
#ifndef KINFORMER_CPP_INFORMER_HPP
#define KINFORMER_CPP_INFORMER_HPP

#include <kinformer/cpp/handler.hpp>
#include <kinformer/cpp/snapshot.hpp>

namespace kinformer {

/* An informer; borrowed from its factory. */
class informer {
public:
    informer(ki_informer *borrowed, detail::state *of) noexcept : informer_(borrowed), state_(of) {}
    ki_informer *get() const noexcept { return informer_; }

    /* Returns the cached object under `key`; empty if there is none. */
    object_ref find(std::string_view key) const {
        return object_ref(ki_informer_get(informer_, detail::c_string(key).get()));
    }
    /* Returns a cached object with `value` in `index`; empty if there is none. */
    object_ref find_by_index(std::string_view index, std::string_view value) const {
        ki_object *found = nullptr;
        detail::find(ki_informer_get_by_index, informer_, detail::c_string(index).get(), detail::c_string(value).get(),
                     &found);
        return object_ref(found);
    }
    kinformer::snapshot snapshot() const { return kinformer::snapshot(ki_informer_snapshot(informer_)); }
    /* Lists the cached objects of a namespace that match the selectors; "": all. */
    object_list list(std::string_view namespace_name = "", std::string_view label_selector = "",
                     std::string_view field_selector = "") const {
        ki_object_list listed = {};
        call(ki_lister_list, informer_, detail::c_string(namespace_name).get(), detail::c_string(label_selector).get(),
             detail::c_string(field_selector).get(), &listed);
        return object_list(listed);
    }

    /* Adds an index by the values at a path. */
    void add_index(const char *name, const char *path) const {
        const ki_indexer indexer = { name, nullptr, nullptr, path };
        call(ki_informer_add_indexers, informer_, &indexer, size_t{ 1 });
    }
    /* Adds an index by the values that a function adds for each object. */
    void add_index(const char *name, index_function function) const {
        using box = detail::kept<index_function>;
        const auto index = [](const ki_object *obj, ki_index_values *values, void *user) noexcept {
            return box::of_user(user).guarded("index function", [&](const index_function &called) {
                index_values added(values);
                called(obj, added);
            });
        };
        const ki_indexer indexer = { name, index, detail::keep(state_, std::move(function)), nullptr };
        call(ki_informer_add_indexers, informer_, &indexer, size_t{ 1 });
    }
    /* Adds a handler. Its functions are destroyed after its last call. */
    ki_registration add_handler(handler functions,
                                const ki_registration_options &options = KI_REGISTRATION_OPTIONS()) const {
        using box = detail::kept<handler>;
        auto added = std::make_unique<box>(box{ std::move(functions), state_ });
        const ki_handler c_functions = detail::c_handler(added->function);
        ki_registration registration = {};
        call(ki_informer_add_handler, informer_, &c_functions, added.get(), &options, &registration);
        (void)added.release(); /* on_removed deletes it */
        return registration;
    }
    /* Before the start: sets the transform, or a function for each failure (ki_watch_error_handler) or each change of
     * the state (ki_state_handler). */
    void set_transform(transform_function function) const {
        using box = detail::kept<transform_function>;
        const auto transform = [](ki_object *obj, ki_object **ret_obj, void *user, ki_error *err) noexcept {
            const auto code = [&](const transform_function &called) {
                const object_ref made = called(obj);
                if (!made)
                    throw error(KI_ERR_INVALID, "a transform returned no object");
                *ret_obj = ki_object_ref(made.get());
            };
            return box::of_user(user).guarded("transform", code, *err);
        };
        call(ki_informer_set_transform, informer_, transform, detail::keep(state_, std::move(function)));
    }
    void on_watch_error(std::function<void(const ki_error &cause, std::string_view key)> function) const {
        using box = detail::kept<decltype(function)>;
        const auto handler = [](ki_informer *, const ki_error *cause, const char *key, void *user) noexcept {
            box::of_user(user).guarded("on_watch_error", [&](const auto &called) { called(*cause, key); });
        };
        call(ki_informer_set_watch_error_handler, informer_, handler, detail::keep(state_, std::move(function)));
    }
    void on_state(std::function<void(const ki_health &health)> function) const {
        using box = detail::kept<decltype(function)>;
        const auto handler = [](ki_informer *, const ki_health *health, void *user) noexcept {
            box::of_user(user).guarded("on_state", [&](const auto &called) { called(*health); });
        };
        call(ki_informer_set_state_handler, informer_, handler, detail::keep(state_, std::move(function)));
    }

    void wait_for_sync(milliseconds timeout = forever) const {
        call(ki_informer_wait_for_sync, informer_, timeout.count());
    }
    /* Waits until the cache has the object under `key` at this version, which a write returned. */
    void wait_for_version(std::string_view key, std::string_view resource_version,
                          milliseconds timeout = forever) const {
        call(ki_informer_wait_for_version, informer_, detail::c_string(key).get(),
             detail::c_string(resource_version).get(), timeout.count());
    }
    /* Waits until the cache has no object under `key`, or one with another uid than the deleted object's. */
    void wait_for_deletion(std::string_view key, std::string_view uid, milliseconds timeout = forever) const {
        call(ki_informer_wait_for_deletion, informer_, detail::c_string(key).get(), detail::c_string(uid).get(),
             timeout.count());
    }
    /* Waits until condition(const event *) returns true; NULL: the cache has synced. Throws what the condition does. */
    template <class Condition> void wait_until(Condition condition, milliseconds timeout = forever) const {
        struct waiting {
            Condition &condition;
            std::exception_ptr thrown;
        } self = { condition, nullptr };
        const auto ends = [](ki_informer *, const ki_event *e, void *user) noexcept {
            waiting &called = *static_cast<waiting *>(user);
            try {
                if (!e)
                    return static_cast<bool>(called.condition(static_cast<const event *>(nullptr)));
                const event given(*e);
                return static_cast<bool>(called.condition(&given));
            } catch (...) {
                called.thrown = std::current_exception();
                return true;
            }
        };
        ki_error err = KI_ERROR_INIT;
        const ki_status status = ki_informer_wait_until(informer_, ends, &self, timeout.count(), &err);
        if (self.thrown)
            std::rethrow_exception(self.thrown);
        if (status != KI_OK)
            throw error(err);
    }
    /* Returns the object under `key` from the cache, or fetches it; empty if the server has none. */
    object_ref get_or_fetch(std::string_view key, milliseconds timeout = forever) const {
        ki_object *found = nullptr;
        detail::find(ki_informer_get_or_fetch, informer_, detail::c_string(key).get(), timeout.count(), &found);
        return object_ref(found);
    }

private:
    ki_informer *informer_;
    detail::state *state_;
};

} // namespace kinformer

#endif
