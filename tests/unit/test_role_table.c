/* The table of roles: what the supervisor relies on. */
#include "../check.h"

#include "daemon/supervisor/role_table.h"

#include <string.h>

static const struct role_peer *peer_of(enum role role, enum role other)
{
	for (const struct role_peer *peer = role_table[role]->peers; peer->word; peer++)
		if (peer->other == other)
			return peer;
	return NULL;
}

static void has_a_row_for_each_role(void)
{
	for (int i = 0; i < ROLES; i++) {
		const struct role_row *row = role_table[i];

		CHECK(row && row->confine && row->run);
		CHECK(*row->name && strlen(row->name) < ROLE_NAME_MAX);
		CHECK(role_table_has(row->name));
		for (int other = 0; other < i; other++)
			CHECK(strcmp(row->name, role_table[other]->name) != 0);
	}
	CHECK(role_table_has("stem"));
	CHECK(!role_table_has("fronts") && !role_table_has(""));
}

/* A pair of sockets has two ends, and a word says which role an end leads to. */
static void peers_name_each_other(void)
{
	for (int i = 0; i < ROLES; i++) {
		const struct role_peer *peers = role_table[i]->peers;

		for (const struct role_peer *peer = peers; peer->word; peer++) {
			CHECK(peer - peers < ROLES - 1);
			CHECK(peer->other != (enum role)i && peer->other < ROLES && peer->complaint);
			CHECK(peer_of(peer->other, (enum role)i));
			/* Words of the other kind would be taken for these. */
			CHECK(!strchr((const char[]){ ROLE_CONFIG, ROLE_STALE, ROLE_CURRENT, ROLE_DRAIN, ROLE_RELOAD,
						      ROLE_LANGUAGES, ROLE_READY, 0 },
				      peer->word));
			for (const struct role_peer *before = peers; before < peer; before++)
				CHECK(before->word != peer->word && before->other != peer->other);
		}
	}
}

/* Who waited for another that waits for him would be killed in the end, and not end. */
static void roles_end_one_after_the_other(void)
{
	unsigned ended = 0;

	for (int round = 0; round < ROLES; round++)
		for (int i = 0; i < ROLES; i++)
			if (!(role_table[i]->outlives & ~ended))
				ended |= ROLE_BIT(i);
	CHECK_INT(ended, ROLE_BIT(ROLES) - 1);
	CHECK_INT(role_table[ROLE_FRONT]->outlives, 0);
}

static void descriptors_are_found_by_their_bits(void)
{
	const struct role_settings settings = { .given = GIVEN_TCP | GIVEN_TLS_CERT | GIVEN_TLS_KEY };
	const int fds[ROLE_FDS] = { 10, 11, 12, -1, -1, -1 };

	CHECK_INT(role_fd(&settings, fds, GIVEN_LISTENER), -1);
	CHECK_INT(role_fd(&settings, fds, GIVEN_TCP), 10);
	CHECK_INT(role_fd(&settings, fds, GIVEN_CONFIG), -1);
	CHECK_INT(role_fd(&settings, fds, GIVEN_TLS_CERT), 11);
	CHECK_INT(role_fd(&settings, fds, GIVEN_TLS_KEY), 12);
	CHECK_INT(role_fd(&settings, fds, GIVEN_NUDGE), -1);
	for (int i = 0; i < ROLES; i++)
		CHECK(__builtin_popcount(role_table[i]->given) <= ROLE_FDS);
}

int main(void)
{
	RUN(has_a_row_for_each_role);
	RUN(peers_name_each_other);
	RUN(roles_end_one_after_the_other);
	RUN(descriptors_are_found_by_their_bits);
	return check_failures ? 1 : 0;
}
