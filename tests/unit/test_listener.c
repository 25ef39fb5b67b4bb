/* The service's socket: private, one at a time, and never another's. */
#include "../check.h"
#include "tree.h"

#include "base/own.h"
#include "daemon/supervisor/listener.h"

#include <sys/socket.h>
#include <sys/wait.h>

static char *place;    /* a directory */
static char path[108]; /* of the socket in it */

static int try_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

static void it_is_private_and_goes_away(void)
{
	struct listener listener;
	struct error err = { 0 };
	struct stat st;
	mode_t before = umask(0);

	CHECK_INT(listener_open(path, &listener, &err), 0);
	CHECK_INT(umask(before), 0);
	CHECK_INT(lstat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	CHECK_INT(try_connect(), 0);
	listener_remove(&listener);
	CHECK_ERRNO(lstat(path, &st), ENOENT);
	listener_free(&listener);
}

static void a_second_one_is_refused(void)
{
	struct listener listener;
	struct error err = { 0 };
	char sentence[256];
	int status = -1;
	pid_t pid;

	snprintf(sentence, sizeof(sentence), "emberbox is already served at %s (pid %d)", path, (int)getpid());
	CHECK_INT(listener_open(path, &listener, &err), 0);
	/* Also while the first one ends, and has no socket any more. */
	for (int i = 0; i < 2; i++) {
		pid = fork();
		if (pid == 0) {
			struct listener second;

			CHECK_INT(listener_open(path, &second, &err), -1);
			CHECK_STR(err.text, sentence);
			listener_free(&second);
			_exit(check_failed);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK_INT(status, 0);
		CHECK_INT(try_connect(), i == 0 ? 0 : -1);
		listener_remove(&listener);
	}
	listener_free(&listener);
}

static void a_stale_one_is_replaced(void)
{
	struct listener listener;
	struct error err = { 0 };

	CHECK_INT(listener_open(path, &listener, &err), 0);
	/* As a killed one leaves it. */
	close(listener.fd);
	close(listener.lock);
	CHECK_ERRNO(try_connect(), ECONNREFUSED);
	CHECK_INT(listener_open(path, &listener, &err), 0);
	CHECK_INT(try_connect(), 0);
	listener_free(&listener);
}

static void another_file_is_not_removed(void)
{
	struct listener listener;
	struct error err = { 0 };
	struct stat st;
	FILE *file;

	CHECK_INT(listener_open(path, &listener, &err), 0);
	CHECK_INT(unlink(path), 0);
	file = fopen(path, "we");
	CHECK(file != NULL);
	fclose(file);
	listener_free(&listener);
	CHECK_INT(lstat(path, &st), 0);
	CHECK_INT(listener_open(path, &listener, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK(strstr(err.text, "is there, and is not a socket") != NULL);
	listener_free(&listener);
	CHECK_INT(unlink(path), 0);
}

static void refused(const char *where, const char *sentence)
{
	struct listener listener;
	struct error err = { 0 };

	CHECK_INT(listener_open(where, &listener, &err), -1);
	CHECK_INT(err.kind, ERROR_USAGE);
	CHECK(strstr(err.text, sentence) != NULL);
	listener_free(&listener);
}

static void places_that_are_not_ours_are_refused(void)
{
	char long_path[110];

	refused("", "socket: the path has to have 1 to 107 bytes, and \"\" has 0; use --socket or EMBERBOX_SOCKET");
	memset(long_path, 'x', sizeof(long_path));
	long_path[108] = '\0';
	refused(long_path, "x\" has 108; use --socket or EMBERBOX_SOCKET");
	refused("/tmp/emberbox-test.sock", "must belong to you");
	CHECK_INT(chmod(place, 0770), 0);
	refused(path, "no other user may be able to write to it");
	CHECK_INT(chmod(place, 0700), 0);
}

int main(void)
{
	place = tree_new();
	snprintf(path, sizeof(path), "%s/s", place);
	RUN(it_is_private_and_goes_away);
	RUN(a_second_one_is_refused);
	RUN(a_stale_one_is_replaced);
	RUN(another_file_is_not_removed);
	RUN(places_that_are_not_ours_are_refused);
	tree_free(place);
	return check_failures != 0;
}
