#include "live/channel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

size_t channel_room(const struct channel *channel)
{
	size_t left = sizeof(channel->out) - channel->out_size;

	return left > sizeof(struct agent_head) ? left - sizeof(struct agent_head) : 0;
}

static void put_bytes(struct channel *channel, const void *data, size_t size)
{
	if (size > 0)
		memcpy(channel->out + channel->out_size, data, size);
	channel->out_size += size;
}

bool channel_put(struct channel *channel, enum agent_kind kind, uint32_t order, const void *head, size_t head_size,
		 const void *body, size_t size)
{
	const struct agent_head frame = { .kind = kind, .order = order, .size = (uint32_t)(head_size + size) };

	if (sizeof(channel->out) - channel->out_size < sizeof(frame) + head_size + size)
		return false;
	put_bytes(channel, &frame, sizeof(frame));
	put_bytes(channel, head, head_size);
	put_bytes(channel, body, size);
	return true;
}

bool channel_waits(const struct channel *channel)
{
	return channel->out_used < channel->out_size;
}

int channel_write(struct channel *channel)
{
	while (channel_waits(channel)) {
		ssize_t n = write(channel->to, channel->out + channel->out_used, channel->out_size - channel->out_used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -1;
		channel->out_used += (size_t)n;
	}
	channel->out_size = channel->out_used = 0;
	return 0;
}

int channel_read(struct channel *channel)
{
	ssize_t n;

	channel->in_size -= channel->in_used;
	memmove(channel->in, channel->in + channel->in_used, channel->in_size);
	channel->in_used = 0;
	do
		n = read(channel->from, channel->in + channel->in_size, sizeof(channel->in) - channel->in_size);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		channel->in_size += (size_t)n;
	return n < 0 ? -1 : n > 0;
}

int channel_next(struct channel *channel, struct agent_head *head, const void **body)
{
	size_t there = channel->in_size - channel->in_used;

	if (there < sizeof(*head))
		return 0;
	memcpy(head, channel->in + channel->in_used, sizeof(*head));
	if (head->size > AGENT_FRAME_MAX || head->spare != 0)
		return -1;
	if (there - sizeof(*head) < head->size)
		return 0;
	*body = channel->in + channel->in_used + sizeof(*head);
	channel->in_used += sizeof(*head) + head->size;
	return 1;
}
