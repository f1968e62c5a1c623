/* limit_reports.c: what the program learns of limits, in the log and in its watch error handler: once that objects lose
 * their content, once that none has it any more, and once that nothing is left to be done about the factory's limit.
 * Loop. */
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/cache/informer/informer_parts.h"

/* Returns the bytes that are compared with the informer's own limit. Contents of a list are dropped before the store
 * has them. */
static size_t own_bytes(const ki_informer *informer) {
    return informer->checked_bytes + (ki_informer_may_drop(informer) ? ki_informer_expected_bytes(informer) : 0);
}

/* Returns true if contents are dropped for the factory's limit: more of it is taken than of the informer's own. */
static bool drops_for_all(const ki_informer *informer) {
    const ki_memory_account *account = informer->options.account;
    size_t limit = informer->options.given.memory_limit;
    if (!account || !account->limit)
        return false;
    double of_own = limit ? (double)own_bytes(informer) / (double)limit : 0;
    return of_own <= (double)ki_memory_account_bytes(account) / (double)account->limit;
}

static void report(ki_informer *informer, bool is_of_all, const char *effect) {
    const ki_memory_account *account = informer->options.account;
    size_t bytes = is_of_all ? ki_memory_account_bytes(account) : own_bytes(informer);
    size_t limit = is_of_all ? account->limit : informer->options.given.memory_limit;
    ki_error err = KI_ERROR_INIT;
    ki_error_set(&err, KI_ERR_LIMIT, "%s take %zu bytes, %s the %s's memory_limit of %zu%s",
                 is_of_all ? "the objects of all informers" : "the cache's objects", bytes,
                 bytes > limit ? "more than" : "at", is_of_all ? "factory" : "informer", limit, effect);
    ki_log_write(ki_engine_log(informer->engine), KI_LOG_WARNING, "informer", "%s: %s", informer->selection->name,
                 ki_error_message(&err));
    ki_informer_report(informer, &err, "");
}

/* Returns true if there is content that may be dropped, or will be. */
static bool can_drop(const ki_informer *informer) {
    return ki_informer_may_drop(informer) &&
           (ki_informer_content_count(informer) || ki_informer_expected_bytes(informer));
}

/* Returns true if any informer of the factory can do something about its limit. */
static bool can_shrink(const ki_memory_account *account) {
    bool can = false;
    for (const ki_informer *member = account->first; member && !can; member = member->next_in_account)
        can = member->packing == KI_PACKS_STORE || can_drop(member);
    return can;
}

/* Reports the first object that lost its content, and if none has its content any more; again once all had theirs, and
 * there was room. */
static void report_drops(ki_informer *informer, ki_memory_account *account) {
    bool is_above = ki_informer_is_above(informer), has_lost = ki_store_without_content(informer->store) > 0;
    bool is_of_all = drops_for_all(informer);
    if (!has_lost && !is_above)
        informer->reported = KI_REPORTED_NOTHING;
    if (has_lost && informer->reported < KI_REPORTED_DROP) {
        informer->reported = KI_REPORTED_DROP;
        report(informer, is_of_all, ": objects lose their content");
    }
    if (has_lost && informer->reported < KI_REPORTED_NONE && is_above && !can_drop(informer)) {
        informer->reported = is_of_all ? KI_REPORTED_TOTAL : KI_REPORTED_NONE;
        if (is_of_all && !can_shrink(account))
            account->is_reported = true;
        report(informer, is_of_all, ": no object of this informer has content any more");
    }
}

/* Reports that the objects of all informers take more than their limit, and nothing is left to be done about it. An
 * informer without content whose program knows leaves that to others. */
static void report_all(ki_informer *informer, ki_memory_account *account) {
    if (!ki_memory_account_is_over(account) || account->is_reported || informer->reported == KI_REPORTED_TOTAL ||
        can_shrink(account))
        return;
    account->is_reported = true;
    if (informer->reported == KI_REPORTED_NONE)
        informer->reported = KI_REPORTED_TOTAL;
    report(informer, true, "");
}

void ki_informer_report_limits(ki_informer *informer, bool is_over) {
    ki_memory_account *account = informer->options.account;
    if (ki_informer_may_drop(informer))
        report_drops(informer, account);
    else if (is_over)
        report(informer, false, "");
    if (account)
        report_all(informer, account);
}
