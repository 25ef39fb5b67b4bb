#include "engine/local/cycle.h"

int cycle_layers(struct result *result, const struct plan *plan, const struct userns_ids *ids)
{
	result->layer_count = 0;
	result->layers = arena_alloc(&result->arena, (plan->layer_count + 1) * sizeof(char *));
	if (!result->layers)
		return -1;
	result->layers[result->layer_count++] =
		arena_printf(&result->arena, "user-namespace: uid %d is host uid %u%s", USERNS_INSIDE, ids->uid,
			     ids->own ? ", of this box alone" : ", the caller's");
	for (size_t i = 0; i < plan->layer_count; i++)
		result->layers[result->layer_count++] = arena_string(&result->arena, plan->layers[i]);
	for (size_t i = 0; i < result->layer_count; i++)
		if (!result->layers[i])
			return -1;
	return 0;
}
