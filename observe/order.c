/* Licensed under the Apache License, Version 2.0; see LICENSE. */

/* Orders to and from JSON. */

#include "observe/order.h"

#include <string.h>

#include "apr_strings.h"

#define MOST 1000000 /* a weight, or connections */

static const char *const states[] = { "up", "drain", "down" };

static const char *read_state(json_t *value, up_order_t *order)
{
    const char *word = json_string_value(value);
    int i;

    for (i = 0; word && i <= UP_ADMIN_DOWN; i++) {
        if (strcmp(word, states[i]) == 0) {
            order->admin = i;
            order->set |= UP_ORDERED_ADMIN;
            return NULL;
        }
    }
    return "state is up, drain, down or null";
}

static const char *read_number(apr_pool_t *p, const char *name, json_t *value,
                               int least, int *number)
{
    if (!json_is_integer(value) || json_integer_value(value) < least
        || json_integer_value(value) > MOST) {
        return apr_psprintf(p, "%s is a number from %d to %d, or null", name,
                            least, MOST);
    }
    *number = (int)json_integer_value(value);
    return NULL;
}

static const char *read_one(apr_pool_t *p, const char *name, json_t *value,
                            up_order_t *order)
{
    int bit = strcmp(name, "state") == 0       ? UP_ORDERED_ADMIN
              : strcmp(name, "weight") == 0    ? UP_ORDERED_WEIGHT
              : strcmp(name, "max_conns") == 0 ? UP_ORDERED_MAX_CONNS
                                               : 0;

    if (!bit) {
        return "there is state, weight and max_conns, and nothing else";
    }
    if (json_is_null(value)) {
        order->unset |= bit;
        return NULL;
    }
    if (bit == UP_ORDERED_ADMIN) {
        return read_state(value, order);
    }
    order->set |= bit;
    return bit == UP_ORDERED_WEIGHT
               ? read_number(p, name, value, 1, &order->weight)
               : read_number(p, name, value, 0, &order->max_conns);
}

const char *up_order_read(apr_pool_t *p, json_t *json, up_order_t *order)
{
    const char *name, *error = NULL;
    json_t *value;

    memset(order, 0, sizeof(*order));
    if (!json_is_object(json) || !json_object_size(json)) {
        return "an object with state, weight or max_conns is wanted";
    }
    json_object_foreach(json, name, value) {
        if (!error) {
            error = read_one(p, name, value, order);
        }
    }
    return error;
}

json_t *up_order_write(const up_peerstate_t *state)
{
    int ordered = atomic_load(&state->ordered);
    json_t *json;

    if (!ordered) {
        return NULL;
    }
    json = json_object();
    if (ordered & UP_ORDERED_ADMIN) {
        int admin = atomic_load(&state->admin);

        json_object_set_new(json, "state", json_string(states[admin]));
    }
    if (ordered & UP_ORDERED_WEIGHT) {
        json_object_set_new(json, "weight",
                            json_integer(atomic_load(&state->weight)));
    }
    if (ordered & UP_ORDERED_MAX_CONNS) {
        json_object_set_new(json, "max_conns",
                            json_integer(atomic_load(&state->max_conns)));
    }
    return json;
}
