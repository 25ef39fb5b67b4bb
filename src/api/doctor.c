#include "api/doctor.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/own.h"
#include "api/languages.h"
#include "api/public.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *const doctor_namespaces[] = { "user", "pid", "mnt", "net", "ipc", "uts", "cgroup", NULL };

/* Names of layers, in the order of doctor_namespaces. */
static const char *const namespace_layers[] = {
	"user-namespace", "pid-namespace", "mount-namespace",  "network-namespace",
	"ipc-namespace",  "uts-namespace", "cgroup-namespace",
};

static const char *const state_names[] = { "enforced", "weaker", "missing" };

int doctor_look(struct doctor_host *host, struct error *err)
{
	struct utsname kernel;
	unsigned major, minor;

	memset(host, 0, sizeof(*host));
	if (uname(&kernel) == 0 && sscanf(kernel.release, "%u.%u", &major, &minor) == 2 && minor < 256)
		host->kernel = major * 256 + minor;
	if (probe_host(&host->probe, err) < 0)
		return -1;
	host->overlay = probe_overlay();
	host->userns_errno = probe_userns(host->userns_why, sizeof(host->userns_why));
	for (size_t i = 0; doctor_namespaces[i]; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", doctor_namespaces[i]);
		if (access(path, F_OK) < 0)
			host->namespaces_gone |= 1u << i;
	}
	if (fd_slurp(AT_FDCWD, "/sys/kernel/security/lsm", host->lsm, sizeof(host->lsm)) < 0)
		host->lsm[0] = '\0';
	host->lsm[strcspn(host->lsm, "\n")] = '\0';
	return 0;
}

struct rows {
	struct doctor_row *at; /* the table */
	size_t count;          /* number of rows */
};

__attribute__((format(printf, 4, 5))) static struct doctor_row *
row_add(struct rows *rows, const char *name, enum doctor_state state, const char *format, ...)
{
	struct doctor_row *row = &rows->at[rows->count++];
	va_list args;

	*row = (struct doctor_row){ .name = name, .state = state };
	va_start(args, format);
	vsnprintf(row->detail, sizeof(row->detail), format, args);
	va_end(args);
	return row;
}

__attribute__((format(printf, 2, 3))) static void row_fix(struct doctor_row *row, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(row->fix, sizeof(row->fix), format, args);
	va_end(args);
}

/* Splits a sentence of a probe, "…: COMMAND", into the detail and the fix. */
static void row_split(struct doctor_row *row, const char *sentence)
{
	const char *with = strstr(sentence, " with: ");
	const char *semicolon = strstr(sentence, "; ");

	if (with) {
		const char *end = semicolon && semicolon < with ? semicolon : with;

		snprintf(row->detail, sizeof(row->detail), "%.*s", (int)(end - sentence), sentence);
		row_fix(row, "%s", with + strlen(" with: "));
	} else if (semicolon) {
		snprintf(row->detail, sizeof(row->detail), "%.*s", (int)(semicolon - sentence), sentence);
		row_fix(row, "%s", semicolon + 2);
	} else {
		snprintf(row->detail, sizeof(row->detail), "%s", sentence);
	}
}

static void judge_namespaces(const struct doctor_host *host, struct rows *rows)
{
	struct doctor_row *row;

	for (size_t i = 0; doctor_namespaces[i]; i++) {
		const char *name = namespace_layers[i];

		if (host->namespaces_gone & 1u << i) {
			row = row_add(rows, name, DOCTOR_MISSING, "this kernel has none");
			row_fix(row, "a kernel with CONFIG_NAMESPACES and all that belongs to it, as distributions "
				     "build it");
		} else if (host->userns_errno != 0 && i == 0) {
			row = row_add(rows, name, DOCTOR_MISSING, "%s", host->userns_why);
			row_split(row, host->userns_why);
		} else if (host->userns_errno != 0) {
			row = row_add(rows, name, DOCTOR_MISSING, "cannot be had without a user namespace");
			row_fix(row, "see user-namespace");
		} else if (i == 0 && host->probe.range) {
			row_add(rows, name, DOCTOR_ENFORCED, "uid 1000 inside, and another host uid for each box");
		} else if (i == 0) {
			row_add(rows, name, DOCTOR_ENFORCED,
				"uid 1000 inside, your own uid %u outside (as root each box gets another)",
				(unsigned)host->probe.uid);
		} else {
			row_add(rows, name, DOCTOR_ENFORCED, "%s",
				i == 3 ? "empty, with a loopback of its own" : "its own");
		}
	}
}

static void judge_cgroup(const struct doctor_host *host, struct rows *rows)
{
	const struct cgroup_site *site = &host->probe.cgroup;
	struct doctor_row *row;

	if (site->version > 0) {
		bool cpu = site->where[CGROUP_CPU] >= 0;

		row = row_add(rows, "cgroup", cpu ? DOCTOR_ENFORCED : DOCTOR_WEAKER, "v%d memory,pids%s below %s%s",
			      site->version, cpu ? ",cpu" : "", site->base[0],
			      cpu ? "" : "; cores cannot be limited, and a limit on them is refused");
		if (!cpu)
			row_fix(row,
				"a delegated subtree with the cpu controller, or a kernel with CONFIG_CFS_BANDWIDTH");
		return;
	}
	row = row_add(rows, host->probe.range ? "cgroup" : "accounting",
		      host->probe.range ? DOCTOR_MISSING : DOCTOR_WEAKER, "%s", site->why);
	row_split(row, site->why);
	row->waivable = host->probe.range;
	if (!host->probe.range) {
		size_t used = strlen(row->detail);

		snprintf(row->detail + used, sizeof(row->detail) - used,
			 "%smemory is added up by emberbox, and rlimits bound the rest; cores cannot be limited, "
			 "and a limit on them is refused without --allow-weaker cgroup",
			 used ? ": " : "");
		/* systemd gives a user's scopes the controllers that the user manager has. */
		if (!*row->fix)
			row_fix(row, "systemd-run --user --scope -p Delegate=yes emberbox run ...");
	}
}

/* "Linux 5.12 or later", or another fix if the kernel is new enough. */
static void row_fix_kernel(struct doctor_row *row, const struct doctor_host *host, unsigned major, unsigned minor,
			   const char *otherwise)
{
	if (host->kernel < major * 256 + minor)
		row_fix(row, "Linux %u.%u or later", major, minor);
	else
		row_fix(row, "%s", otherwise);
}

static void judge_landlock(const struct doctor_host *host, struct rows *rows)
{
	int abi = host->probe.landlock;
	struct doctor_row *row;

	if (abi >= 6) {
		row_add(rows, "landlock", DOCTOR_ENFORCED, "abi %d: files, signals, abstract sockets", abi);
	} else if (abi > 0) {
		row = row_add(rows, "landlock", DOCTOR_WEAKER, "abi %d: files, but not signals and abstract sockets",
			      abi);
		row_fix_kernel(row, host, 6, 12, "a kernel with Landlock ABI 6: this one says that it is new enough");
	} else {
		row = row_add(rows, "landlock", DOCTOR_MISSING, "not built into this kernel, or switched off%s%s",
			      *host->lsm ? "; active modules: " : "", host->lsm);
		row->waivable = true;
		row_fix(row, "boot %swith lsm=landlock%s%s, or accept it: --allow-weaker landlock",
			host->kernel < 5 * 256 + 13 ? "Linux 5.13 or later " : "",
			*host->lsm ? "," : ",yama,apparmor,bpf", host->lsm);
	}
}

size_t doctor_judge(const struct doctor_host *host, struct doctor_row rows_out[static DOCTOR_ROWS])
{
	struct rows rows = { .at = rows_out };
	struct doctor_row *row;

	judge_namespaces(host, &rows);
	if (host->probe.mount_api) {
		row_add(&rows, "root", DOCTOR_ENFORCED, "mounts have their flags before they can be seen");
	} else {
		row = row_add(&rows, "root", DOCTOR_WEAKER,
			      "built by mount(2); what is mounted below /usr is not shown inside");
		row_fix_kernel(row, host, 5, 12,
			       "permission for mount_setattr(2), which a container's filter may deny");
	}
	if (host->overlay) {
		row_add(&rows, "overlay", DOCTOR_ENFORCED, "a project's directory is visible and cannot be changed");
	} else if (host->userns_errno != 0) {
		row = row_add(&rows, "overlay", DOCTOR_MISSING, "cannot be tried without a user namespace");
		row_fix(row, "see user-namespace");
	} else {
		row = row_add(&rows, "overlay", DOCTOR_WEAKER,
			      "none in user namespaces: projects are refused, and programs can see the paths of "
			      "prepared trees");
		row_fix(row, "%sCONFIG_OVERLAY_FS (modprobe overlay)",
			host->kernel < 5 * 256 + 11 ? "Linux 5.11 or later with " : "a kernel with ");
	}
	judge_cgroup(host, &rows);
	row_add(&rows, "capabilities", DOCTOR_ENFORCED, "none");
	row_add(&rows, "no-new-privs", DOCTOR_ENFORCED, "set-uid programs gain nothing");
	row_add(&rows, "rlimits", DOCTOR_ENFORCED, "by process");
	row = row_add(&rows, "seccomp", host->probe.seccomp ? DOCTOR_ENFORCED : DOCTOR_MISSING, "%s",
		      host->probe.seccomp ? "an allowlist of system calls" : "this kernel has no filters");
	row->waivable = !host->probe.seccomp;
	if (!host->probe.seccomp)
		row_fix(row, "a kernel with CONFIG_SECCOMP_FILTER, or accept it: --allow-weaker seccomp");
	judge_landlock(host, &rows);
	row_add(&rows, "fds", DOCTOR_ENFORCED, "0, 1 and 2 only");
	return rows.count;
}

/* The content of a report. */
struct doctor_report {
	struct doctor_row rows[DOCTOR_ROWS];   /* the layers */
	size_t count;                          /* number of rows */
	const struct doctor_setting *settings; /* results of the settings' checks */
	size_t setting_count;                  /* number of them; 0: not checked */
	bool healthy;                          /* nothing is missing or wrong */
	bool wrong;                            /* a setting is wrong */
	bool waivable;                         /* --allow-weaker can waive everything that is missing */
	struct utsname kernel;                 /* the kernel */
};

static char *report_json(const struct doctor_report *report)
{
	const struct doctor_row *rows = report->rows;
	json_t *layers = json_array(), *settings = json_array(), *root;

	for (size_t i = 0; i < report->count; i++)
		json_array_append_new(layers, json_pack("{s:s, s:s, s:s, s:s?}", "name", rows[i].name, "state",
							state_names[rows[i].state], "detail", rows[i].detail, "fix",
							*rows[i].fix ? rows[i].fix : NULL));
	root = json_pack("{s:b, s:s, s:s, s:i, s:o, s:o}", "healthy", report->healthy, "version", eb_version(),
			 "kernel", report->kernel.release, "uid", (int)geteuid(), "layers", layers, "languages",
			 languages_json());
	for (size_t i = 0; i < report->setting_count; i++) {
		const struct doctor_setting *setting = &report->settings[i];
		_cleanup_buf_ struct buf detail = { 0 };

		/* A path need not be UTF-8, but JSON must be. */
		buf_utf8(&detail, setting->detail, strlen(setting->detail));
		json_array_append_new(settings, json_pack("{s:s, s:s, s:s, s:s?}", "name", setting->name, "state",
							  setting->wrong ? "wrong" : "good", "detail",
							  detail.data ? detail.data : "", "fix", setting->fix));
	}
	if (report->setting_count > 0)
		json_object_set(root, "settings", settings);
	json_decref(settings);
	return languages_dump(root);
}

static char *report_text(const struct doctor_report *report)
{
	const struct doctor_row *rows = report->rows;
	struct buf out = { 0 };

	buf_printf(&out, "emberbox %s on Linux %s as uid %u\n\n", eb_version(), report->kernel.release,
		   (unsigned)geteuid());
	buf_printf(&out, "%-18s %-9s %s\n", "LAYER", "STATE", "DETAIL");
	for (size_t i = 0; i < report->count; i++) {
		buf_printf(&out, "%-18s %-9s %s\n", rows[i].name, state_names[rows[i].state], rows[i].detail);
		if (*rows[i].fix)
			buf_printf(&out, "%-28s fix: %s\n", "", rows[i].fix);
	}
	buf_text(&out, "\n");
	languages_table(&out);
	if (report->setting_count > 0)
		buf_printf(&out, "\n%-18s %-9s %s\n", "SETTINGS", "STATE", "DETAIL");
	for (size_t i = 0; i < report->setting_count; i++) {
		const struct doctor_setting *setting = &report->settings[i];

		buf_printf(&out, "%-18s %-9s %s\n", setting->name, setting->wrong ? "wrong" : "good", setting->detail);
		if (setting->fix)
			buf_printf(&out, "%-28s fix: %s\n", "", setting->fix);
	}
	buf_text(&out, report->healthy ? "\nEverything that a run needs is here.\n"
		       : report->wrong
			       ? "\nA setting is wrong: runs and the service are refused until it is corrected.\n"
		       : report->waivable
			       ? "\nSomething that a run needs is missing: runs are refused until it is available or "
				 "accepted by --allow-weaker.\n"
			       : "\nSomething that a run needs is missing: runs are refused until it is available.\n");
	return buf_take(&out);
}

int doctor_report(bool json, const struct doctor_setting *settings, size_t count, int *healthy, char **text,
		  eb_error *err)
{
	struct doctor_report report = { .settings = settings, .setting_count = count, .healthy = languages_any() };
	struct doctor_host host;
	struct error inner = { 0 };

	if (doctor_look(&host, &inner) < 0)
		return public_error(err, &inner);
	report.count = doctor_judge(&host, report.rows);
	report.waivable = report.healthy;
	for (size_t i = 0; i < report.count; i++) {
		const struct doctor_row *row = &report.rows[i];

		report.healthy = report.healthy && row->state != DOCTOR_MISSING;
		report.waivable = report.waivable && (row->state != DOCTOR_MISSING || row->waivable);
	}
	for (size_t i = 0; i < count; i++)
		report.wrong |= settings[i].wrong;
	report.healthy = report.healthy && !report.wrong;
	uname(&report.kernel);
	*healthy = report.healthy;
	*text = json ? report_json(&report) : report_text(&report);
	if (!*text)
		return public_error(err,
				    &(struct error){ .kind = ERROR_FAILED, .code = CODE_FAILED, .text = "no memory" });
	return 0;
}

int eb_doctor(int json, int *healthy, char **text, eb_error *err)
{
	return doctor_report(json, NULL, 0, healthy, text, err);
}
