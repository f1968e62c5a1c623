/* cpp/object.hpp: objects, values and views. kinformer.hpp has the contract. */
#ifndef KINFORMER_CPP_OBJECT_HPP
#define KINFORMER_CPP_OBJECT_HPP

#include <kinformer/cpp/error.hpp>

#include <iterator>
#include <optional>

namespace kinformer {

namespace detail {

struct end_of_walk {};

/* An input iterator over what Source::next(item &) gives until it returns false. */
template <class Source> class walk {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = typename Source::item;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type *;
    using reference = const value_type &;

    walk() = default; /* the end */
    explicit walk(Source source) : source_(std::move(source)) { ++*this; }
    reference operator*() const noexcept { return item_; }
    pointer operator->() const noexcept { return &item_; }
    walk &operator++() {
        has_item_ = source_.next(item_);
        return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const walk &a, const walk &b) noexcept { return a.has_item_ == b.has_item_; }
    friend bool operator!=(const walk &a, const walk &b) noexcept { return !(a == b); }
    friend bool operator==(const walk &a, end_of_walk) noexcept { return !a.has_item_; }
    friend bool operator!=(const walk &a, end_of_walk) noexcept { return a.has_item_; }

private:
    Source source_{};
    value_type item_{};
    bool has_item_ = false;
};

} // namespace detail

/* ---- values ---- */

/* A JSON value, empty if there is none. Range-for goes once over the members of an array or object, without parsing
 * again. A member is borrowed from its value. */
class value {
    struct members;

public:
    struct member;
    using iterator = detail::walk<members>;

    value() = default;
    explicit value(const ki_value &owned) noexcept : value_(owned) {}
    value(value &&other) noexcept : value_(std::exchange(other.value_, ki_value KI_VALUE_INIT)) {}
    value &operator=(value &&other) noexcept {
        std::swap(value_, other.value_);
        return *this;
    }
    ~value() { ki_value_clear(&value_); }

    /* Returns false for null, and if there is no value. */
    explicit operator bool() const noexcept { return value_.type != KI_VALUE_NULL; }
    ki_value_type type() const noexcept { return value_.type; }
    /* Returns the string, or the JSON of an array or object before its walk; else "". */
    std::string_view text() const noexcept { return { value_.text ? value_.text : "", value_.text_size }; }
    std::int64_t to_int(std::int64_t otherwise = 0) const noexcept {
        return value_.type == KI_VALUE_INT ? value_.integer : otherwise;
    }
    double to_double(double otherwise = 0) const noexcept {
        return value_.type == KI_VALUE_INT || value_.type == KI_VALUE_DOUBLE ? value_.number : otherwise;
    }
    bool to_bool(bool otherwise = false) const noexcept {
        return value_.type == KI_VALUE_BOOL ? value_.boolean : otherwise;
    }
    iterator begin() const;
    detail::end_of_walk end() const noexcept { return {}; }

private:
    mutable ki_value value_ = KI_VALUE_INIT; /* the walk changes it */
};

/* A member of an array or object. The name is "" in an array. */
struct value::member {
    std::string_view name;
    kinformer::value value;
};

struct value::members {
    using item = member;
    ki_value *of = nullptr;
    bool next(item &ret_item) const {
        const char *name = nullptr;
        ki_value next = KI_VALUE_INIT;
        if (!of || !ki_value_next(of, &name, &next))
            return false;
        ret_item.name = name ? name : "";
        ret_item.value = kinformer::value(next);
        return true;
    }
};

inline value::iterator value::begin() const {
    return iterator(members{ &value_ });
}

/* ---- objects ---- */

/* A borrowed object, as a pointer: it can be empty. */
class object {
public:
    object() = default;
    object(const ki_object *obj) noexcept : obj_(obj) {}
    explicit operator bool() const noexcept { return obj_ != nullptr; }
    const ki_object *get() const noexcept { return obj_; }

    std::string_view key() const noexcept { return ki_object_key(obj_); }
    std::string_view name() const noexcept { return ki_object_name(obj_); }
    std::string_view namespace_name() const noexcept { return ki_object_namespace(obj_); }
    std::string_view uid() const noexcept { return ki_object_uid(obj_); }
    std::string_view resource_version() const noexcept { return ki_object_resource_version(obj_); }
    std::optional<std::string_view> label(std::string_view name) const {
        const char *text = ki_object_label(obj_, detail::c_string(name).get());
        return text ? std::optional<std::string_view>(text) : std::nullopt;
    }

    /* Returns the struct that was filled when the object was decoded. View is that of its informer. Errors:
     * KI_ERR_STATE (the informer has no view). */
    template <class View> const View &view() const {
        const void *found = ki_object_view(obj_);
        if (!found)
            throw error(KI_ERR_STATE, "the object has no view: ask the factory for informer<View>");
        return *static_cast<const View *>(found);
    }
    /* Returns the field under `path`; empty if the object does not have it. Errors: those of ki_object_field, such as
     * KI_ERR_STATE for a field that the cache does not keep. */
    value field(std::string_view path) const {
        ki_value found = KI_VALUE_INIT;
        detail::find(ki_object_field, obj_, detail::c_string(path).get(), &found);
        return value(found);
    }
    std::string json() const {
        ki_value found = KI_VALUE_INIT;
        call(ki_object_json, obj_, &found);
        return std::string(value(found).text());
    }
    object_ref ref() const noexcept;

private:
    const ki_object *obj_ = nullptr;
};

/* An object and a reference to it. */
class object_ref : public object {
public:
    object_ref() = default;
    explicit object_ref(ki_object *owned) noexcept : object(owned) {}
    object_ref(object_ref &&other) noexcept : object(std::exchange(static_cast<object &>(other), object())) {}
    object_ref &operator=(object_ref &&other) noexcept {
        std::swap(static_cast<object &>(*this), static_cast<object &>(other));
        return *this;
    }
    ~object_ref() { ki_object_unref(get()); }
};

inline object_ref object::ref() const noexcept {
    return object_ref(ki_object_ref(obj_));
}

/* Makes the struct that this stands in a view: its fields, made with KI_FIELD and the like. */
#define KI_VIEW(...) \
    static const ki_field *fields() noexcept { \
        static const ki_field all[] = { __VA_ARGS__, KI_FIELD_END }; \
        return all; \
    }

/* A member of a view: structs that are views themselves. (The other lists of view.h have range-for, too.) */
template <class Element> struct list : ki_list {
    const Element *begin() const noexcept { return static_cast<const Element *>(items); }
    const Element *end() const noexcept { return begin() + count; }
    std::size_t size() const noexcept { return count; }
    const Element &operator[](std::size_t index) const noexcept { return begin()[index]; }
};

} // namespace kinformer

namespace kinformer_detail {
template <class Element> struct field_type<kinformer::list<Element>> {
    static constexpr ki_field_type value = KI_FIELD_TYPE_LIST;
};
template <class Element> struct field_elements<kinformer::list<Element>> {
    static const ki_field *get() noexcept { return Element::fields(); }
};
} // namespace kinformer_detail

inline const char *const *begin(const ki_string_list &strings) noexcept {
    return strings.items;
}
inline const char *const *end(const ki_string_list &strings) noexcept {
    return strings.items + strings.count;
}
namespace kinformer_detail {
/* An input iterator over the pairs of a map. */
class map_iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = ki_string_pair;
    using difference_type = std::ptrdiff_t;
    using pointer = const ki_string_pair *;
    using reference = ki_string_pair;
    map_iterator() noexcept : map_{ nullptr, 0 }, index_(0) {}
    map_iterator(const ki_string_map &map, size_t index) noexcept : map_(map), index_(index) {}
    ki_string_pair operator*() const noexcept {
        ki_string_pair pair = { nullptr, nullptr };
        ki_string_map_at(&map_, index_, &pair.name, &pair.value);
        return pair;
    }
    map_iterator &operator++() noexcept {
        ++index_;
        return *this;
    }
    map_iterator operator++(int) noexcept {
        map_iterator before = *this;
        ++index_;
        return before;
    }
    friend bool operator==(const map_iterator &a, const map_iterator &b) noexcept { return a.index_ == b.index_; }
    friend bool operator!=(const map_iterator &a, const map_iterator &b) noexcept { return a.index_ != b.index_; }

private:
    ki_string_map map_;
    size_t index_;
};
} // namespace kinformer_detail

inline kinformer_detail::map_iterator begin(const ki_string_map &map) noexcept {
    return { map, 0 };
}
inline kinformer_detail::map_iterator end(const ki_string_map &map) noexcept {
    return { map, map.count };
}

#endif
