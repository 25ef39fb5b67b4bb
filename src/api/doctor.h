/*
 * The layers of isolation that this host can enforce, and fixes for the others.
 *
 * The names of the layers are those of a result's meta.isolation.
 * doctor_judge() is pure, so that tests can pass it hosts other than their own.
 */
#pragma once

#include "kernel/probe.h"

#include <emberbox.h>

#include <stdbool.h>
#include <stddef.h>

enum doctor_state {
	DOCTOR_ENFORCED, /* fully enforced */
	DOCTOR_WEAKER,   /* runs are not refused, but the layer is weaker than possible */
	DOCTOR_MISSING,  /* runs are refused unless the layer is waived */
};

struct doctor_row {
	const char *name;        /* name of the layer */
	enum doctor_state state; /* its state */
	char detail[512];        /* details: what is available, or what is missing */
	char fix[512];           /* a command or setting that provides it; "": not needed */
	bool waivable;           /* if it is missing, --allow-weaker can waive it */
};

enum {
	DOCTOR_ROWS = 16
};

struct doctor_host {
	struct probe probe;       /* result of probe_host() */
	unsigned kernel;          /* kernel release: major * 256 + minor; 0: unknown */
	bool overlay;             /* result of probe_overlay(), which needs a user namespace */
	int userns_errno;         /* result of probe_userns(); 0: user namespaces work */
	char userns_why[512];     /* its sentence */
	unsigned namespaces_gone; /* bit i: the kernel lacks doctor_namespaces[i] */
	char lsm[256];            /* the active security modules, "" if unknown */
};

/* The result of checking one source of settings. */
struct doctor_setting {
	const char *name;                               /* name of the source */
	bool wrong;                                     /* runs and the service are refused until it is mended */
	char detail[sizeof(((struct error *)0)->text)]; /* a description, or the error with its place */
	const char *fix;                                /* how to correct it; NULL: not needed */
};

/* File names in /proc/self/ns, ended by NULL. */
extern const char *const doctor_namespaces[];

int doctor_look(struct doctor_host *host, struct error *err);
/* Returns the number of rows. */
size_t doctor_judge(const struct doctor_host *host, struct doctor_row rows[static DOCTOR_ROWS]);
/* eb_doctor() with the results for the settings; `count` 0: not checked, and not mentioned. */
int doctor_report(bool json, const struct doctor_setting *settings, size_t count, int *healthy, char **text,
		  eb_error *err);
