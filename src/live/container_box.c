/* A container's box and its agent: made, and taken down. */
#include "live/container_parts.h"

#include "base/own.h"

#include <errno.h>
#include <string.h>

/* Made by the build of src/agent. */
extern const unsigned char agent_data[];
extern const size_t agent_size;

/* The job points into the spec, which has to stay until there is a box. */
static int make_job(struct container *container, const struct engines *engines, const struct spec *spec,
		    struct error *err)
{
	struct resident *home = &container->place.home;
	struct job_given given;

	if (resident_prepare(home, spec, engines, job_run_needs_prepared(spec->runtime), &given, err) < 0 ||
	    job_make(JOB_RUN, spec, &given, &home->job, err) < 0)
		return -1;
	return job_set_agent(&home->job, AGENT_PATH, agent_data, agent_size, home->ttl, err);
}

/* For resident_await_ready(). */
static int hear_hello(struct resident *home)
{
	struct container *container = (struct container *)home;
	struct agent_head head;
	struct agent_hello hello;
	const void *body;
	int got = channel_read(&container->channel);

	if (got < 0 && errno == EAGAIN)
		return 0;
	got = got <= 0 ? -1 : channel_next(&container->channel, &head, &body);
	if (got <= 0)
		return got;
	if (head.kind != AGENT_HELLO || head.order != 0 || head.size != sizeof(hello))
		return -1;
	memcpy(&hello, body, sizeof(hello));
	return hello.version == AGENT_VERSION ? 1 : -1;
}

int container_launch(struct container *container, const struct engines *engines, const struct spec *spec,
		     struct error *err)
{
	struct resident *home = &container->place.home;

	if (make_job(container, engines, spec, err) < 0 || resident_launch(home, engines, err) < 0)
		return -1;
	container->channel.to = home->input;
	container->channel.from = home->output[0];
	if (resident_await_ready(home, container->channel.from, hear_hello) < 0 ||
	    place_describe_box(&container->place, err) < 0 || !resident_begin(home))
		return resident_explain_start(home, err);
	return 0;
}

void container_free(struct place *place)
{
	place_destroy(place);
	free(place);
}
