#include "cli/door.h"

#include "cli/cmd.h"
#include "registry/config.h"

#include <stdio.h>
#include <string.h>

int door_find(struct service_door *out)
{
	_cleanup_config_ struct config config = { 0 };
	struct error err = { 0 }, registry;
	const char *listen;

	*out = (struct service_door){ 0 };
	if (config_load_without(&config, &registry, &err) < 0 && err.kind == ERROR_USAGE)
		return cmd_misconfigured(err.text);
	if (err.kind == ERROR_NONE && registry.kind != ERROR_NONE)
		cmd_complain(CMD_REGISTRY_LEFT_OUT, registry.text);
	if (err.kind != ERROR_NONE || config_first_token(&config, out->token, &err) < 0) {
		cmd_complain("%s", err.text);
		return err.kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
	}
	out->given = config.values[CONFIG_TOKEN].text != NULL;
	listen = config.values[CONFIG_LISTEN].text;
	/* A running service knows its address. */
	out->running = announce_read(out->address) == 0;
	if (!out->running && strcmp(listen, "none") != 0)
		snprintf(out->address, sizeof(out->address), "%s://%s",
			 config.values[CONFIG_TLS_CERT].text ? "https" : "http", listen);
	return 0;
}
