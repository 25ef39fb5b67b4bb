#include "schema/host_file.h"

#include "base/own.h"

#include <errno.h>
#include <fcntl.h>

int host_file_open(const char *host, struct stat *st, struct error *err)
{
	_cleanup_close_ int fd = open(host, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return error_field_errno(err, "file", "cannot open \"%s\"", host);
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return error_field(err, "file", "\"%s\" is not a plain file; a directory is given with --project",
				   host);
	return take_fd(&fd);
}
