#include "daemon/supervisor/setup.h"

#include "base/fd.h"
#include "base/own.h"
#include "base/text.h"
#include "http/tls.h"
#include "registry/weaker.h"
#include "base/state.h"
#include "store/record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum {
	PEM_MAX = 1 << 20, /* bytes of a certificate with its chain, or of a key */
	BACKLOG = 1024,    /* connections that wait to be accepted */
	WATCH_DIRECTORY = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR,
};

static const char *value(const struct setup *setup, enum config_key key)
{
	return setup->config.values[key].text;
}

/* Which of the words it is; the configuration has checked that it is one. */
static unsigned word_of(const char *text, const char *const *words)
{
	for (unsigned i = 0; text && words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return 0;
}

static int load(struct setup *setup, struct config *config, struct error *err)
{
	const struct serve_options *options = setup->options;
	const struct config_option all[] = {
		{ CONFIG_LISTEN, options->listen },   { CONFIG_REGISTRY_FILE, options->registry },
		{ CONFIG_LOG, options->log },         { CONFIG_TLS_CERT, options->tls_cert },
		{ CONFIG_TLS_KEY, options->tls_key }, { CONFIG_SERVICE_WEAKER, options->weaker },
	};
	struct config_option given[ARRAY_SIZE(all)];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value)
			given[count++] = all[i];
	return config_load_service(given, count, config, err);
}

static int memory_of(const char *name, const void *data, size_t size, struct error *err)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fd_write(fd, data, size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return error_errno(err, "cannot hold the %s", name);
	return take_fd(&fd);
}

/* What the front is to know. */
static int encode(const struct setup *setup, const struct config *config, char **text, size_t *size, struct error *err)
{
	_cleanup_free_ char *tokens = NULL;
	char first[TOKEN_MAX] = "", where[4096];
	size_t tokens_size = 0;
	bool tcp = setup->tcp >= 0;
	int done = 0;

	/* Without TCP nobody needs one, and there may be no place for it. */
	if (tcp)
		done = config_first_token(config, first, err);
	if (done == 0 && tcp)
		done = tokens_read(&tokens, &tokens_size, where, sizeof(where), err);
	if (done == 0)
		done = config_encode(config, tcp ? first : NULL, tokens, tokens_size, text, size, err);
	explicit_bzero(first, sizeof(first));
	return done;
}

/* Listening */

static int address_split(const char *text, char *host, size_t host_size, char *port, size_t port_size)
{
	const char *colon = strrchr(text, ':');
	size_t length;

	if (!colon || colon == text || strlen(colon + 1) == 0 || strlen(colon + 1) >= port_size)
		return -1;
	length = (size_t)(colon - text);
	if (text[0] == '[' && colon[-1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= host_size)
		return -1;
	memcpy(host, text, length);
	host[length] = '\0';
	snprintf(port, port_size, "%s", colon + 1);
	return 0;
}

/* An address by numbers: names would need libraries that a static program does not bring. Its size, or 0. */
static socklen_t address_read(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	char host[128], port[8];
	uint64_t number;

	*out = (struct sockaddr_storage){ 0 };
	if (address_split(text, host, sizeof(host), port, sizeof(port)) < 0 || !text_count(port, &number) ||
	    number > 65535)
		return 0;
	if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)number);
		return sizeof(*four);
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
		return 0;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((uint16_t)number);
	return sizeof(*six);
}

static int listen_at(const struct sockaddr_storage *to, socklen_t size)
{
	_cleanup_close_ int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int yes = 1;

	/* Connections inherit what is set here. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (const struct sockaddr *)to, size) < 0 || listen(fd, BACKLOG) < 0)
		return -1;
	return take_fd(&fd);
}

static void tell_address(struct setup *setup)
{
	struct sockaddr_storage at = { 0 };
	const struct sockaddr_in *four = (const struct sockaddr_in *)&at;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at;
	socklen_t size = sizeof(at);
	char host[INET6_ADDRSTRLEN] = "";
	const char *scheme = setup->tls_cert >= 0 ? "https" : "http";

	if (getsockname(setup->tcp, (struct sockaddr *)&at, &size) < 0)
		return;
	if (at.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
		snprintf(setup->address, sizeof(setup->address), "%s://[%s]:%u", scheme, host, ntohs(six->sin6_port));
	} else {
		inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
		snprintf(setup->address, sizeof(setup->address), "%s://%s:%u", scheme, host, ntohs(four->sin_port));
	}
}

static bool is_loopback(const struct sockaddr_storage *at)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)at;

	if (at->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && six->sin6_addr.s6_addr[12] == 127);
}

static int listen_tcp(struct setup *setup, struct error *err)
{
	const char *text = value(setup, CONFIG_LISTEN);
	struct sockaddr_storage at;
	socklen_t size;

	if (!text || strcmp(text, "none") == 0)
		return 0;
	size = address_read(text, &at);
	if (size == 0)
		return error_usage(err, "%s: expected HOST:PORT with an IP address, or none, not \"%.80s\"",
				   config_said_by(&setup->config, CONFIG_LISTEN), text);
	setup->tcp = listen_at(&at, size);
	if (setup->tcp >= 0) {
		tell_address(setup);
		if (setup->tls_cert < 0 && !is_loopback(&at))
			setup->options->say(
				"%s is not a loopback address, and there is no TLS: anybody who sees the traffic "
				"can read tokens; use --tls-cert and --tls-key",
				setup->address);
		return 0;
	}
	if (setup->config.values[CONFIG_LISTEN].source == CONFIG_DEFAULT) {
		setup->options->say("%s is not free (%s): there is no HTTP over TCP; choose another with --listen or "
				    "EMBERBOX_LISTEN, or none",
				    text, strerror(errno));
		return 0;
	}
	error_errno(err, "cannot listen at %s", text);
	if (err->errnum == EADDRINUSE || err->errnum == EACCES)
		error_hint(err, "; choose another with --listen or EMBERBOX_LISTEN; port 0 is any that is free");
	return -1;
}

/* TLS */

static int read_pem(const char *path, const char *name, int *out, struct error *err)
{
	_cleanup_free_ char *text = malloc(PEM_MAX);
	ssize_t size = text ? fd_slurp(AT_FDCWD, path, text, PEM_MAX) : -1;

	if (size < 0)
		return error_set(err, ERROR_USAGE, errno, "%s: cannot read \"%s\"", name, path);
	*out = memory_of("certificate", text, (size_t)size, err);
	explicit_bzero(text, (size_t)size);
	return *out < 0 ? -1 : 0;
}

/* Tried here, where there is somebody to tell. */
static int try_pem(const struct setup *setup, struct error *err)
{
	_cleanup_free_ char *cert = malloc(PEM_MAX), *key = malloc(PEM_MAX);
	ssize_t cert_size = cert ? pread(setup->tls_cert, cert, PEM_MAX, 0) : -1;
	ssize_t key_size = key ? pread(setup->tls_key, key, PEM_MAX, 0) : -1;
	struct tls_context *context = NULL;
	int done;

	if (cert_size < 0 || key_size < 0)
		return error_errno(err, "cannot read the certificate");
	done = tls_context_new(cert, (size_t)cert_size, key, (size_t)key_size, &context, err);
	explicit_bzero(key, (size_t)key_size);
	tls_context_free(context);
	return done;
}

/* As a token's file. What is not there is for whoever reads it to say. */
static int check_secret(const char *path, const char *name, struct error *err)
{
	struct stat st;

	if (stat(path, &st) == 0 && (st.st_mode & 077))
		return error_usage(err, "%s: others may read \"%s\" (mode %04o); use: chmod 600 %s", name, path,
				   (unsigned)(st.st_mode & 07777), path);
	return 0;
}

static int load_tls(struct setup *setup, struct error *err)
{
	const char *cert = value(setup, CONFIG_TLS_CERT), *key = value(setup, CONFIG_TLS_KEY);

	const char *key_name = config_said_by(&setup->config, CONFIG_TLS_KEY);

	/* There are both or none: config_load() saw to that. */
	if (!cert || !key)
		return 0;
	if (check_secret(key, key_name, err) < 0 ||
	    read_pem(cert, config_said_by(&setup->config, CONFIG_TLS_CERT), &setup->tls_cert, err) < 0 ||
	    read_pem(key, key_name, &setup->tls_key, err) < 0)
		return -1;
	return try_pem(setup, err);
}

/* Name servers */

int setup_resolver(const struct setup *setup)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct error err;
	const char *at = value(setup, CONFIG_RESOLVER);

	if (!at)
		return open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
	while (*at) {
		const size_t size = strcspn(at, ",");

		buf_printf(&text, "nameserver %.*s\n", (int)size, at);
		at += size + (at[size] == ',');
	}
	return text.failed ? -1 : memory_of("resolver", text.data, text.size, &err);
}

/* All of it */

static void settle(struct setup *setup)
{
	static const char *const audits[] = { "required", "best_effort", "off", NULL };
	static const char *const logs[] = { "events", "text", "json", NULL };
	static const char *const weaker[] = { "none", "landlock", NULL };
	uint64_t days = 0;

	setup->audit = word_of(value(setup, CONFIG_AUDIT), audits);
	setup->log = word_of(value(setup, CONFIG_LOG), logs);
	setup->no_landlock = word_of(value(setup, CONFIG_SERVICE_WEAKER), weaker) == 1;
	if (value(setup, CONFIG_HISTORY_DAYS) && text_count(value(setup, CONFIG_HISTORY_DAYS), &days))
		setup->history_days = (unsigned)days;
	if (value(setup, CONFIG_HISTORY_SIZE))
		text_size(value(setup, CONFIG_HISTORY_SIZE), &setup->history_size);
}

/*
 * Where people write for us: the files, and their directories for files that
 * come. Of a directory only that: others write in it all the time, and the
 * supervisor is to sleep. Not to be had is not wrong: SIGHUP does the same.
 */
static void watch_files(struct setup *setup)
{
	static const char *const names[] = { ".env", "tokens.json", "token" };
	const char *where = setup->config.registry_where, *slash = strrchr(where, '/');
	char place[4096];
	int config;

	if (setup->watch < 0)
		setup->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (setup->watch < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (state_path(names[i], place, sizeof(place)) == 0)
			inotify_add_watch(setup->watch, place, IN_CLOSE_WRITE);
	if (state_path("", place, sizeof(place)) == 0)
		inotify_add_watch(setup->watch, place, WATCH_DIRECTORY);
	/* That of .env, and of the registry unless it is elsewhere; made, so that the first file is seen. */
	config = state_place_dir(STATE_CONFIG, true);
	close_fd(&config);
	if (state_path(".env", place, sizeof(place)) == 0) {
		*strrchr(place, '/') = '\0';
		inotify_add_watch(setup->watch, place, WATCH_DIRECTORY);
	}
	inotify_add_watch(setup->watch, where, IN_CLOSE_WRITE);
	if (slash && slash != where) {
		snprintf(place, sizeof(place), "%.*s", (int)(slash - where), where);
		inotify_add_watch(setup->watch, place, WATCH_DIRECTORY);
	}
}

bool setup_touched(struct setup *setup)
{
	const char *slash = strrchr(setup->config.registry_where, '/');
	const char *const names[] = { slash ? slash + 1 : "registry.yaml", ".env", "tokens.json", "token" };
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool touched = false;
	ssize_t size;

	while ((size = read(setup->watch, room, sizeof(room))) > 0) {
		for (ssize_t at = 0; at < size;) {
			const struct inotify_event *event = (const void *)(room + at);

			/* Without a name it is one of the files itself. */
			touched |= event->len == 0;
			for (size_t i = 0; event->len > 0 && i < ARRAY_SIZE(names); i++)
				touched |= strcmp(event->name, names[i]) == 0;
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (touched)
		watch_files(setup);
	return touched;
}

static void mark_of(const char *path, struct setup_mark *mark)
{
	struct stat st;

	*mark = (struct setup_mark){ 0 };
	if (stat(path, &st) == 0)
		*mark = (struct setup_mark){ st.st_ino, (uint64_t)st.st_size,
					     (uint64_t)st.st_mtim.tv_sec * 1000 +
						     (uint64_t)st.st_mtim.tv_nsec / 1000000 };
}

static const char *const own[SETUP_FILES] = { NULL, ".env", "tokens.json", "token" };

bool setup_is_settled(const struct setup *setup, struct error *why)
{
	/* Our own commands put the others in place whole, and may have them open still. */
	for (size_t i = 0; i < SETUP_EDITED; i++) {
		const char *path = setup->config.registry_where;
		char place[4096];

		if (own[i]) {
			if (state_path(own[i], place, sizeof(place)) < 0)
				continue;
			path = place;
		}
		if (!registry_is_being_written(path))
			continue;
		error_usage(why, "%s: it is being written", path);
		return false;
	}
	return true;
}

bool setup_is_only_tokens(const struct setup *setup)
{
	struct setup_mark now;
	char place[4096];

	mark_of(setup->config.registry_where, &now);
	if (memcmp(&now, &setup->marks[0], sizeof(now)) != 0)
		return false;
	if (state_path(own[1], place, sizeof(place)) < 0)
		return false;
	mark_of(place, &now);
	return memcmp(&now, &setup->marks[1], sizeof(now)) == 0;
}

void setup_changed(struct setup *setup, char *names, size_t size)
{
	size_t used = 0;

	names[0] = '\0';
	for (size_t i = 0; i < SETUP_FILES; i++) {
		const char *path = setup->config.registry_where;
		struct setup_mark now;
		char place[4096];

		if (own[i]) {
			if (state_path(own[i], place, sizeof(place)) < 0)
				continue;
			path = place;
		}
		mark_of(path, &now);
		if (memcmp(&now, &setup->marks[i], sizeof(now)) != 0 && used < size)
			used += (size_t)snprintf(names + used, size - used, "%s%s", used > 0 ? ", " : "", path);
		setup->marks[i] = now;
	}
}

int setup_open(struct setup *setup, const struct serve_options *options, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char names[64];
	size_t size;

	setup->options = options;
	if (load(setup, &setup->config, err) < 0 || load_tls(setup, err) < 0 || listen_tcp(setup, err) < 0 ||
	    encode(setup, &setup->config, &text, &size, err) < 0)
		return -1;
	settle(setup);
	setup_changed(setup, names, sizeof(names));
	watch_files(setup);
	setup->config_fd = memory_of("configuration", text, size, err);
	return setup->config_fd < 0 ? -1 : 0;
}

void setup_close(struct setup *setup)
{
	config_free(&setup->config);
	close_fd(&setup->tcp);
	close_fd(&setup->config_fd);
	close_fd(&setup->tls_cert);
	close_fd(&setup->tls_key);
	close_fd(&setup->watch);
}

static bool is_same(int fd, const char *text, size_t size)
{
	_cleanup_free_ char *old = malloc(size + 1);

	return old && pread(fd, old, size + 1, 0) == (ssize_t)size && memcmp(old, text, size) == 0;
}

/* A .env that had settings and is empty was cut, by an editor or a full disk. Whoever wants none removes it or says so.
 */
static int check_emptied(const struct setup *setup, struct error *err)
{
	for (size_t i = 0; i < CONFIG_KEYS; i++) {
		const struct config_value *value = &setup->config.values[i];
		struct stat st;

		if (value->source == CONFIG_FILE && stat(value->where, &st) == 0 && st.st_size == 0)
			return error_usage(err,
					   "%s: the file is empty and had settings; remove it, or write a comment (#) "
					   "into it, for one without settings",
					   value->where);
	}
	return 0;
}

int setup_reload(struct setup *setup, bool *changed, struct buf *weaker, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	struct config config;
	size_t size;
	int fd;

	*changed = false;
	if (check_emptied(setup, err) < 0 || load(setup, &config, err) < 0)
		return -1;
	if (encode(setup, &config, &text, &size, err) < 0) {
		config_free(&config);
		return -1;
	}
	*changed = !is_same(setup->config_fd, text, size);
	fd = *changed ? memory_of("configuration", text, size, err) : -1;
	if (*changed && fd < 0) {
		config_free(&config);
		return -1;
	}
	if (*changed) {
		close_fd(&setup->config_fd);
		setup->config_fd = fd;
	}
	config_weaker(&setup->config, &config, weaker);
	config_free(&setup->config);
	setup->config = config;
	/* Roles that are started from now on find it there. */
	return config_export(&setup->config) == 0 ? 0
						  : error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the settings");
}

void setup_journal(const struct setup *setup, int nudge, struct journal **out)
{
	struct error ignored;

	*out = NULL;
	if (journal_open(out, &ignored) == 0)
		journal_nudge(*out, nudge);
}

void setup_record(struct journal *journal, const char *event, const char *detail)
{
	json_t *fields = journal ? json_pack("{s:s?}", "detail", detail) : NULL;
	_cleanup_free_ char *text = fields ? json_dumps(fields, JSON_COMPACT) : NULL;
	struct error ignored;

	json_decref(fields);
	if (text)
		record_event(journal, event, text, &ignored);
}
