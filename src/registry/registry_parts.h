/* What the files that read the registry share: registry.c, registry_network.c. */
#pragma once

#include "base/yaml.h"
#include "registry/registry.h"

/* A key of a mapping, and the function that reads its value into a profile. */
struct registry_reader {
	const char *key; /* in the file */
	int (*read)(const struct yaml_doc *doc, const struct yaml_node *node, const char *key, struct profile *out,
		    struct error *err); /* of its value */
};

/* Reads each key by its row; the table ends with a key of NULL. Other keys are refused with the nearest. */
int registry_read_keys(const struct yaml_doc *doc, const struct yaml_node *map, const struct registry_reader *readers,
		       const char *what, struct profile *out, struct error *err);
/* The value of network_mode. */
int registry_read_network(const struct yaml_doc *doc, const struct yaml_node *node, const char *key,
			  struct profile *out, struct error *err);
