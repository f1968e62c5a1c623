/* quantity.c: see quantity.h. The canonical form is that of apimachinery's resource.Quantity. */
#include "src/base/quantity.h"

#include "src/base/assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NANO = 1000000000,
    NANO_DIGITS = 9,
    NANO_OF_MILLI = 1000000,
    TERA = 4,         /* as a power of 1024 */
    FRACTION_MAX = 64 /* digits of a binary quantity that are multiplied */
};

static const char decimal_suffixes[] = "num kMGTPE"; /* 1e-9, 1e-6 … 1e18; a space is 1 */
static const char binary_suffixes[] = " KMGTPE";

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Reads a suffix: as a power of 10, or for a binary one as a power of 1024. */
static bool read_suffix(ki_str suffix, int64_t *ret_power, ki_quantity_format *ret_format) {
    uint64_t number = 0;
    *ret_power = 0;
    *ret_format = KI_QUANTITY_DECIMAL;
    if (!suffix.size)
        return true;
    const char *place = strchr(decimal_suffixes, suffix.data[0]);
    if (suffix.size == 1 && place && *place != ' ') {
        *ret_power = 3 * (int64_t)(place - decimal_suffixes) - NANO_DIGITS;
        return true;
    }
    place = strchr(binary_suffixes, suffix.data[0]);
    if (suffix.size == 2 && suffix.data[1] == 'i' && place && *place != ' ') {
        *ret_power = place - binary_suffixes;
        *ret_format = KI_QUANTITY_BINARY;
        return true;
    }
    if (suffix.data[0] != 'e' && suffix.data[0] != 'E')
        return false;
    bool has_sign = suffix.size > 1 && (suffix.data[1] == '-' || suffix.data[1] == '+');
    ki_str digits = { suffix.data + 1 + has_sign, suffix.size - 1 - has_sign };
    if (!ki_str_to_uint64(digits, INT32_MAX, &number))
        return false;
    *ret_power = has_sign && suffix.data[1] == '-' ? -(int64_t)number : (int64_t)number;
    *ret_format = KI_QUANTITY_EXPONENT;
    return true;
}

static void set_max(ki_quantity *quantity) {
    quantity->whole = INT64_MAX;
    quantity->nano = 0;
}

static void add_nano(ki_quantity *quantity, uint32_t added) {
    KI_ASSERT(quantity->nano + added <= NANO);
    quantity->nano += added;
    if (quantity->nano == NANO) {
        quantity->nano = 0;
        quantity->whole++;
    }
}

/* Sets the amount from decimal digits, of which `before_point` come before the decimal point. */
static void set_digits(ki_quantity *quantity, const char *text, size_t size, int64_t before_point) {
    int64_t place = before_point; /* of the next digit: 1 is the last one before the point */
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.')
            continue;
        uint32_t digit = (uint32_t)(text[i] - '0');
        if (place > 0) {
            if (quantity->whole > ((uint64_t)INT64_MAX - digit) / 10) {
                set_max(quantity);
                return;
            }
            quantity->whole = quantity->whole * 10 + digit;
        } else if (place > -NANO_DIGITS) {
            uint32_t scale = 1;
            for (int64_t p = place; p > -NANO_DIGITS + 1; p--)
                scale *= 10;
            quantity->nano += digit * scale;
        } else if (digit) {
            quantity->nano++; /* rounded up, once */
            break;
        }
        place--;
    }
    for (; place > 0 && quantity->whole; place--) {
        if (quantity->whole > INT64_MAX / 10) {
            set_max(quantity);
            return;
        }
        quantity->whole *= 10;
    }
    add_nano(quantity, 0);
}

/* Multiplies by 1024^power: digit by digit after the point, because 1024 times a rounded fraction is another amount. */
static void scale_binary(ki_quantity *quantity, ki_str fraction, int64_t power) {
    uint32_t digits[FRACTION_MAX] = { 0 };
    bool has_more = false; /* than the digits before */
    for (size_t i = 0; i < fraction.size; i++) {
        if (i < FRACTION_MAX)
            digits[i] = (uint32_t)(fraction.data[i] - '0');
        else
            has_more = has_more || fraction.data[i] != '0';
    }
    for (int64_t p = 0; p < power; p++) {
        uint32_t carry = 0;
        for (size_t i = FRACTION_MAX; i-- > 0;) {
            carry += digits[i] * 1024;
            digits[i] = carry % 10;
            carry /= 10;
        }
        if (quantity->whole > ((uint64_t)INT64_MAX - carry) / 1024) {
            set_max(quantity);
            return;
        }
        quantity->whole = quantity->whole * 1024 + carry;
    }
    quantity->nano = 0;
    for (size_t i = 0; i < FRACTION_MAX; i++) {
        if (i < NANO_DIGITS)
            quantity->nano = quantity->nano * 10 + digits[i];
        else
            has_more = has_more || digits[i];
    }
    add_nano(quantity, has_more);
}

bool ki_quantity_parse(ki_str text, ki_quantity *ret_quantity) {
    ki_quantity quantity = { 0 };
    int64_t power, before_point = 0;
    if (!text.size)
        return false;
    if (text.data[0] == '+' || text.data[0] == '-') {
        quantity.is_negative = text.data[0] == '-';
        text = (ki_str){ text.data + 1, text.size - 1 };
    }
    size_t size = 0, fraction_at = 0;
    for (; size < text.size && (is_digit(text.data[size]) || (text.data[size] == '.' && !fraction_at)); size++) {
        if (text.data[size] == '.')
            fraction_at = size + 1;
        else
            before_point += !fraction_at;
    }
    if (!read_suffix((ki_str){ text.data + size, text.size - size }, &power, &quantity.format))
        return false;
    /* Without digits the amount is 0, but only where apimachinery takes its fast path. */
    bool is_binary = quantity.format == KI_QUANTITY_BINARY, has_digits = size > (fraction_at > 0);
    if (!has_digits && (is_binary ? power > TERA : power < -NANO_DIGITS))
        return false;
    if (is_binary) {
        ki_str fraction = { text.data + fraction_at, fraction_at ? size - fraction_at : 0 };
        set_digits(&quantity, text.data, (size_t)before_point, before_point);
        scale_binary(&quantity, fraction, power);
    } else {
        set_digits(&quantity, text.data, size, before_point + power);
    }
    KI_ASSERT(quantity.nano < NANO && quantity.whole <= INT64_MAX);
    *ret_quantity = quantity;
    return true;
}

static int64_t signed_amount(const ki_quantity *quantity, uint64_t amount) {
    return quantity->is_negative ? -(int64_t)amount : (int64_t)amount;
}

int64_t ki_quantity_units(const ki_quantity *quantity) {
    uint64_t whole = quantity->whole;
    return signed_amount(quantity, whole + (quantity->nano && whole < INT64_MAX));
}

bool ki_quantity_milli(const ki_quantity *quantity, int64_t *ret_milli) {
    uint64_t milli = (quantity->nano + NANO_OF_MILLI - 1) / NANO_OF_MILLI;
    if (quantity->whole > ((uint64_t)INT64_MAX - milli) / 1000)
        return false;
    *ret_milli = signed_amount(quantity, quantity->whole * 1000 + milli);
    return true;
}

int ki_quantity_compare(const ki_quantity *a, const ki_quantity *b) {
    bool a_zero = !a->whole && !a->nano, b_zero = !b->whole && !b->nano;
    bool a_negative = a->is_negative && !a_zero, b_negative = b->is_negative && !b_zero;
    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    int order = a->whole != b->whole ? (a->whole < b->whole ? -1 : 1) : (a->nano > b->nano) - (a->nano < b->nano);
    return a_negative ? -order : order;
}

/* Divides `*amount` by `by` as often as it is a multiple, at most `most` times. Returns how often. */
static int shorten(uint64_t *amount, uint64_t by, int most) {
    int times = 0;
    while (times < most && *amount && *amount % by == 0) {
        *amount /= by;
        times++;
    }
    return times;
}

void ki_quantity_write(const ki_quantity *quantity, char ret_text[KI_QUANTITY_SIZE]) {
    KI_ASSERT(quantity->nano < NANO);
    const char *sign = quantity->is_negative ? "-" : "";
    uint64_t whole = quantity->whole, nano = quantity->nano;
    if (!whole && !nano) {
        snprintf(ret_text, KI_QUANTITY_SIZE, "0");
    } else if (quantity->format == KI_QUANTITY_BINARY && !nano && whole >= 1024) {
        int power = shorten(&whole, 1024, (int)sizeof binary_suffixes - 2);
        snprintf(ret_text, KI_QUANTITY_SIZE, "%s%" PRIu64 "%.*s%s", sign, whole, power > 0, &binary_suffixes[power],
                 power ? "i" : "");
    } else {
        int digits = NANO_DIGITS, power; /* of `nano` */
        for (; nano && nano % 1000 == 0; nano /= 1000)
            digits -= 3;
        power = nano ? -digits / 3 : shorten(&whole, 1000, 6);
        char number[KI_QUANTITY_SIZE];
        if (nano && whole)
            snprintf(number, sizeof number, "%s%" PRIu64 "%0*" PRIu64, sign, whole, digits, nano);
        else
            snprintf(number, sizeof number, "%s%" PRIu64, sign, nano ? nano : whole);
        if (quantity->format == KI_QUANTITY_EXPONENT && power)
            snprintf(ret_text, KI_QUANTITY_SIZE, "%.30se%d", number, 3 * power);
        else
            snprintf(ret_text, KI_QUANTITY_SIZE, "%.30s%.*s", number, power != 0, &decimal_suffixes[power + 3]);
    }
}
