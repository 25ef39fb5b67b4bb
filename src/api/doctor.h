/*
 * What this host can enforce, layer by layer, and what gives the rest.
 *
 * The names of the layers are those of a result's meta.isolation. Looking and
 * telling are apart: doctor_judge() is pure, so that tests can show it hosts
 * that they do not run on.
 */
#pragma once

#include "kernel/probe.h"

#include <emberbox.h>

#include <stdbool.h>
#include <stddef.h>

enum doctor_state {
	DOCTOR_ENFORCED, /* as it should be */
	DOCTOR_WEAKER,   /* runs are not refused, but less is enforced than could be */
	DOCTOR_MISSING,  /* runs are refused unless the layer is waived */
};

struct doctor_row {
	const char *name;        /* the layer */
	enum doctor_state state; /* how it is */
	char detail[512];        /* what there is, or what is missing */
	char fix[512];           /* the command or setting that gives it; "" when nothing is to be done */
	bool waivable;           /* missing, a run can do without it by --allow-weaker */
};

enum {
	DOCTOR_ROWS = 16
};

struct doctor_host {
	struct probe probe;       /* what probe_host() found */
	unsigned kernel;          /* its release: major * 256 + minor; 0: not known */
	bool overlay;             /* of probe_overlay(), which needs a user namespace */
	int userns_errno;         /* of probe_userns(), 0: they can be made */
	char userns_why[512];     /* its sentence */
	unsigned namespaces_gone; /* bit i: doctor_namespaces[i] is not in this kernel */
	char lsm[256];            /* the active security modules, "" when they cannot be read */
};

/* What is set where, by who knows settings. */
struct doctor_setting {
	const char *name;                               /* what was looked at */
	bool wrong;                                     /* runs and the service are refused until it is mended */
	char detail[sizeof(((struct error *)0)->text)]; /* what is there, or what is wrong, with its place */
	const char *fix;                                /* what to do; NULL: nothing */
};

/* File names in /proc/self/ns, ended by NULL. */
extern const char *const doctor_namespaces[];

int doctor_look(struct doctor_host *host, struct error *err);
/* How many rows it filled. */
size_t doctor_judge(const struct doctor_host *host, struct doctor_row rows[static DOCTOR_ROWS]);
/* eb_doctor() with a look at the settings; `count` 0: nobody looked, and nothing is said of them. */
int doctor_report(bool json, const struct doctor_setting *settings, size_t count, int *healthy, char **text,
		  eb_error *err);
