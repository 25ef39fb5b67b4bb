/* emberbox detect: whether a chat message asks to run its code. */
#include "base/own.h"
#include "cli/cmd.h"
#include "cli/options.h"
#include "cli/program_source.h"
#include "policy/detect.h"
#include "registry/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_JSON = 1,
	OPT_REGISTRY,
	OPT_HELP
};

static const struct option_spec specs[] = {
	{ OPT_JSON, 0, "json", NULL, "print JSON" },
	{ OPT_REGISTRY, 0, "registry", "FILE", "the registry, for its triggers" },
	{ OPT_HELP, 'h', "help", NULL, "show this help" },
	{ 0 },
};

static int print_help(void)
{
	puts("Usage: emberbox detect [FILE | -] [options]\n"
	     "Tells whether a chat message asks to run its code. Nothing is run.\n");
	option_print(stdout, specs);
	puts("\nExit code: 0 yes; 1 no; 2 bad usage.");
	return cmd_flush(0);
}

static void print_plain(const struct detected *found, struct buf *out)
{
	buf_printf(out, "%s (%.2f): %s\n", found->execute ? "yes" : "no", found->confidence, found->reason);
	for (size_t i = 0; i < found->block_count; i++) {
		const struct detect_block *block = &found->blocks[i];
		size_t lines = 0;

		for (size_t at = 0; at < block->size; at++)
			lines += block->code[at] == '\n' || at + 1 == block->size;
		buf_printf(out, "block %zu: %s, %zu line%s\n", i + 1, *block->language ? block->language : "unknown",
			   lines, lines == 1 ? "" : "s");
	}
	if (found->profile)
		buf_printf(out, "profile: %s\n", found->profile);
}

static int message_detect(const struct source *source, const struct registry *registry, int json)
{
	_cleanup_arena_ struct arena arena = { 0 };
	_cleanup_buf_ struct buf text = { 0 };
	struct detected found;
	struct error err = { 0 };

	if (detect_message(source->data, source->size, registry, &arena, &found, &err) < 0) {
		cmd_complain("%s", err.text);
		return err.kind == ERROR_USAGE ? EXIT_USAGE : EXIT_BROKEN;
	}
	if (json) {
		detect_json(&found, &text);
		buf_add(&text, "\n", 1);
	} else {
		print_plain(&found, &text);
	}
	if (text.failed) {
		cmd_complain("no memory for the answer");
		return EXIT_BROKEN;
	}
	return cmd_print(text.data, found.execute ? 0 : 1);
}

int cmd_detect(int argc, char **argv)
{
	struct option_reader reader = { .specs = specs, .argc = argc, .argv = argv, .next = 1 };
	struct config_option chosen = { CONFIG_REGISTRY_FILE, NULL };
	_cleanup_config_ struct config config = { 0 };
	struct source source = { 0 };
	const char *file = NULL;
	char message[1024] = "";
	struct error err = { 0 };
	int json = 0, option, done;

	while ((option = option_next(&reader)) != OPTION_END) {
		if (option == OPT_JSON)
			json = 1;
		else if (option == OPT_REGISTRY)
			chosen.value = reader.value;
		else if (option == OPT_HELP)
			return print_help();
		else if (option != OPTION_WORD)
			return cmd_usage("detect", "%s", reader.message);
		else if (file)
			return cmd_usage("detect", "unexpected argument \"%s\"", reader.value);
		else
			file = reader.value;
	}
	if (config_load(&chosen, chosen.value ? 1 : 0, &config, &err) < 0)
		return cmd_misconfigured(err.text);
	done = file && strcmp(file, "-") != 0
		       ? source_read_file(&source, file, message, sizeof(message))
		       : source_read_fd(&source, STDIN_FILENO, "standard input", message, sizeof(message));
	if (done < 0) {
		cmd_complain("%s", message);
		return EXIT_USAGE;
	}
	done = message_detect(&source, &config.registry, json);
	free(source.data);
	return done;
}
