/* curl_arrival.c: on_read of an exchange: its receiver has everything that had arrived at some time. When bytes are
 * delivered, a mark records how much the socket had received by then. Once libcurl has read up to the mark and the pool
 * is idle, the receiver has it all. After a report the next mark is set KI_CURL_REPORT_MS later: with the next bytes,
 * or by the transport's timer. */
#include "src/transport/curl_internal.h"

/* Sets the mark, or the timer if it is too early. No byte arrived later than it was delivered: the program's own clock
 * can be ahead of the kernel's. */
static void set_mark(ki_exchange *exchange) {
    ki_curl_transport *transport = exchange->transport;
    if (exchange->has_mark)
        return;
    if (ki_engine_now(transport->engine) < exchange->next_report) {
        if (!ki_timer_is_set(&transport->report))
            ki_timer_set(&transport->report, exchange->next_report);
        return;
    }
    exchange->has_mark = ki_curl_pool_arrival(exchange->pool, exchange->local_port, &exchange->mark);
    if (exchange->mark.at > exchange->last_received)
        exchange->mark.at = exchange->last_received;
}

void ki_curl_note_delivered(ki_exchange *exchange) {
    if (!exchange->sink.on_read)
        return;
    exchange->transport->unreported += !exchange->is_unreported;
    exchange->is_unreported = true;
    set_mark(exchange);
}

/* Returns true if the receiver has everything up to the mark: libcurl has read it, as it usually had when the mark was
 * set. */
static bool is_mark_reached(ki_exchange *exchange) {
    if (!exchange->is_unreported || exchange->state != KI_EXCHANGE_ACTIVE || exchange->is_paused ||
        !ki_curl_pool_is_idle(exchange->pool))
        return false;
    set_mark(exchange);
    ki_curl_arrival present = exchange->mark;
    return exchange->has_mark && (present.read >= exchange->mark.received ||
                                  (ki_curl_pool_arrival(exchange->pool, exchange->local_port, &present) &&
                                   present.read >= exchange->mark.received));
}

bool ki_curl_report_one_read(ki_curl_transport *transport) {
    if (transport->unreported == 0)
        return false;
    for (ki_exchange *exchange = transport->active; exchange; exchange = exchange->next) {
        if (!is_mark_reached(exchange))
            continue;
        int64_t until = exchange->mark.at;
        transport->unreported--;
        exchange->is_unreported = exchange->has_mark = false;
        exchange->next_report = ki_engine_now(transport->engine) + KI_MILLISECONDS(KI_CURL_REPORT_MS);
        exchange->sink.on_read(until, exchange->sink.user);
        return true;
    }
    return false;
}
