/*
 * Ruby as a zygote.
 *
 * Ruby opens its program and looks at its first byte, for `#!`, before it loads
 * RubyGems and the libraries of -r, which is nearly all of its start; it reads
 * the rest after that. So a zygote is given another file in its place, waits in
 * the driver of -r (runtimes/ruby/sync.rb), and in a fork the program is put
 * behind the same descriptor and Ruby's File object rewound. Ruby then goes on
 * by itself: no frame, constant or loaded feature tells of it.
 */
#pragma once

/* Ruby opens the program of its command line: a descriptor of `driver` in its place, or -1 with errno. */
int ruby_opens(const char *path, const char *driver);

/* The driver asked for its process group: the point. Returns in forks, and at once if it is none. */
void ruby_asks(void);

/* The same in a process that is no zygote: its output may wait, and it says where. */
void ruby_tell(void);
