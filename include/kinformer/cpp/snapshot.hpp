/* cpp/snapshot.hpp: reading the cache: snapshots and lists as ranges. kinformer.hpp has the contract. */
#ifndef KINFORMER_CPP_SNAPSHOT_HPP
#define KINFORMER_CPP_SNAPSHOT_HPP

#include <kinformer/cpp/object.hpp>

namespace kinformer {

/* A state of the cache. Range-for goes over all objects. */
class snapshot {
    struct all_objects {
        using item = object;
        const ki_snapshot *of = nullptr;
        ki_cursor cursor = KI_CURSOR_INIT;
        bool next(item &ret_item) { return static_cast<bool>(ret_item = ki_snapshot_next(of, &cursor)); }
    };
    struct objects_by_index {
        using item = object;
        const ki_snapshot *of = nullptr;
        const char *index = nullptr, *value = nullptr;
        ki_cursor cursor = KI_CURSOR_INIT;
        bool next(item &ret_item) {
            return static_cast<bool>(ret_item = ki_snapshot_next_by_index(of, index, value, &cursor));
        }
    };
    struct values_of_index {
        using item = std::string_view;
        const ki_snapshot *of = nullptr;
        const char *index = nullptr;
        ki_cursor cursor = KI_CURSOR_INIT;
        bool next(item &ret_item) {
            const char *found = ki_snapshot_next_index_value(of, index, &cursor);
            ret_item = found ? found : "";
            return found != nullptr;
        }
    };

public:
    using iterator = detail::walk<all_objects>;
    /* A range; borrowed from the snapshot. */
    class matches {
    public:
        matches(const ki_snapshot *of, std::string index, std::string value)
            : of_(of), index_(std::move(index)), value_(std::move(value)) {}
        auto begin() const {
            return detail::walk<objects_by_index>({ of_, index_.c_str(), value_.c_str(), KI_CURSOR_INIT });
        }
        auto end() const { return detail::walk<objects_by_index>(); }
        std::size_t size() const noexcept { return ki_snapshot_count_by_index(of_, index_.c_str(), value_.c_str()); }

    private:
        const ki_snapshot *of_;
        std::string index_, value_;
    };
    /* A range; borrowed from the snapshot. */
    class values {
    public:
        values(const ki_snapshot *of, std::string index) : of_(of), index_(std::move(index)) {}
        auto begin() const { return detail::walk<values_of_index>({ of_, index_.c_str(), KI_CURSOR_INIT }); }
        auto end() const { return detail::walk<values_of_index>(); }

    private:
        const ki_snapshot *of_;
        std::string index_;
    };

    explicit snapshot(ki_snapshot *owned) : snapshot_(owned) {
        if (!owned)
            throw error(KI_ERR_STATE, "there is no snapshot in a process that was forked after the start");
    }
    const ki_snapshot *get() const noexcept { return snapshot_.get(); }
    std::size_t size() const noexcept { return ki_snapshot_count(get()); }
    std::string_view resource_version() const noexcept { return ki_snapshot_resource_version(get()); }
    object find(std::string_view key) const { return ki_snapshot_get(get(), detail::c_string(key).get()); }
    iterator begin() const { return iterator({ get(), KI_CURSOR_INIT }); }
    iterator end() const { return iterator(); }
    /* Returns the objects with `value` in `index`. Errors: KI_ERR_INVALID (there is no such index). */
    matches by_index(std::string_view index, std::string_view value) const & {
        return matches(get(), checked(index), std::string(detail::c_string(value).get()));
    }
    /* Returns the values of an index. Errors: as by_index. */
    values index_values(std::string_view index) const & { return values(get(), checked(index)); }
    /* The snapshot would be gone before the loop begins: keep it in a variable. */
    matches by_index(std::string_view, std::string_view) const && = delete;
    values index_values(std::string_view) const && = delete;

private:
    std::string checked(std::string_view index) const {
        std::string name(detail::c_string(index).get());
        if (!ki_snapshot_has_index(get(), name.c_str()))
            throw error(KI_ERR_INVALID, ("there is no index \"" + name + "\"").c_str());
        return name;
    }
    owner<ki_snapshot> snapshot_;
};

/* The objects of informer::list. Range-for goes over them. */
class object_list {
    struct objects {
        using item = object;
        const ki_object *const *at = nullptr, *const *end = nullptr;
        bool next(item &ret_item) {
            if (at == end)
                return false;
            ret_item = *at++;
            return true;
        }
    };

public:
    using iterator = detail::walk<objects>;

    explicit object_list(const ki_object_list &owned) noexcept : list_(owned) {}
    object_list(object_list &&other) noexcept : list_(std::exchange(other.list_, ki_object_list{})) {}
    object_list &operator=(object_list &&other) noexcept {
        std::swap(list_, other.list_);
        return *this;
    }
    ~object_list() { ki_object_list_free(&list_); }
    std::size_t size() const noexcept { return list_.count; }
    object operator[](std::size_t index) const noexcept { return list_.objects[index]; }
    iterator begin() const { return iterator({ list_.objects, list_.objects + list_.count }); }
    iterator end() const { return iterator(); }

private:
    ki_object_list list_;
};

} // namespace kinformer

#endif
