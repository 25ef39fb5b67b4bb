/* Kinds of failures of any language: the box's limits, as the C library and the kernel report them. */
#include "explain/explain_parts.h"

#include "base/own.h"

#define LIST(...)                                                                                                      \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

/* A quoted path, before or after the words for an errno. */
#define PATH "(?<path>/[^\\s'\"’`:,)]+)"
/* A path outside of the program, in a message that names its source. */
#define OTHER_PATH "(?<![\\w.-])(?!/sandbox/code/)" PATH
/* A host in the failing line. */
#define HOST_IN_CODE                                                                                                   \
	"(?i)^(?:.*?(?:\\b(?:https?|ftp|wss?)://(?:[^\\s'\"/@]*@)?(?<host>[a-z0-9][a-z0-9.-]*\\.[a-z]{2,})"            \
	"|['\"](?<host>(?:[a-z0-9-]+\\.)+(?:com|org|net|io|dev|edu|gov|co|ai|app|[a-z]{2}))(?::\\d+)?['\"])|)"

const struct runtime_kind explain_common[] = {
	{
		.name = "read-only-path",
		.text = "(?i)(?:read-only file ?system|EROFS)[^/\\n]*" OTHER_PATH "|" OTHER_PATH
			"[^/\\n]*(?:read-only file ?system|EROFS)|read-only file ?system|\\bEROFS\\b",
		.say = LIST(
			"Write to /sandbox/output, which is kept with the result, or to /tmp, instead of {path}: the "
			"rest of "
			"the box is read-only.",
			"Write to /sandbox/output, which is kept with the result, or to /tmp: the rest of the box is "
			"read-only."),
	},
	{
		.name = "is-directory",
		.text = "(?i)(?:is a directory|EISDIR)[^/\\n]*" OTHER_PATH "|" OTHER_PATH
			"[^/\\n]*(?:is a directory|EISDIR)|is a directory|\\bEISDIR\\b",
		.say = LIST("{path} is a directory: name a file in it.",
			    "The program opens a directory as a file: name a file in it."),
	},
	{
		.name = "no-network",
		.text = "(?i)(?:could not resolve host:? |getaddrinfo (?:ENOTFOUND|EAI_AGAIN) |getaddrinfo for |lookup "
			"(?!address)"
			"|UnknownHostException: |bad hostname '|open TCP connection to "
			"|cannot resolve host |unable to resolve host address (?:‘|'))(?<host>[\\w.-]*\\w)"
			"|temporary failure in name resolution|name or service not known|network is "
			"unreachable|\\bENETUNREACH\\b|couldn't resolve host name",
		.code = HOST_IN_CODE,
		.say = LIST("The program may not reach {host}: allow it with --net {host} (network), or give its data with "
			    "the request (--file, files or stdin).",
			    "The program may not reach the network: allow the host with --net HOST (network), or give the "
			    "data with the request (--file, files or stdin)."),
	},
	{
		.name = "connection-refused",
		.text = "(?i)connection refused|\\bECONNREFUSED\\b",
		.say = LIST("Nothing listens at that address: the box has a network of its own with nothing in it, so "
			    "start the server in the same program, or give the data with --file (files)."),
	},
	{
		.name = "disk-full",
		.text = "(?i)no space left on device|\\bENOSPC\\b|disk quota exceeded|could not write .*: disk full",
		.say = LIST(
			"Write less, remove files that are no longer needed, or allow more with --disk (limits.disk)."),
	},
	{
		.name = "too-many-processes",
		.text = "(?i)resource temporarily unavailable|can't start new thread|unable to create (?:new "
			")?(?:native )?thread"
			"|cannot fork|fork: retry|failed to spawn thread|\\bEAGAIN\\b",
		.say = LIST("Start fewer processes and threads at once, wait for those that have ended, or allow more "
			    "with --pids (limits.pids)."),
	},
	{
		.name = "too-many-files",
		.text = "(?i)too many open files|\\bEMFILE\\b",
		.say = LIST("Close files and sockets after use: a process in the box may have 1024 open."),
	},
	{
		.name = "missing-file",
		/* The path is before or after the words; PHP quotes it in the call, the C++ library in brackets. */
		.text = "(?i)no such file or directory[:, ][^'\"(/\\n]*?(?:['\"]|‘)(?<path>[^'\"’\\n]+)"
			"|ENOENT[^'\\n]*'(?<path>[^'\\n]+)'"
			"|\\w\\((?<path>[^()\\s]+)\\): failed to open stream: no such file"
			"|no such file or directory (?:@ \\w+ - (?<path>[^\\s(]+)|\\[(?<path>[^\\]\\n]+)\\])"
			"|(?:cannot open|can't open|open|opening|failed to open|fopen\\()(?: file)?[ "
			"(]*(?:['\"]|‘)?(?<path>[^\\s:'\"’,)]+)(?<!stream).*no "
			"such file(?: or directory)?"
			"|(?:^|:\\s+)(?!E[A-Z]+:)(?<path>[^\\s:]+): no such file or directory"
			"|no such file or directory: (?<path>[^\\s:'\"]+)$"
			"|(?:FileNotFound|NoSuchFile)Exception: (?<path>\\S+)"
			"|no such file or directory",
		.code = "(?i)^(?:.*?(?:open|read|load|file)\\w*!?\\(\\s*[\"'](?<path>[^\"'\\n]+)[\"']|)",
		.near = "path",
		.among_files = true,
		.say = LIST(
			"There is no {path}; {close} is there.",
			"There is no {path}: the files that were given are {files}; give others with --file (files).",
			"There is no {path}: no file was given; give it with --file (files), or make it first.",
			"A file that the program needs does not exist; give it with --file (files), or make it first."),
	},
	{
		.name = "permission",
		.text = "(?i)" PATH "[^/\\n]*permission denied|permission denied[^/\\n]*" PATH
			"|\\bEACCES\\b[^/\\n]*" PATH "|permission denied|\\bEACCES\\b",
		.say = LIST("The program may not use {path}: write to /sandbox/output or /tmp; a file that is executed "
			    "needs chmod +x.",
			    "Use files below /sandbox or /tmp; a file that is executed needs chmod +x."),
	},
	{
		.name = "not-permitted",
		.text = "(?i)operation not permitted|\\bEPERM\\b|function not implemented|\\bENOSYS\\b",
		.say = LIST("The box refuses this system call ({code}): no mounts, namespaces, raw sockets, tracing of "
			    "other processes or changes of the clock; do without it.",
			    "The box refuses this system call: no mounts, namespaces, raw sockets, tracing of other "
			    "processes or changes of the clock; do without it."),
	},
	{
		.name = "wrong-format",
		.text = "(?i)exec format error",
		.say = LIST("The file is neither a program for this machine nor a script with a #! line: add one, for "
			    "example #!/bin/sh, or run it with its interpreter."),
	},
	{
		.name = "missing-command",
		.text = "(?i)(?<name>[\\w./+-]+): (?:command )?not found|command not found: "
			"(?<name>[\\w./+-]+)|executable file not "
			"found in \\$PATH|env: (?:‘|')(?<name>[^’']+)(?:’|'): No such",
		.near = "name",
		.say = LIST("{name} is not installed in the box, or its name is misspelled: use a command that is "
			    "available."),
	},
};

const size_t explain_common_count = ARRAY_SIZE(explain_common);
