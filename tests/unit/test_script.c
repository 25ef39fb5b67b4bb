#include "check.h"
#include "engine/ember/script.h"

static const char *const early[] = { "LD_*", "TZ", NULL };

/* Variables, as words. */
struct env {
	char text[128]; /* where they are */
	char *list[16]; /* each, NULL at the end */
};

static void env_split(struct env *env, const char *words)
{
	size_t n = 0;

	snprintf(env->text, sizeof(env->text), "%s", words);
	for (char *word = strtok(env->text, " "); word; word = strtok(NULL, " "))
		env->list[n++] = word;
	env->list[n] = NULL;
}

static bool differs(const char *words, const char *others)
{
	struct env one, other;
	bool result;

	env_split(&one, words);
	env_split(&other, others);
	result = script_env_differs(one.list, other.list, early);
	/* Neither side is the first. */
	CHECK(script_env_differs(other.list, one.list, early) == result);
	return result;
}

static void env_of_others_may_differ(void)
{
	CHECK(!differs("PATH=/bin A=1", "A=2 B= TZX=1 T=1 LD=1"));
	CHECK(!differs("PATH=/bin A=1", ""));
	CHECK(!differs("", ""));
}

static void env_early_is_the_same(void)
{
	CHECK(!differs("TZ=UTC LD_BIND_NOW=1 A=1", "B=1 LD_BIND_NOW=1 TZ=UTC"));
}

static void env_early_differs(void)
{
	CHECK(differs("A=1", "A=1 TZ=UTC"));
	CHECK(differs("A=1 TZ=UTC", "A=1 TZ=UT"));
	CHECK(differs("A=1", "TZ= A=1"));
	CHECK(differs("TZ=", "TZ=UTC"));
	CHECK(differs("A=1", "A=1 LD_LIBRARY_PATH=/"));
}

static void rehearsal_leaves_data_alone(void)
{
	static int written = 42;
	static char zero[65536];

	script_rehearse(0);
	CHECK_INT(written, 42);
	CHECK_INT(zero[0] | zero[sizeof(zero) - 1], 0);
	written = 43;
	zero[sizeof(zero) / 2] = 1;
	CHECK_INT(written + zero[sizeof(zero) / 2], 44);
}

int main(void)
{
	RUN(env_of_others_may_differ);
	RUN(env_early_is_the_same);
	RUN(env_early_differs);
	RUN(rehearsal_leaves_data_alone);
	return check_failures != 0;
}
