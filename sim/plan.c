/* plan.c: derives a plan from its seed. */
#include "sim/plan.h"

#include "src/object/keep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NO_BOOKMARKS_MS = 36000000 /* longer than a run */
};

enum {
    STREAM_CONFIGURATION = 1,
    STREAM_FAULTS,
    STREAM_TRANSFORMS,
    STREAM_FUTURE,
    STREAM_PAUSES,
    STREAM_DELETED,
    STREAM_REMOVALS,
    STREAM_KEEP,
    STREAM_FETCHES,
    STREAM_NAMESPACES,
    STREAM_PACK,
    STREAM_FETCH_LIMITS,
    STREAM_AGGREGATED
};

static const char *const selector_texts[SIM_SELECTORS] = { NULL, "app=a", "app in (a,b)", "app!=c" };

const char *sim_selector_text(unsigned selector) {
    return selector_texts[selector];
}

bool sim_selection_matches(const sim_selection *selection, unsigned ns, unsigned label) {
    static const bool selected[SIM_SELECTORS][SIM_LABELS] = {
        { true, true, true, true },
        { true, false, false, false },
        { true, true, false, false },
        { true, true, false, true },
    };
    return (selection->ns < 0 || (unsigned)selection->ns == ns) && selected[selection->selector][label];
}

static void make_informers(sim_plan *plan, sim_random *random) {
    static const unsigned counts[] = { 1, 1, 1, 2, 2, 3 };
    static const int64_t pages[] = { 0, 0, 1, 2, 3, 7 };
    plan->informer_count = counts[sim_below(random, 6)];
    for (unsigned i = 0; i < plan->informer_count; i++) {
        sim_informer_plan *informer = &plan->informers[i];
        informer->selection.ns = sim_chance(random, 60) ? -1 : (int)sim_below(random, SIM_NAMESPACES);
        informer->selection.selector = sim_chance(random, 50) ? 0 : (unsigned)sim_below(random, SIM_SELECTORS);
        plan->client_no_streaming_list =
            sim_chance(random, 50); /* once for each informer; the last one counts: the factory has one */
        informer->page_size = pages[sim_below(random, 6)];
        informer->resync_ms = sim_chance(random, 70) ? 0 : sim_between(random, 500, 90000);
        informer->queue = sim_chance(random, 40) ? KI_QUEUE_IN_ORDER : KI_QUEUE_DELTA_FIFO;
        (void)sim_chance(random,
                         10); /* of an option that is gone; without it the draws of the known seeds would shift */
        informer->handlers = 1 + (unsigned)sim_below(random, 3);
    }
}

static int compare_times(const void *a, const void *b) {
    const sim_fault *left = a, *right = b;
    return left->at < right->at ? -1 : left->at > right->at;
}

static void make_faults(sim_plan *plan, sim_random *random) {
    plan->fault_count = (size_t)sim_between(random, 2, 14);
    int64_t at = 0;
    for (size_t i = 0; i < plan->fault_count; i++) {
        /* A third of the faults follow the previous one within seconds: faults at once find more than single ones. */
        if (i == 0 || sim_chance(random, 65))
            at = sim_chance(random, 12) ? sim_between(random, 0, 2 * SIM_SECOND)
                                        : sim_between(random, 0, plan->duration);
        else
            at += sim_between(random, 0, 5 * SIM_SECOND);
        plan->faults[i] = (sim_fault){ (sim_fault_kind)sim_below(random, SIM_REAPPEARS), at, sim_random_next(random) };
    }
    /* In some seeds a fault comes just before the end: no later fault or restart hides its effect. */
    if (sim_chance(random, 40)) {
        sim_fault *last = &plan->faults[plan->fault_count - 1];
        last->at = plan->duration - sim_between(random, 0, 6 * SIM_SECOND);
        if (sim_chance(random, 50))
            last->kind = SIM_NO_MEMORY;
    }
    qsort(plan->faults, plan->fault_count, sizeof plan->faults[0], compare_times);
}

/* Makes one cluster in five that of an aggregated API server, whose lists have no versions: a watch begins with what
 * there is, and only a consistency check or a list finds a deletion before it. Half of these clusters have informers
 * without the check, which would also repair what the reflector loses. Not with a restore, which only versions show.
 * Adds faults of such servers. */
static void make_aggregated(sim_plan *plan, sim_random *random) {
    bool has_faults = sim_chance(random, 40);
    plan->no_list_versions = sim_chance(random, 20) && !sim_plan_has(plan, SIM_RESTORE);
    if (plan->no_list_versions) {
        plan->no_streaming_list = true;
        plan->consistency_check_ms = sim_between(random, 10000, 30000);
    }
    for (int64_t left = sim_between(random, 1, 4); has_faults && left > 0; left--)
        plan->faults[plan->fault_count++] =
            (sim_fault){ sim_chance(random, 50) ? SIM_REAPPEARS : SIM_STREAM_CLOSES,
                         sim_between(random, 0, plan->duration), sim_random_next(random) };
    qsort(plan->faults, plan->fault_count, sizeof plan->faults[0], compare_times);
    if (plan->no_list_versions && sim_chance(random, 50))
        plan->consistency_check_ms = 0;
}

static void make_pauses(sim_plan *plan, sim_random *random) {
    enum {
        PAUSE_MAX_MS = 3000
    };
    plan->pause_count = (size_t)sim_below(random, SIM_PAUSES_MAX + 1);
    for (size_t i = 0; i < plan->pause_count; i++) {
        plan->pauses[i].at = sim_between(random, 0, plan->duration);
        plan->pauses[i].duration = sim_between(random, 1, PAUSE_MAX_MS) * SIM_MILLISECOND;
    }
}

/* Of keys alone, the states of an object are known by their versions. A restore repeats those, and an object that
 * leaves a selector has the version of the next state. */
static ki_keep draw_keep(const sim_plan *plan, const sim_informer_plan *informer, sim_random *random) {
    ki_keep keep =
        sim_chance(random, 50) ? KI_KEEP_OBJECT : (ki_keep)sim_between(random, KI_KEEP_METADATA, KI_KEEP_KEYS);
    bool are_versions_states = !sim_plan_has(plan, SIM_RESTORE) && informer->selection.selector == 0;
    return keep == KI_KEEP_KEYS && !are_versions_states ? KI_KEEP_VIEW : keep;
}

/* Half of the informers pack, from the first object on or somewhat later: the more often, the less their first
 * dictionary has of the others. */
static int64_t draw_pack_from(sim_random *random) {
    if (sim_chance(random, 50))
        return -1;
    return sim_chance(random, 50) ? 1 : sim_between(random, 300, 6000);
}

/* Makes the first informer one of a set of namespaces. Not with a restore of the cluster: each namespace of a set
 * notices it for itself, and the simulation counts one version for each informer. */
static void make_set(sim_plan *plan, sim_random *random) {
    if (plan->consistency_check_ms || sim_plan_has(plan, SIM_RESTORE) || !sim_chance(random, 40))
        return;
    plan->informers[0].is_set = true;
    plan->informers[0].selection.ns = -1;
    plan->set_changes = (unsigned)sim_between(random, 1, 12);
}

void sim_plan_make(sim_plan *plan, uint64_t seed) {
    sim_random random = sim_random_from(seed, STREAM_CONFIGURATION);
    static const uint64_t revisions[] = { 1, 90, 960, 99950, 4294967200 };
    *plan = (sim_plan){ .seed = seed };
    plan->servers = 1 + (unsigned)sim_below(&random, SIM_SERVERS_MAX);
    for (unsigned i = 1; i < plan->servers; i++)
        plan->lag[i] = sim_between(&random, 0, sim_chance(&random, 70) ? 300 : 10000) * SIM_MILLISECOND;
    plan->first_revision = revisions[sim_below(&random, 5)];
    plan->compact_after = sim_chance(&random, 60) ? 0 : (size_t)sim_between(&random, 5, 100);
    plan->bookmark_every_ms = sim_between(&random, 1000, 60000);
    plan->no_streaming_list = sim_chance(&random, 15);
    plan->name_count = (unsigned)sim_between(&random, 1, 12);
    make_informers(plan, &random);
    plan->max_work = sim_chance(&random, 70) ? 0 : (int)sim_between(&random, 1, 20);
    plan->consistency_check_ms = sim_chance(&random, 85) ? 0 : sim_between(&random, 10000, 60000);
    plan->reentry_percent = sim_chance(&random, 50) ? 0 : (unsigned)sim_between(&random, 1, 10);
    plan->reconfigurations = (unsigned)sim_below(&random, 6);
    plan->duration = sim_between(&random, 540, 720) * SIM_SECOND;
    plan->write_every = sim_between(&random, 1200, 4000) * SIM_MILLISECOND;
    plan->burst_percent = (unsigned)sim_between(&random, 0, 5);
    random = sim_random_from(seed, STREAM_FAULTS);
    make_faults(plan, &random);
    random = sim_random_from(seed, STREAM_AGGREGATED);
    make_aggregated(plan, &random);
    random = sim_random_from(seed, STREAM_TRANSFORMS);
    for (unsigned i = 0; i < plan->informer_count; i++)
        plan->informers[i].has_transform = sim_chance(&random, 20);
    random = sim_random_from(seed, STREAM_FUTURE);
    plan->future_watch = sim_chance(&random, 50)   ? SIM_FUTURE_SILENT
                         : sim_chance(&random, 60) ? SIM_FUTURE_TOO_LARGE
                                                   : SIM_FUTURE_BOOKMARK;
    if (sim_chance(&random, 10))
        plan->bookmark_every_ms = NO_BOOKMARKS_MS;
    random = sim_random_from(seed, STREAM_PAUSES);
    make_pauses(plan, &random);
    random = sim_random_from(seed, STREAM_DELETED);
    for (unsigned i = 0; i < plan->informer_count; i++)
        plan->informers[i].keep_deleted_ms = sim_chance(&random, 50) ? 0 : sim_between(&random, 1000, 90000);
    random = sim_random_from(seed, STREAM_REMOVALS);
    plan->removals = sim_chance(&random, 60) ? 0 : (unsigned)sim_between(&random, 1, 6);
    random = sim_random_from(seed, STREAM_KEEP);
    for (unsigned i = 0; i < plan->informer_count; i++)
        plan->informers[i].keep = draw_keep(plan, &plan->informers[i], &random);
    random = sim_random_from(seed, STREAM_FETCHES);
    plan->fetch_every = sim_chance(&random, 50) ? 0 : sim_between(&random, 1500, 15000) * SIM_MILLISECOND;
    random = sim_random_from(seed, STREAM_NAMESPACES);
    make_set(plan, &random);
    random = sim_random_from(seed, STREAM_PACK);
    for (unsigned i = 0; i < plan->informer_count; i++)
        plan->informers[i].pack_from = draw_pack_from(&random);
    for (unsigned i = 0; i < plan->informer_count; i++)
        plan->informers[i].memory_limit = sim_chance(&random, 70) ? 0 : (size_t)sim_between(&random, 500, 20000);
    random = sim_random_from(seed, STREAM_FETCH_LIMITS);
    plan->requests_in_flight = sim_chance(&random, 50) ? 0 : (int)sim_between(&random, 1, 4);
    plan->keep_fetched_ms = sim_chance(&random, 50) ? 0 : sim_between(&random, 100, 60000);
}

bool sim_plan_has(const sim_plan *plan, sim_fault_kind kind) {
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (plan->faults[i].kind == kind)
            return true;
    }
    return false;
}

void sim_plan_remove_faults(sim_plan *plan, uint32_t without) {
    size_t kept = 0;
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (!(without >> i & 1))
            plan->faults[kept++] = plan->faults[i];
    }
    plan->fault_count = kept;
}

void sim_plan_print(const sim_plan *plan) {
    static const char *const futures[] = { "is silent", "is too large", "gets a bookmark with the server's version" };
    printf("seed %" PRIu64 ": %u servers, lag", plan->seed, plan->servers);
    for (unsigned i = 0; i < plan->servers; i++)
        printf(" %" PRId64 " ms", plan->lag[i] / SIM_MILLISECOND);
    printf("; first revision %" PRIu64 ", history %zu%s, %u names, steps of %d\n", plan->first_revision,
           plan->compact_after, plan->no_streaming_list ? ", no streaming lists" : "", plan->name_count,
           plan->max_work);
    printf("  a watch from the future %s%s%s\n", futures[plan->future_watch],
           plan->bookmark_every_ms == NO_BOOKMARKS_MS ? "; no bookmarks" : "",
           plan->no_list_versions ? "; lists have no versions" : "");
    printf("  the client %s, and remembers fetched objects for %" PRId64 " ms\n",
           plan->client_no_streaming_list ? "lists" : "streams", plan->keep_fetched_ms);
    for (unsigned i = 0; i < plan->informer_count; i++) {
        const sim_informer_plan *informer = &plan->informers[i];
        const char *selector = sim_selector_text(informer->selection.selector);
        if (i == 0 && plan->consistency_check_ms)
            printf("  consistency checks every %" PRId64 " ms\n", plan->consistency_check_ms);
        printf("  informer %u: namespace %d, %s, pages of %" PRId64 ", resync %" PRId64
               " ms, %u handlers%s%s, keeps %s, packs "
               "from %" PRId64 " bytes, limit %zu bytes, deleted objects for %" PRId64 " ms\n",
               i, informer->selection.ns, selector ? selector : "no selector", informer->page_size, informer->resync_ms,
               informer->handlers, informer->queue == KI_QUEUE_DELTA_FIFO ? ", DeltaFIFO" : "",
               informer->has_transform ? ", transforms" : "", ki_keep_name(informer->keep), informer->pack_from,
               informer->memory_limit, informer->keep_deleted_ms);
    }
    if (plan->set_changes)
        printf("  informer 0 is of a set of namespaces, which changes %u times\n", plan->set_changes);
    if (plan->removals)
        printf("  %u informers are removed and asked for again\n", plan->removals);
    if (plan->fetch_every)
        printf("  single objects are asked for every %" PRId64 " ms, %d requests in flight\n",
               plan->fetch_every / SIM_MILLISECOND, plan->requests_in_flight);
    for (size_t i = 0; i < plan->fault_count; i++)
        printf("  fault %zu at %.3f s: %s (%s)\n", i, (double)plan->faults[i].at / 1e9,
               sim_fault_name(plan->faults[i].kind), sim_fault_numbers(plan->faults[i].kind));
}
