/* processor.h: the registrations of one informer: takes each change from the process loop and gives it to every listener that wants it. */
#ifndef KI_CACHE_PROCESSOR_H
#define KI_CACHE_PROCESSOR_H

#include <kinformer/informer.h>
#include <kinformer/lister.h>

#include "src/engine/engine.h"

typedef struct ki_processor ki_processor;
typedef enum ki_notification_type { KI_NOTIFY_ADD, KI_NOTIFY_UPDATE, KI_NOTIFY_DELETE } ki_notification_type;

/* What a listener is told; objects borrowed during distribute. */
typedef struct ki_notification {
    ki_notification_type type;
    ki_object *obj;
    ki_object *old; /* updates only */
    bool is_in_initial_list, is_resync, final_state_unknown;
} ki_notification;

#endif
