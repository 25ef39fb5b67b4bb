/* Every input that is kept, through its fuzz target again: what once crashed must not do so twice. */
/* tests/run: timeout=120 */
#include "../check.h"

#include <dirent.h>
#include <stdint.h>

#define LLVMFuzzerTestOneInput replay_account
int replay_account(const uint8_t *data, size_t size);
#include "fuzz_account.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_audit
int replay_audit(const uint8_t *data, size_t size);
#include "fuzz_audit.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_cgroup_parse
int replay_cgroup_parse(const uint8_t *data, size_t size);
#include "fuzz_cgroup_parse.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_client_hello
int replay_client_hello(const uint8_t *data, size_t size);
#include "fuzz_client_hello.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_definition
int replay_definition(const uint8_t *data, size_t size);
#include "fuzz_definition.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_driver_told
int replay_driver_told(const uint8_t *data, size_t size);
#include "fuzz_driver_told.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_driver_wire
int replay_driver_wire(const uint8_t *data, size_t size);
#include "fuzz_driver_wire.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_detect
int replay_detect(const uint8_t *data, size_t size);
#include "fuzz_detect.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_dns
int replay_dns(const uint8_t *data, size_t size);
#include "fuzz_dns.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_elf
int replay_elf(const uint8_t *data, size_t size);
#include "fuzz_elf.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_errors
int replay_errors(const uint8_t *data, size_t size);
#include "fuzz_errors.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_explain
int replay_explain(const uint8_t *data, size_t size);
#include "fuzz_explain.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_frame
int replay_frame(const uint8_t *data, size_t size);
#include "fuzz_frame.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_front_http
int replay_front_http(const uint8_t *data, size_t size);
#include "fuzz_front_http.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_http
int replay_http(const uint8_t *data, size_t size);
#include "fuzz_http.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_http_answer
int replay_http_answer(const uint8_t *data, size_t size);
#include "fuzz_http_answer.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_http_relay
int replay_http_relay(const uint8_t *data, size_t size);
#include "fuzz_http_relay.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_json_check
int replay_json_check(const uint8_t *data, size_t size);
#include "fuzz_json_check.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_mcp
int replay_mcp(const uint8_t *data, size_t size);
#include "fuzz_mcp.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_net_list
int replay_net_list(const uint8_t *data, size_t size);
#include "fuzz_net_list.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_net_name
int replay_net_name(const uint8_t *data, size_t size);
#include "fuzz_net_name.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_net_policy
int replay_net_policy(const uint8_t *data, size_t size);
#include "fuzz_net_policy.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_options
int replay_options(const uint8_t *data, size_t size);
#include "fuzz_options.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_png
int replay_png(const uint8_t *data, size_t size);
#include "fuzz_png.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_registry
int replay_registry(const uint8_t *data, size_t size);
#include "fuzz_registry.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_report
int replay_report(const uint8_t *data, size_t size);
#include "fuzz_report.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_request
int replay_request(const uint8_t *data, size_t size);
#include "fuzz_request.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_runtime
int replay_runtime(const uint8_t *data, size_t size);
#include "fuzz_runtime.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_spec
int replay_spec(const uint8_t *data, size_t size);
#include "fuzz_spec.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_text
int replay_text(const uint8_t *data, size_t size);
#include "fuzz_text.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_utf8
int replay_utf8(const uint8_t *data, size_t size);
#include "fuzz_utf8.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_version
int replay_version(const uint8_t *data, size_t size);
#include "fuzz_version.c"
#undef LLVMFuzzerTestOneInput

#define LLVMFuzzerTestOneInput replay_websocket
int replay_websocket(const uint8_t *data, size_t size);
#include "fuzz_websocket.c"
#undef LLVMFuzzerTestOneInput

/* From the top of the repository, where tests/run starts every test. */
static void replay(const char *name, int (*target)(const uint8_t *, size_t))
{
	static uint8_t data[1 << 20];
	char place[128];
	struct dirent *entry;
	size_t count = 0;
	DIR *dir;

	snprintf(place, sizeof(place), "tests/fuzz/corpus/%s", name);
	dir = opendir(place);
	if (!dir) {
		check_fail("cannot open %s: run this from the top of the repository", place);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		char path[512];
		uint8_t *copy;
		size_t size;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", place, entry->d_name);
		file = fopen(path, "rb");
		if (!file) {
			check_fail("cannot open %s", path);
			continue;
		}
		size = fread(data, 1, sizeof(data), file);
		fclose(file);
		/* Said first: a target that does not hold ends the program. */
		fprintf(stderr, "%s\n", path);
		copy = malloc(size + !size);
		memcpy(copy, data, size);
		CHECK_INT(target(copy, size), 0);
		free(copy);
		count++;
	}
	closedir(dir);
	CHECK(count > 0);
	CHECK_INT(target(data, 0), 0);
}

static void account(void)
{
	replay("account", replay_account);
}

static void audit(void)
{
	replay("audit", replay_audit);
}

static void cgroup_parse(void)
{
	replay("cgroup_parse", replay_cgroup_parse);
}

static void client_hello(void)
{
	replay("client_hello", replay_client_hello);
}

static void definition(void)
{
	replay("definition", replay_definition);
}

static void driver_told(void)
{
	replay("driver_told", replay_driver_told);
}

static void driver_wire(void)
{
	replay("driver_wire", replay_driver_wire);
}

static void detect(void)
{
	replay("detect", replay_detect);
}

static void dns(void)
{
	replay("dns", replay_dns);
}

static void elf(void)
{
	replay("elf", replay_elf);
}

static void errors(void)
{
	replay("errors", replay_errors);
}

static void explain(void)
{
	replay("explain", replay_explain);
}

static void frame(void)
{
	replay("frame", replay_frame);
}

static void front_http(void)
{
	replay("front_http", replay_front_http);
}

static void http(void)
{
	replay("http", replay_http);
}

static void png(void)
{
	replay("png", replay_png);
}

static void http_answer(void)
{
	replay("http_answer", replay_http_answer);
}

static void http_relay(void)
{
	replay("http_relay", replay_http_relay);
}

static void json_check(void)
{
	replay("json_check", replay_json_check);
}

static void mcp(void)
{
	replay("mcp", replay_mcp);
}

static void net_list(void)
{
	replay("net_list", replay_net_list);
}

static void net_name(void)
{
	replay("net_name", replay_net_name);
}

static void net_policy(void)
{
	replay("net_policy", replay_net_policy);
}

static void options(void)
{
	replay("options", replay_options);
}

static void registry(void)
{
	replay("registry", replay_registry);
}

static void report(void)
{
	replay("report", replay_report);
}

static void request(void)
{
	replay("request", replay_request);
}

static void runtime(void)
{
	replay("runtime", replay_runtime);
}

static void spec(void)
{
	replay("spec", replay_spec);
}

static void text(void)
{
	replay("text", replay_text);
}

static void utf8(void)
{
	replay("utf8", replay_utf8);
}

static void version(void)
{
	replay("version", replay_version);
}

static void websocket(void)
{
	replay("websocket", replay_websocket);
}

int main(void)
{
	RUN(account);
	RUN(audit);
	RUN(cgroup_parse);
	RUN(client_hello);
	RUN(definition);
	RUN(driver_told);
	RUN(driver_wire);
	RUN(detect);
	RUN(dns);
	RUN(elf);
	RUN(errors);
	RUN(explain);
	RUN(frame);
	RUN(front_http);
	RUN(http);
	RUN(http_answer);
	RUN(png);
	RUN(http_relay);
	RUN(json_check);
	RUN(mcp);
	RUN(net_list);
	RUN(net_name);
	RUN(net_policy);
	RUN(options);
	RUN(registry);
	RUN(report);
	RUN(request);
	RUN(runtime);
	RUN(spec);
	RUN(text);
	RUN(utf8);
	RUN(version);
	RUN(websocket);
	return check_failures != 0;
}
