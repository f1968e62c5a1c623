/* controller.hpp: controllers in C++17 and later, with reconcilers that may throw, over controller.h. kinformer.hpp has
 * the contract. */
#ifndef KINFORMER_CONTROLLERS_CONTROLLER_HPP
#define KINFORMER_CONTROLLERS_CONTROLLER_HPP

#include <kinformer-controllers/controller.h>
#include <kinformer/kinformer.hpp>

namespace kinformer {

/* One run of a reconciler. For the other functions of a ki_reconcile use get(). */
class reconcile_call {
public:
    explicit reconcile_call(ki_reconcile *call) noexcept : call_(call) {}
    ki_reconcile *get() const noexcept { return call_; }
    void requeue() noexcept { ki_reconcile_requeue(call_); }
    void requeue_after(milliseconds delay) noexcept { ki_reconcile_requeue_after(call_, delay.count()); }
    bool is_cancelled() const noexcept { return ki_reconcile_is_cancelled(call_); }

private:
    ki_reconcile *call_;
};

/* Brings the cluster to the state that the object under `key` specifies. After an exception the key is processed
 * again. */
using reconciler = std::function<void(reconcile_call &call, std::string_view key)>;

/* The keys that a map function adds. */
class reconcile_keys {
public:
    explicit reconcile_keys(ki_reconcile_keys *keys) noexcept : keys_(keys) {}
    void add(std::string_view key) { (void)ki_reconcile_keys_add(keys_, detail::c_string(key).get()); }

private:
    ki_reconcile_keys *keys_;
};

using map_function = std::function<void(object obj, reconcile_keys &keys)>;

/* Returns true to process an event, false to skip it. After an exception the event is processed. */
using predicate = std::function<bool(const event &e)>;

namespace detail {
template <bool (*function)(const ki_event *, void *)> bool passes(const event &e) noexcept {
    ki_event c_event = {};
    c_event.obj = e.obj.get();
    c_event.old = e.old.get();
    c_event.type = e.type;
    c_event.is_resync = e.is_resync;
    return function(&c_event, nullptr);
}
} // namespace detail

/* The predicates ki_predicate_…, for watch_for and watch_owned. */
inline bool generation_changed(const event &e) noexcept {
    return detail::passes<ki_predicate_generation_changed>(e);
}
inline bool labels_changed(const event &e) noexcept {
    return detail::passes<ki_predicate_labels_changed>(e);
}
inline bool annotations_changed(const event &e) noexcept {
    return detail::passes<ki_predicate_annotations_changed>(e);
}
inline bool resource_version_changed(const event &e) noexcept {
    return detail::passes<ki_predicate_resource_version_changed>(e);
}

/* A controller; must be destroyed before its factory. */
class controller {
public:
    /* `options.reconcile` and `options.user` are not used. */
    controller(const factory &of, ki_controller_options options, reconciler function) : state_(of.state_.get()) {
        options.reconcile = [](ki_reconcile *c_call, const char *key, void *user, ki_error *err) noexcept {
            try {
                reconcile_call call(c_call);
                detail::kept<reconciler>::of_user(user).function(call, key);
                return KI_OK;
            } catch (...) {
                return detail::current_error(err);
            }
        };
        options.user = detail::keep(state_, std::move(function));
        controller_ = make(ki_controller_new, of.get(), &options);
    }
    ki_controller *get() const noexcept { return controller_.get(); }

    /* Reconciles the objects of a resource (ki_controller_for). An empty predicate skips no event. */
    template <class View = void>
    informer watch_for(const ki_resource *resource, predicate function = {},
                       const ki_informer_options &options = KI_INFORMER_OPTIONS()) const {
        return watched<View>(ki_controller_for, resource, std::move(function), options);
    }
    /* Reconciles the controllers of a resource's objects (ki_controller_owns). */
    template <class View = void>
    informer watch_owned(const ki_resource *resource, predicate function = {},
                         const ki_informer_options &options = KI_INFORMER_OPTIONS()) const {
        return watched<View>(ki_controller_owns, resource, std::move(function), options);
    }
    /* Reconciles the keys that a function adds for each object of an informer. */
    void watch(const informer &of, map_function function) const {
        using box = detail::kept<map_function>;
        ki_controller_watch_options options = KI_CONTROLLER_WATCH();
        options.map = [](const ki_object *obj, ki_reconcile_keys *c_keys, void *user) noexcept {
            box::of_user(user).guarded("map function", [&](const map_function &called) {
                reconcile_keys keys(c_keys);
                called(obj, keys);
            });
        };
        options.user = detail::keep(state_, std::move(function));
        call(ki_controller_watch, get(), of.get(), &options);
    }

private:
    template <class View, class Watch>
    informer watched(Watch begin, const ki_resource *resource, predicate function,
                     ki_informer_options informer_options) const {
        using box = detail::kept<predicate>;
        ki_controller_watch_options options = KI_CONTROLLER_WATCH();
        if constexpr (!std::is_void_v<View>)
            informer_options.view = View::fields();
        options.informer_options = &informer_options;
        if (function) {
            options.predicate = [](const ki_event *e, void *user) noexcept {
                bool is_processed = true;
                box::of_user(user).guarded("predicate",
                                           [&](const predicate &called) { is_processed = called(event(*e)); });
                return is_processed;
            };
            options.user = detail::keep(state_, std::move(function));
        }
        ki_informer *found = nullptr;
        call(begin, get(), resource, &options, &found);
        return informer(found, state_);
    }
    detail::state *state_;
    owner<ki_controller> controller_;
};

} // namespace kinformer

#endif
