#include "engine/local/plan.h"

#include "base/own.h"
#include "base/text.h"
#include "kernel/seccomp.h"

#include <inttypes.h>

static const char *const names[OP_KINDS] = {
	[OP_JOIN] = "join",         [OP_NETNS] = "netns",
	[OP_MAPPED] = "mapped",     [OP_BECOME] = "become",
	[OP_LEASH] = "leash",       [OP_CGROUPNS] = "cgroupns",
	[OP_HOSTNAME] = "hostname", [OP_LOOPBACK] = "loopback", [OP_PLANT] = "plant",
	[OP_ISOLATE] = "isolate",   [OP_TREE] = "tree",
	[OP_ROOT] = "root",         [OP_DIR] = "dir",
	[OP_LINK] = "link",         [OP_TEXT] = "text",
	[OP_BIND] = "bind",         [OP_DEVICE] = "device",
	[OP_PROC] = "proc",         [OP_MASK] = "mask",
	[OP_WORK] = "work",         [OP_PLACE] = "place",
	[OP_OVERLAY] = "overlay",   [OP_ATTACH] = "attach",
	[OP_COPY] = "copy",         [OP_PIVOT] = "pivot",
	[OP_SEAL] = "seal",         [OP_RLIMIT] = "rlimit",
	[OP_HANDLES] = "handles",   [OP_NO_NEW_PRIVS] = "no-new-privs",
	[OP_LANDLOCK] = "landlock", [OP_CAPS] = "caps",
	[OP_SECCOMP] = "seccomp",   [OP_PROVE] = "prove",
	[OP_EXEC] = "exec",         [OP_FREEZE] = "freeze",
	[OP_PTS] = "pts",           [OP_TERMINAL] = "terminal",
	[OP_MQUEUE] = "mqueue",     [OP_CORES] = "cores",
};

const char *op_name(enum op_kind kind)
{
	return names[kind];
}

static void explain_program(const struct plan *plan, struct buf *out)
{
	for (const char **word = plan->argv; *word; word++)
		buf_printf(out, " %s", *word);
	buf_printf(out, " in %s with", plan->cwd);
	for (const char **word = plan->envp; *word; word++)
		buf_printf(out, " %s", *word);
}

static void explain_rules(const struct plan *plan, struct buf *out)
{
	static const char *const words[] = { "read", "write", "device" };

	buf_printf(out, " abi %d:", plan->landlock);
	for (size_t i = 0; i < plan->rule_count; i++)
		buf_printf(out, " %s %s%s", words[plan->rules[i].access], plan->rules[i].path,
			   i + 1 < plan->rule_count ? "," : "");
}

void op_explain(const struct plan *plan, const struct op *op, int width, struct buf *out)
{
	char size[TEXT_SIZE_MAX];

	buf_printf(out, "%-*s", width, op_name(op->kind));
	switch (op->kind) {
	case OP_BECOME:
		buf_printf(out, " uid 1000, gid 1000%s", op->no_groups ? ", no groups" : "");
		break;
	case OP_DIR:
		buf_printf(out, " /%s mode %04o", op->path, op->mode);
		break;
	case OP_LINK:
		buf_printf(out, " /%s -> %s", op->path, op->from);
		break;
	case OP_TEXT:
		buf_printf(out, " /%s %" PRIu64 " bytes mode %04o", op->path, op->size, op->mode);
		break;
	case OP_BIND:
		buf_printf(out, " /%s from %s read-only", op->path, op->from);
		break;
	case OP_DEVICE:
	case OP_COPY:
		buf_printf(out, " /%s from %s", op->path, op->from ? op->from : "the compiler");
		break;
	case OP_WORK:
		buf_printf(out, " %s, %" PRIu64 " files", text_size_format(op->size, size), op->inodes);
		break;
	case OP_PLACE:
		buf_printf(out, " /%s mode %04o", op->path, op->mode);
		break;
	case OP_CORES:
		buf_printf(out, " /%s, %" PRIu64, op->path, op->cores);
		break;
	case OP_PTS:
		buf_printf(out, " /%s, at most %" PRIu64, op->path, op->most);
		break;
	case OP_TERMINAL:
		buf_printf(out, " %" PRIu64 " rows, %" PRIu64 " columns", op->rows, op->columns);
		break;
	case OP_PROC:
	case OP_MASK:
	case OP_MQUEUE:
	case OP_FREEZE:
		buf_printf(out, " /%s", op->path);
		break;
	case OP_ATTACH:
	case OP_OVERLAY:
		buf_printf(out, " /%s from %s", op->path, op->from);
		break;
	case OP_TREE:
		buf_printf(out, " %s", op->from);
		break;
	case OP_HOSTNAME:
	case OP_SEAL:
	case OP_PROVE:
		buf_printf(out, " %s", op->path);
		break;
	case OP_RLIMIT:
		buf_printf(out, " %s %" PRIu64, op->path, op->value);
		break;
	case OP_LANDLOCK:
		explain_rules(plan, out);
		break;
	case OP_SECCOMP:
		buf_text(out, op->profile == SECCOMP_ACCOUNTED    ? " accounted"
			      : op->profile == SECCOMP_RESTRICTED ? " restricted"
								  : " box");
		for (size_t i = 0; i < op->count; i++)
			buf_printf(out, "%s %s", i == 0 ? ", and" : "", seccomp_call_name(((const int *)op->data)[i]));
		break;
	case OP_EXEC:
		explain_program(plan, out);
		break;
	default:
		while (out->size > 0 && out->data[out->size - 1] == ' ')
			out->data[--out->size] = '\0';
		break;
	}
}

void plan_explain(const struct plan *plan, struct buf *out)
{
	for (size_t i = 0; i < plan->op_count; i++) {
		op_explain(plan, &plan->ops[i], 12, out);
		buf_text(out, "\n");
	}
}
