/*
 * What a caller and a profile make of a request.
 *
 * What the request says itself stands. What it leaves open comes from the
 * environment of the service, then from the profile; a token's bounds hold
 * whoever said what. A profile that needs a confirmation gets it as a text that
 * the front made: it is bound to the caller and to every byte of the request, is
 * good for ten minutes, and once.
 */
#include "daemon/front/front_parts.h"

#include "base/own.h"
#include "base/text.h"
#include "policy/in_force.h"
#include "registry/profile.h"
#include "language/runtime.h"
#include "store/record.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <mbedtls/md.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

enum {
	CONFIG_MAX = 8 << 20, /* bytes of a configuration */
	NONCE = 16,           /* random bytes in a confirmation */
	SEAL = 32,            /* bytes of its HMAC */
	ABOUT = sizeof(struct message_run)
};

/* Whoever agrees to a shell without its input agrees to anything. */
#define INPUT_LATER " (its input comes later, and is not shown with it)"

char *policy_in_force(const struct front *front)
{
	struct buf text = { 0 };

	in_force_write(&front->config.registry, front->config.policy, &text);
	if (!text.failed)
		return buf_take(&text);
	buf_free(&text);
	return NULL;
}

const struct token *policy_token(const struct front *front, const char *name)
{
	for (size_t i = 0; i < front->config.tokens.count; i++)
		if (strcmp(front->config.tokens.tokens[i].name, name) == 0)
			return &front->config.tokens.tokens[i];
	return NULL;
}

/* Takes the descriptor. */
int policy_load(struct front *front, int memory, struct error *err)
{
	_cleanup_close_ int fd = memory;
	_cleanup_free_ char *text = NULL;
	struct front_config config = { 0 };
	struct stat st = { 0 };

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_size > CONFIG_MAX))
		return error_set(err, ERROR_FAILED, EFBIG, "cannot take the configuration");
	text = malloc((size_t)st.st_size + 1);
	if (!text || (fd >= 0 && pread(fd, text, (size_t)st.st_size, 0) != st.st_size))
		return error_errno(err, "cannot read the configuration");
	text[st.st_size] = '\0';
	if (fd >= 0 && config_decode(text, (size_t)st.st_size, &config, err) < 0)
		return -1;
	front_config_free(&front->config);
	front->config = config;
	return 0;
}

void policy_end_containers(struct front *front, const char *name)
{
	char question[128];

	if (policy_token(front, name))
		return;
	/* A name is of letters, digits and what needs no escape. */
	snprintf(question, sizeof(question), "{\"what\":\"container_end\",\"caller\":\"%.64s\"}", name);
	ask(front, NULL, false, question, NULL);
}

int policy_change(struct front *front, int memory, struct error *err)
{
	struct front_config before = front->config;
	int done;

	front->config = (struct front_config){ 0 };
	done = policy_load(front, memory, err);
	if (done < 0) {
		front->config = before;
		return -1;
	}
	for (size_t i = 0; i < before.tokens.count; i++)
		policy_end_containers(front, before.tokens.tokens[i].name);
	front_config_free(&before);
	return 0;
}

static const char *get_said(void *list, const char *key)
{
	const struct buf *from = list;

	return request_value(from->data + ABOUT, from->size - ABOUT, key);
}

static int put_default(void *list, const char *key, const char *value, struct error *err)
{
	request_put(list, key, value);
	return 0;
}

static int put_nothing(void *list, const char *key, const char *value, struct error *err)
{
	(void)list, (void)key, (void)value, (void)err;
	return 0;
}

/* A container has its limits since it was started. Only the times and the size of the output are a request's own, and
 * no more than its token allows; what it does not say is the container's. */
static int bound_inside(const struct token *token, const struct profile_target *target, struct error *err)
{
	struct profile_target as_said = *target;
	struct token times = token ? *token : (struct token){ 0 };

	as_said.set = put_nothing;
	for (size_t i = 0; i < LIMITS; i++)
		if (!(limit_rows[i].flags & LIMIT_OF_RUN))
			times.limits.of[i] = NULL;
	return token ? profile_settle(NULL, &times, NULL, NULL, &as_said, err) : 0;
}

/* What is agreed to beside what is run: where, how and for how long. All of the manner counts, whatever is added to it,
 * but for the confirmation itself and how the answer is to be told. */
static int seal_manner(mbedtls_md_context_t *md, const struct peer *peer)
{
	struct request_manner manner = peer->manner;
	const unsigned char kind = peer->about.kind == RUN_START ? 1 : peer->about.kind == RUN_SESSION ? 2 : 0;
	int failed = mbedtls_md_hmac_update(md, &kind, sizeof(kind));

	_Static_assert(_Alignof(struct request_manner) == 1, "each of its bytes is a field's: there is no padding");
	manner.stream = false;
	memset(manner.nested, 0, sizeof(manner.nested));
	memset(manner.confirm, 0, sizeof(manner.confirm));
	failed = failed ?: mbedtls_md_hmac_update(md, (const unsigned char *)&manner, sizeof(manner));
	failed = failed ?: mbedtls_md_hmac_update(md, (const unsigned char *)&peer->about.ttl, sizeof(peer->about.ttl));
	failed = failed
			 ?: mbedtls_md_hmac_update(md, (const unsigned char *)&peer->about.idle_ttl,
						   sizeof(peer->about.idle_ttl));
	return failed
		       ?: mbedtls_md_hmac_update(md, (const unsigned char *)peer->about.name,
						 strlen(peer->about.name) + 1);
}

/* Over the time, the chance, the caller and the request. */
static int seal(const struct front *front, const struct peer *peer, uint64_t until, const unsigned char nonce[NONCE],
		unsigned char out[SEAL])
{
	mbedtls_md_context_t md;
	int failed;

	mbedtls_md_init(&md);
	failed = mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1);
	failed = failed ?: mbedtls_md_hmac_starts(&md, front->secret, sizeof(front->secret));
	failed = failed ?: mbedtls_md_hmac_update(&md, (const unsigned char *)&until, sizeof(until));
	failed = failed ?: mbedtls_md_hmac_update(&md, nonce, NONCE);
	failed = failed
			 ?: mbedtls_md_hmac_update(&md, (const unsigned char *)peer->caller.name,
						   strlen(peer->caller.name) + 1);
	failed = failed ?: seal_manner(&md, peer);
	failed = failed
			 ?: mbedtls_md_hmac_update(&md, (const unsigned char *)peer->list.data + ABOUT,
						   peer->list.size - ABOUT);
	failed = failed ?: mbedtls_md_hmac_finish(&md, out);
	mbedtls_md_free(&md);
	return failed ? -1 : 0;
}

/* "eb1-" TIME "-" NONCE "-" SEAL, the last two in hexadecimal digits. */
static int confirm_make(const struct front *front, const struct peer *peer, char out[CONFIRM_MAX])
{
	uint64_t until = (uint64_t)time(NULL) + front->options.times.confirm / 1000;
	unsigned char nonce[NONCE], mark[SEAL];
	char chance[2 * NONCE + 1], sealed[2 * SEAL + 1];

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce) || seal(front, peer, until, nonce, mark) < 0)
		return -1;
	token_hex(nonce, NONCE, chance);
	token_hex(mark, SEAL, sealed);
	snprintf(out, CONFIRM_MAX, "eb1-%" PRIx64 "-%s-%s", until, chance, sealed);
	return 0;
}

static bool same(const unsigned char *a, const unsigned char *b, size_t size)
{
	unsigned char differ = 0;

	for (size_t i = 0; i < size; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

/* Writes down that it is used, for as long as it would be good. NULL, or what is wrong. */
static const char *confirm_note(struct front *front, struct peer *peer, const unsigned char nonce[NONCE],
				uint64_t until)
{
	const uint64_t now = (uint64_t)time(NULL);
	struct confirm_used *place = NULL;
	size_t own = 0;

	for (size_t i = 0; i < CONFIRMS_MAX; i++) {
		struct confirm_used *used = &front->used[i];

		if (used->until >= until && memcmp(used->nonce, nonce, NONCE) == 0)
			return "it was used already; ask again without it";
		if (used->until < now)
			place = used;
		else
			own += used->caller == peer->caller.key;
	}
	/* To forget one that is still good would be to let it be used twice. */
	if (!place || own >= CONFIRMS_EACH)
		return "as many were used in the last minutes as may; ask again later";
	place->until = until;
	place->caller = peer->caller.key;
	memcpy(place->nonce, nonce, NONCE);
	peer->confirmed = place;
	return NULL;
}

/* NULL: it is good, and used up; or what is wrong with it. */
static const char *confirm_use(struct front *front, struct peer *peer, const char *text)
{
	unsigned char nonce[NONCE], given[SEAL], mark[SEAL];
	char chance[2 * NONCE + 1], sealed[2 * SEAL + 1];
	uint64_t until;
	int end = 0;

	if (sscanf(text, "eb1-%16" SCNx64 "-%32[0-9a-f]-%64[0-9a-f]%n", &until, chance, sealed, &end) != 3 ||
	    text[end] != '\0' || !token_unhex(chance, strlen(chance), nonce, NONCE) ||
	    !token_unhex(sealed, strlen(sealed), given, SEAL))
		return "it is not a confirmation; send the one that the service answered with";
	if (seal(front, peer, until, nonce, mark) < 0 || !same(mark, given, SEAL))
		return "it is for another request, or from before the service was restarted; ask again without it";
	if (until < (uint64_t)time(NULL))
		return "it is more than 10 minutes old; ask again without it";
	return confirm_note(front, peer, nonce, until);
}

static enum policy_answer confirm(struct front *front, struct peer *peer, const struct profile *profile,
				  char out[CONFIRM_MAX], struct error *err)
{
	const char *fault;

	if (!peer->manner.confirm[0]) {
		if (confirm_make(front, peer, out) < 0) {
			error_set(err, ERROR_FAILED, ENOMEM, "cannot make a confirmation");
			return POLICY_REFUSED;
		}
		error_refuse(err, CODE_NEEDS_CONFIRMATION, "", "profile \"%s\" needs a confirmation%s", profile->name,
			     peer->manner.input ? INPUT_LATER : "");
		error_remedy(err, MESSAGE_CONFIRM, "");
		error_about(err, "confirm");
		return POLICY_CONFIRM;
	}
	fault = confirm_use(front, peer, peer->manner.confirm);
	if (!fault)
		return POLICY_GO;
	error_field(err, "confirm", "%s", fault);
	return POLICY_REFUSED;
}

static void audit_confirm(struct front *front, const struct peer *peer, enum policy_answer answer)
{
	const char *event = answer == POLICY_CONFIRM ? "confirm_asked" : answer == POLICY_GO ? "confirmed" : "denied";
	json_t *fields = json_pack("{s:s, s:s, s:s, s:s}", "reason", "confirm", "caller", peer->caller.name, "profile",
				   peer->manner.profile, "request_id", peer->about.request_id);
	_cleanup_free_ char *text = fields ? json_dumps(fields, JSON_COMPACT) : NULL;

	json_decref(fields);
	metrics_event(front->metrics, event);
	front_audit(front, event, text ? text : "{}");
}

/* Whether it can be meant is found out here, with what a stranger sent and no right to anything. Of an unknown language
 * the keeper is asked: it sees which are installed, and its sentence names them. */
static enum policy_answer check(const struct peer *peer, struct error *err)
{
	struct spec spec;
	int done;

	spec_init(&spec);
	done = request_decode(peer->list.data + ABOUT, peer->list.size - ABOUT, &spec, err);
	spec_free(&spec);
	if (done == 0 || err->kind == ERROR_LANGUAGE)
		return POLICY_GO;
	peer_name_field(peer, err);
	return POLICY_REFUSED;
}

static void introduce(struct front *front, struct peer *peer, const struct profile *profile)
{
	struct message_run *about = &peer->about;
	const struct message_run said = *about;

	*about = (struct message_run){ .store_code = (uint8_t)record_code_of(front->config.store_code),
				       .ttl = said.ttl,
				       .idle_ttl = said.idle_ttl };
	about->kind = said.kind == RUN_START || said.kind == RUN_SESSION ? said.kind
		      : peer->manner.container[0]                        ? RUN_INSIDE
		      : peer->manner.session[0]                          ? RUN_CELL
									 : RUN_ALONE;
	memcpy(about->name, said.name, sizeof(about->name));
	memcpy(about->request_id, said.request_id, sizeof(about->request_id));
	result_make_id(about->id);
	snprintf(about->door, sizeof(about->door), "%s", peer->via ? peer->via : peer->door->name);
	snprintf(about->caller, sizeof(about->caller), "%s", peer->caller.name);
	snprintf(about->profile, sizeof(about->profile), "%s", profile ? profile->name : peer->manner.applied);
	about->command = peer->manner.command;
	about->sees_all = (peer->caller.scopes & SCOPE_ADMIN) != 0;
}

/* Whether it may be a profile of that language: of the user's own, which may have changed since, the keeper knows. */
static bool language_has(const char *language, const char *name)
{
	const struct runtime *runtime = language ? runtime_find(language) : NULL;

	for (size_t i = 0; runtime && i < runtime->profile_count; i++)
		if (strcmp(runtime->profiles[i].name, name) == 0)
			return true;
	return language && (!runtime || runtime_is_own(runtime));
}

/* As the keeper makes them; also none. */
static bool is_id(const char *text)
{
	return strspn(text, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == strlen(text) && strlen(text) < RESULT_ID;
}

/* A name that the keeper takes: what a client of ours calls its profile. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < 0x20 || *text > 0x7e)
			return false;
	return true;
}

static void audit_bypass(struct front *front, const struct peer *peer)
{
	json_t *fields = json_pack("{s:s, s:s, s:s, s:s}", "reason", "policy", "caller", peer->caller.name, "door",
				   peer->door->name, "request_id", peer->about.request_id);
	_cleanup_free_ char *text = fields ? json_dumps(fields, JSON_COMPACT) : NULL;

	json_decref(fields);
	metrics_event(front->metrics, "policy_bypassed");
	front_audit(front, "policy_bypassed", text ? text : "{}");
}

/* Whether the program's imports are looked at, and by which lists. A request may ask for more than the service does;
 * for less only who is trusted, and it is written down. */
static int settle_policy(struct front *front, struct peer *peer, bool place, struct error *err)
{
	static const char *const words[] = { [POLICY_OFF] = "off", [POLICY_WARN] = "warn", [POLICY_BLOCK] = "block" };
	const enum policy_mode mode = front->config.policy;
	const char *said = get_said(&peer->list, "policy"), *language;
	struct policy_lists lists;
	size_t asked = 0;

	while (said && strcmp(words[asked], said) != 0)
		asked++;
	if (said && asked < (size_t)mode) {
		if (!(peer->caller.scopes & SCOPE_TRUSTED))
			return error_refuse(err, CODE_FORBIDDEN_SCOPE, "policy",
					    "the service's is %s; for less it takes a token with the scope trusted",
					    words[mode]);
		if (front_audit_full(front))
			return error_set(err, ERROR_FAILED, 0,
					 "that the policy is left out cannot be written down now; ask again later");
		audit_bypass(front, peer);
	}
	if (place) {
		_cleanup_free_ char *in_force = policy_in_force(front);

		if (!in_force)
			return error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the request");
		request_put(&peer->list, "policy-in-force", in_force);
		return 0;
	}
	if (!said && mode != POLICY_OFF)
		request_put(&peer->list, "policy", words[mode]);
	language = get_said(&peer->list, "language");
	if (!language || (!said && mode == POLICY_OFF))
		return 0;
	lists = registry_lists(&front->config.registry, language);
	if (lists.block)
		request_put(&peer->list, "policy-block", lists.block);
	if (lists.allow)
		request_put(&peer->list, "policy-allow", lists.allow);
	return 0;
}

void policy_ask(struct front *front, struct peer *peer, const struct error *err)
{
	struct error asking = *err;

	error_about(&asking, "confirm");
	audit_confirm(front, peer, POLICY_CONFIRM);
	peer->door->confirm(front, peer, peer->seal, &asking);
}

enum policy_answer policy_apply(struct front *front, struct peer *peer, const char *json, size_t size,
				char confirmation[CONFIRM_MAX], struct error *err)
{
	static const struct message_run nobody;
	const struct token *token = peer->caller.token ? policy_token(front, peer->caller.name) : NULL;
	const struct profile_target target = { .get = get_said, .set = put_default, .request = &peer->list };
	const struct profile *profile = NULL;
	enum policy_answer answer;
	bool given, place;

	peer->confirmed = NULL;
	connection_empty(&peer->list);
	buf_add(&peer->list, &nobody, sizeof(nobody));
	if (request_parse(json, size, &peer->list, &peer->manner, err) < 0)
		return POLICY_REFUSED;
	place = peer->manner.container[0] || peer->manner.session[0];
	/* Our own client has a registry too, perhaps another one. A stranger's word about it would say nothing. */
	if (peer->manner.applied[0] && peer->door != &door_frames) {
		error_field(err, "applied_profile", "there is no such field; use profile");
		return POLICY_REFUSED;
	}
	if (!is_plain(peer->manner.applied)) {
		error_field(err, "applied_profile", "expected a name of plain characters");
		return POLICY_REFUSED;
	}
	if (peer->manner.profile[0]) {
		const char *language = get_said(&peer->list, "language");

		profile = registry_find(&front->config.registry, peer->manner.profile, NULL);
		/* A language has profiles too. Who comes by frames looked into the registry himself, and hears what a
		 * run without a service would say. */
		if (!profile && !place && !language_has(language, peer->manner.profile) &&
		    (!language || peer->door == &door_http)) {
			profile_unknown(&front->config.registry, language, peer->manner.profile, err);
			return POLICY_REFUSED;
		}
		if (!profile)
			request_put(&peer->list, "profile", peer->manner.profile);
	}
	if (place ? bound_inside(token, &target, err) < 0
		  : profile_defaults(profile, token, &front->config, peer->via != NULL, &target, err) < 0) {
		peer_name_field(peer, err);
		return POLICY_REFUSED;
	}
	if (!place && !get_said(&peer->list, "language")) {
		error_field(err, "language", "it is not set; name one, such as python");
		return POLICY_REFUSED;
	}
	if (get_said(&peer->list, "allow-weaker") && !(peer->caller.scopes & SCOPE_TRUSTED)) {
		error_refuse(err, CODE_FORBIDDEN_SCOPE, "allow_weaker",
			     "to do without a layer of isolation takes a token with the scope trusted");
		return POLICY_REFUSED;
	}
	if (settle_policy(front, peer, place, err) < 0)
		return POLICY_REFUSED;
	if (peer->list.failed) {
		error_set(err, ERROR_FAILED, ENOMEM, "cannot hold the request");
		return POLICY_REFUSED;
	}
	answer = check(peer, err);
	if (answer == POLICY_GO && !is_id(peer->manner.session)) {
		error_refuse(err, CODE_NOT_FOUND, "session", "there is no session of that id");
		return POLICY_REFUSED;
	}
	if (answer == POLICY_GO && !is_id(peer->manner.container)) {
		error_refuse(err, CODE_NOT_FOUND, "container", "there is no container of that id");
		return POLICY_REFUSED;
	}
	peer->seal[0] = '\0';
	/* What a container or a session needs the keeper knows, and says so after it was asked. */
	given = place && peer->manner.confirm[0];
	if (answer == POLICY_GO && (given || (profile && profile->needs_confirm)) && front_audit_full(front)) {
		error_set(err, ERROR_FAILED, 0, "a confirmation cannot be written down now; ask again later");
		return POLICY_REFUSED;
	}
	if (answer == POLICY_GO && (given || (profile && profile->needs_confirm))) {
		answer = confirm(front, peer, profile, confirmation, err);
		audit_confirm(front, peer, answer);
	}
	if (answer == POLICY_GO && place && !given && confirm_make(front, peer, peer->seal) < 0)
		peer->seal[0] = '\0';
	if (answer == POLICY_GO) {
		introduce(front, peer, profile);
		peer->about.asks = profile && profile->needs_confirm && !profile->confirm_once;
		peer->about.confirmed = given;
		snprintf(peer->about.container, sizeof(peer->about.container), "%.*s",
			 (int)sizeof(peer->about.container) - 1,
			 peer->manner.container[0] ? peer->manner.container : peer->manner.session);
	}
	return answer;
}
