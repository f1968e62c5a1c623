/* cpp/error.hpp: errors as exceptions, owners, and the two functions that give both to any C function. kinformer.hpp
 * has the contract of these headers. */
#ifndef KINFORMER_CPP_ERROR_HPP
#define KINFORMER_CPP_ERROR_HPP

#include <kinformer/kinformer.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

struct ki_columns;        /* kinformer-print/columns.h */
struct ki_controller;     /* kinformer-controllers/controller.h */
struct ki_elector;        /* kinformer-controllers/leader.h */
struct ki_event_recorder; /* kinformer-controllers/events.h */
struct ki_jsonpath;       /* kinformer-print/jsonpath.h */
struct ki_status_server;  /* kinformer-status/server.h */
struct ki_testing_server; /* kinformer-testing/server.h */
struct ki_workqueue;      /* kinformer-controllers/workqueue.h */

namespace kinformer {

using std::chrono::milliseconds;
inline constexpr milliseconds forever{ -1 };

/* ---- errors ---- */

/* A failure of the library, or of a function of the program: error(KI_ERR_INVALID, "no such size"). */
class KI_API error : public std::exception {
public:
    explicit error(const ki_error &err) noexcept : err_(err) {}
    error(ki_status code, const char *message) noexcept { ki_error_set(&err_, code, "%s", message); }
    const char *what() const noexcept override { return ki_error_message(&err_); }
    ki_status code() const noexcept { return err_.code; }
    ki_category category() const noexcept { return err_.category; }
    int http_status() const noexcept { return err_.http_status; }
    /* Returns true for an error of this kind: e.is(ki_error_is_conflict). */
    bool is(bool (*kind)(const ki_error *)) const { return kind(&err_); }
    const ki_error &get() const noexcept { return err_; }

private:
    ki_error err_ = KI_ERROR_INIT;
};

namespace detail {

/* Throws the error of a function that returned `status`. A function of the program can fail without filling `err`. */
[[noreturn]] inline void throw_error(ki_status status, const ki_error &err) {
    throw err.code != KI_OK ? error(err) : error(status, ki_status_name(status));
}

} // namespace detail

/* Calls a C function whose last parameter is a ki_error *, without that parameter, and throws its error:
 *     call(ki_informer_remove_handler, pods.get(), registration); */
template <class... Parameters, class... Arguments>
void call(ki_status (*function)(Parameters...), Arguments &&...arguments) {
    ki_error err = KI_ERROR_INIT;
    const ki_status status = function(std::forward<Arguments>(arguments)..., &err);
    if (status != KI_OK)
        detail::throw_error(status, err);
}

/* ---- owners ---- */

/* How an object of the C library is freed. Specialize it to use owner and make with other types. */
template <class Type> struct deleter;
#define KI_OWNED_(type, function) \
    template <> struct deleter<type> { \
        void operator()(type *owned) const noexcept { function(owned); } \
    };
KI_OWNED_(ki_client, ki_client_free)
KI_OWNED_(ki_config, ki_config_free)
KI_OWNED_(ki_discovery, ki_discovery_free)
KI_OWNED_(ki_engine, ki_engine_free)
KI_OWNED_(ki_error_response, ki_error_response_free)
KI_OWNED_(ki_factory, ki_factory_free)
KI_OWNED_(ki_object, ki_object_unref)
KI_OWNED_(ki_pending_request, ki_pending_request_free)
KI_OWNED_(ki_resource_map, ki_resource_map_unref)
KI_OWNED_(ki_response, ki_response_unref)
KI_OWNED_(ki_selector, ki_selector_free)
KI_OWNED_(ki_snapshot, ki_snapshot_free)
KI_OWNED_(ki_unstructured, ki_unstructured_free)
#undef KI_OWNED_

/* Objects of the other libraries: their headers, which the program includes, declare the functions. */
#define KI_OWNED_ELSEWHERE_(type, function) \
    template <> struct deleter<type> { \
        template <class Type> void operator()(Type *owned) const noexcept { function(owned); } \
    };
KI_OWNED_ELSEWHERE_(ki_columns, ki_columns_free)
KI_OWNED_ELSEWHERE_(ki_controller, ki_controller_free)
KI_OWNED_ELSEWHERE_(ki_elector, ki_elector_free)
KI_OWNED_ELSEWHERE_(ki_event_recorder, ki_event_recorder_free)
KI_OWNED_ELSEWHERE_(ki_jsonpath, ki_jsonpath_free)
KI_OWNED_ELSEWHERE_(ki_status_server, ki_status_server_free)
KI_OWNED_ELSEWHERE_(ki_testing_server, ki_testing_server_free)
KI_OWNED_ELSEWHERE_(ki_workqueue, ki_workqueue_free)
#undef KI_OWNED_ELSEWHERE_

/* Frees what it owns: a std::unique_ptr. */
template <class Type> using owner = std::unique_ptr<Type, deleter<Type>>;

class object_ref;
class snapshot;

namespace detail {

template <class Type> struct owner_of { using type = owner<Type>; };
template <> struct owner_of<ki_object> { using type = object_ref; };
template <> struct owner_of<ki_snapshot> { using type = snapshot; };

/* As call(), but KI_ERR_NOT_FOUND is no error: there is no result then. */
template <class... Parameters, class... Arguments>
void find(ki_status (*function)(Parameters...), Arguments &&...arguments) {
    ki_error err = KI_ERROR_INIT;
    const ki_status status = function(std::forward<Arguments>(arguments)..., &err);
    if (status != KI_OK && status != KI_ERR_NOT_FOUND)
        throw_error(status, err);
}

/* The Type of a C function (…, Type **ret_type, ki_error *err). */
template <class... Parameters>
using made_by = std::remove_pointer_t<
    std::remove_pointer_t<std::tuple_element_t<sizeof...(Parameters) - 2, std::tuple<Parameters...>>>>;

/* A text that ends with a zero, for the C functions. */
class c_string {
public:
    explicit c_string(std::string_view text) {
        if (text.find('\0') != text.npos)
            throw error(KI_ERR_INVALID, "the text has a zero character");
        if (text.size() < sizeof small_)
            small_[text.copy(small_, text.size())] = '\0';
        else
            large_ = text;
    }
    const char *get() const noexcept { return large_.empty() ? small_ : large_.c_str(); }

private:
    char small_[256];
    std::string large_;
};

} // namespace detail

/* Calls a C function whose last parameters are Type **ret_type and ki_error *, without them. Returns the owner of the
 * result, an object_ref for a ki_object:
 *     owner<ki_config> config = make(ki_config_new, &KI_CONFIG_OPTIONS(.context = "kind"));
 *     object_ref pod = make(ki_client_get, factory.client(), KI_PODS, "shop", "web-1", nullptr); */
template <class... Parameters, class... Arguments>
auto make(ki_status (*function)(Parameters...), Arguments &&...arguments) {
    using type = detail::made_by<Parameters...>;
    type *made = nullptr;
    call(function, std::forward<Arguments>(arguments)..., &made);
    return typename detail::owner_of<type>::type(made);
}

} // namespace kinformer

#endif
