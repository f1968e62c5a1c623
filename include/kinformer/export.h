/* export.h: marks what the library gives away. Included by every other header; a program never needs it by name. */
#ifndef KINFORMER_EXPORT_H
#define KINFORMER_EXPORT_H

#if defined(__GNUC__) || defined(__clang__)
#define KI_API __attribute__((__visibility__("default")))
#define KI_MUST_CHECK __attribute__((__warn_unused_result__))
#define KI_PRINTF(format_index, first_index) __attribute__((__format__(__printf__, format_index, first_index)))
#else
#define KI_API
#define KI_MUST_CHECK
#define KI_PRINTF(format_index, first_index)
#endif

/* An exception must not leave a function that the library calls: it would unwind C frames, which hold locks and memory. Where the language has it in
 * types (C++17), a function or lambda that may throw is therefore no callback: write `[](const ki_event *event, void *user) noexcept { … }`. In
 * earlier C++ the program sees to it. */
#if defined(__cplusplus) && __cplusplus >= 201703L
#define KI_NOEXCEPT noexcept
#else
#define KI_NOEXCEPT
#endif

#ifdef __cplusplus
#define KI_BEGIN_DECLS extern "C" {
#define KI_END_DECLS }
#else
#define KI_BEGIN_DECLS
#define KI_END_DECLS
#endif

#endif
