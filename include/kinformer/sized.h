/* sized.h: how the option macros make a struct whose first member is its size, in C and in C++. export.h includes it.
 *
 *     ki_factory_new_default(&KI_FACTORY_OPTIONS(.log = &log, .resync_ms = 60000), &factory, &err)
 *
 * In C++17 and later the members must be in the order of their declaration, as C++20 demands. The compilers take
 * designated initializers in C++17, too; a warning of -Wpedantic about them is turned off here. In C the struct lives
 * until the end of the block, in C++ until the end of the whole expression, usually the call: to keep it, copy it into
 * a variable (`ki_factory_options options = KI_FACTORY_OPTIONS(…)`), not its address. */
#ifndef KINFORMER_SIZED_H
#define KINFORMER_SIZED_H

#ifdef __cplusplus
#if defined(__GNUC__) || defined(__clang__)
#pragma GCC system_header /* for gcc's -Wextra, which misses initializers in C++, though not in C */
#endif
#if defined(__clang__) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::lifetimebound)
#define KI_LIFETIME_BOUND_ [[clang::lifetimebound]]
#endif
#endif
#ifndef KI_LIFETIME_BOUND_
#define KI_LIFETIME_BOUND_
#endif
extern "C++" {
namespace kinformer_detail {
/* Returns the temporary struct of the call's expression as something that has an address. */
template <class Struct> constexpr const Struct &addressable(const Struct &temporary KI_LIFETIME_BOUND_) noexcept {
    return temporary;
}
} // namespace kinformer_detail
}
#define KI_SIZED_(type, ...) kinformer_detail::addressable(__extension__ type{ .size = sizeof(type), __VA_ARGS__ })
#else
#define KI_SIZED_(type, ...) ((type){ .size = sizeof(type), __VA_ARGS__ })
#endif

#endif
