/*
 * What the conformance suite of MCP wants a server to have, only in builds for
 * tests (-Dfaults=true): a service that was started with
 * EMBERBOX_TEST_MCP_FIXTURES answers by tests/mcp/fixtures.json what is none of
 * its own. In every other build all of this is nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct front;
struct peer;

#ifdef EMBERBOX_FAULTS

/* In the supervisor: whether they are wanted. */
bool mcp_fixtures_wanted(void);
/* Whether the message was for one of them, and was answered. */
bool mcp_fixture(struct front *front, struct peer *peer);
/* A person's answer to what one of them asked. */
void mcp_fixture_decided(struct front *front, struct peer *peer, const json_t *answer);
void mcp_fixture_tools(struct front *front, json_t *list);
void mcp_fixture_capabilities(struct front *front, json_t *capabilities);

#else

static inline bool mcp_fixtures_wanted(void)
{
	return false;
}

static inline bool mcp_fixture(struct front *front, struct peer *peer)
{
	(void)front, (void)peer;
	return false;
}

static inline void mcp_fixture_decided(struct front *front, struct peer *peer, const json_t *answer)
{
	(void)front, (void)peer, (void)answer;
}

static inline void mcp_fixture_tools(struct front *front, json_t *list)
{
	(void)front, (void)list;
}

static inline void mcp_fixture_capabilities(struct front *front, json_t *capabilities)
{
	(void)front, (void)capabilities;
}

#endif
