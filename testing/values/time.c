/* time.c: see time.h. */
#include "testing/values/time.h"

#include <stdio.h>

void kt_format_time(int64_t now_ms, char ret_text[KT_TIME_SIZE]) {
    int64_t seconds = now_ms / 1000 - (now_ms % 1000 < 0);
    int64_t days = seconds / 86400 - (seconds % 86400 < 0);
    int64_t of_day = seconds - days * 86400;
    /* Converts days to the civil calendar, in eras of 400 years that start on 1 March. */
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t shifted_month = (5 * day_of_year + 2) / 153;
    int day = (int)(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    int month = (int)(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    int year = (int)((year_of_era + era * 400 + (month <= 2)) % 10000);
    snprintf(ret_text, KT_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02dZ", year, month, day, (int)(of_day / 3600),
             (int)(of_day / 60 % 60), (int)(of_day % 60));
}
