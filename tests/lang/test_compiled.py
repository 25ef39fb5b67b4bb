#!/usr/bin/python3
"""What the drivers of C, C++, Go and Rust promise: which files are the program, where it died, what is missing."""
# tests/run: timeout=600

import os
import select
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

FIRST = 240  # seconds: the first run of a language prepares its toolchain


def state():
    return {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}


def run(entry, files, *options, stdin=None):
    """The result of a program of several files, {name: text}; `entry` is the one that runs."""
    root = kit.tmp()
    for name, text in files.items():
        kit.write(os.path.join(root, name), text)
    given = [word for name in files if name != entry for word in ("--file", f"{os.path.join(root, name)}:{name}")]
    argv = ["run", "--json", *given, *options, "--entry", entry, os.path.join(root, entry)]
    r = kit.emberbox(*argv, stdin=stdin, env=state(), timeout=FIRST)
    kit.equal(r.json["exit_code"], r.code)
    return r.json


def prints(result, text):
    kit.equal((result["status"], result["stdout"]), ("ok", text), f"{result['error_message']}; {result['stderr'][-300:]}")


def fails(result, message, code=1):
    kit.equal((result["status"], result["exit_code"], result["error_message"]), ("failed", code, message), result["stderr"][-300:])


def case(function):
    return kit.test(function, timeout=FIRST + 60, modes=("root",))


# C: where a program died


def died(body, message, code=139):
    """A function that is wrong in its second line, which is the fifth of the file."""
    text = '#include <assert.h>\n#include <stdlib.h>\n#include <string.h>\nint wrong(int zero, char *text) {\n'
    result = run("main.c", {"main.c": text + body + "\n}\nint main(int argc, char **argv) {\n\treturn wrong(argc - 1, argv[argc]);\n}\n"})
    fails(result, f"Execution failed: {message}", code)
    return result["stderr"]


@case
def c_null_pointer():
    stderr = died("\treturn *text;", "Segmentation fault (null pointer) at main.c:5 in wrong")
    kit.contains(stderr, "\n  called by main (main.c:8)\n")


@case
def c_null_pointer_that_the_compiler_sees():
    """The last example of the playground. GCC would give a return's value the line of the brace below it."""
    text = "#include <stdio.h>\n\nint main(void)\n{\n\tint *nowhere = NULL;\n\n\tputs(\"about to fall\");\n\tfflush(stdout);\n\treturn *nowhere;\n}\n"
    result = run("main.c", {"main.c": text})
    fails(result, "Execution failed: Segmentation fault (null pointer) at main.c:9 in main", 139)
    kit.equal((result["error"]["line"], result["stdout"]), (9, "about to fall\n"))


@case
def c_fault_in_a_library():
    died("\treturn strlen(text) + 1;", "Segmentation fault (null pointer) at main.c:5 in wrong")


@case
def c_wild_pointer():
    died("\treturn *(volatile int *)0x123456789000;", "Segmentation fault at main.c:5 in wrong")


@case
def c_division():
    died("\treturn 7 % zero;", "Floating point exception (division by zero) at main.c:5 in wrong", 136)


@case
def c_stack_overflow():
    died("\tchar big[4096]; memset(big, zero, 4096); return wrong(zero + 1, big) + big[zero];",
         "Segmentation fault (stack overflow) at main.c:5 in wrong")


@case
def c_assert():
    stderr = died("\tassert(zero); return 0;", "main: main.c:5: wrong: Assertion `zero' failed.", 134)
    kit.contains(stderr, "Aborted at main.c:5 in wrong\n")


@case
def c_abort():
    died("\tabort();", "Aborted at main.c:5 in wrong", 134)


@case
def c_broken_heap():
    stderr = died("\tchar *volatile p = malloc(8); free(p + 8); return 0;", "free(): invalid pointer", 134)
    kit.contains(stderr, "Aborted at main.c:5 in wrong\n")


@case
def c_broken_heap_in_use():
    # Whoever looks for the callers cannot allocate either.
    stderr = died("\tchar *volatile p = malloc(24); memset(p, 1, 200); p = malloc(3000); return *p;", "malloc(): corrupted top size", 134)
    kit.equal(stderr, "malloc(): corrupted top size\nAborted at main.c:5 in wrong\n  called by main (main.c:8)\n")


@case
def c_smashed_stack():
    body = "\tchar small[8]; strcpy(small, &\"{}\"[zero]); return small[zero];"
    stderr = died(body.format("x" * 99), "*** stack smashing detected ***: terminated", 134)
    # It is found when the function returns.
    kit.contains(stderr, "\nAborted at main.c:6 in wrong\n")
    text = "#include <string.h>\nint main(int argc, char **argv) {" + body.format("x" * 7).replace("zero", "argc - 1") + "}\n"
    kit.equal(run("main.c", {"main.c": text})["exit_code"], ord("x"))


@case
def c_unusable_stack():
    if os.uname().machine != "x86_64":
        kit.skip("written for x86-64")
    died('\t__asm__ volatile("mov $0x123456789000, %%rsp; push %%rax" ::: "memory"); return zero;',
         "Segmentation fault (stack overflow) at main.c:5 in wrong")
    # A frame that is found by %rbp: the unwinder itself faults.
    died('\tvolatile char text2[zero + 1]; *text2 = 1; __asm__ volatile("mov $0x123456, %%rbp; movl $1, 0" ::: "memory"); return *text2;',
         "Segmentation fault (null pointer) at main.c:5 in wrong")


@case
def c_call_of_nothing():
    died("\treturn ((int (*)(void))text)() + 1;", "Segmentation fault (null pointer) at main.c:5 in wrong")
    died("\treturn ((int (*)(void))0x123456789000)() + 1;", "Segmentation fault at main.c:5 in wrong")


@case
def c_own_handler():
    text = """#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void mine(int n) { (void)!write(1, "mine\\n", 5); _exit(n); }
int main(void) { signal(SIGSEGV, mine); *(volatile int *)0 = 1; }
"""
    result = run("main.c", {"main.c": text})
    kit.equal((result["exit_code"], result["stdout"], result["stderr"]), (11, "mine\n", ""))


@case
def c_a_child_dies_as_ever():
    text = """#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int status;
	pid_t child = fork();
	if (!child)
		*(volatile int *)0 = 1;
	printf("%d", waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}
"""
    result = run("main.c", {"main.c": text})
    prints(result, "11")
    kit.equal(result["stderr"], "Segmentation fault (null pointer) at main.c:9 in main\n")


# C and C++: what a program has printed when it ends in any way


STARTED = "#include <stdio.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\n\t%s\n}\n"


@case
def c_output_before_a_timeout():
    run("main.c", {"main.c": STARTED % "return 0;"})
    result = run("main.c", {"main.c": STARTED % 'printf("one\\n"); printf("two"); for (;;) pause();'}, "--timeout", "1")
    kit.equal((result["status"], result["stdout"]), ("timeout", "one\ntwo"))
    # In a buffer that the program has made as well.
    result = run("main.c", {"main.c": STARTED % 'setvbuf(stdout, NULL, _IOFBF, 4096); printf("one\\n"); for (;;) pause();'}, "--timeout", "1")
    kit.equal((result["status"], result["stdout"]), ("timeout", "one\n"))


@case
def c_output_before_a_fault():
    for end, code in (("*(volatile int *)0 = 1;", 139), ("abort();", 134)):
        result = run("main.c", {"main.c": STARTED % ('printf("one\\n"); printf("two"); ' + end)})
        kit.equal((result["exit_code"], result["stdout"]), (code, "one\ntwo"))
    # A child process has its own copy of what was begun: it is written once.
    result = run("main.c", {"main.c": STARTED % 'printf("one\\n"); printf("two"); if (fork() == 0) abort(); wait(NULL);'})
    kit.equal((result["status"], result["stdout"]), ("ok", "one\ntwo"))


@case
def c_output_as_it_comes():
    text = STARTED % 'int c; printf("go"); while ((c = getchar()) != EOF) printf("%d?", c);'
    path = kit.write(os.path.join(kit.tmp(), "main.c"), text)
    process = kit.start([kit.built(), "run", path], env=state(), stdin=subprocess.PIPE)

    def comes(count):
        kit.true(select.select([process.stdout], [], [], FIRST)[0], "nothing comes")
        return os.read(process.stdout.fileno(), count)

    kit.equal(comes(100), b"go")
    os.write(process.stdin.fileno(), b"A")
    kit.equal(comes(100), b"65?")
    r = kit.finish(process, b"B")
    kit.equal((r.code, r.text), (0, "66?"), r.errtext)


@case
def c_many_lines():
    lines = "".join(f"line {i}\n" for i in range(2000))
    prints(run("main.c", {"main.c": STARTED % 'for (int i = 0; i < 2000; i++) printf("line %d\\n", i);'}, "--max-output", "64k"), lines)


@case
def cpp_output_before_the_end():
    for end, code in (("throw 1;", 134), ("*(volatile int *)nullptr = 1;", 139)):
        result = run("main.cpp", {"main.cpp": '#include <iostream>\nint main() { std::cout << "one\\n" << "two"; ' + end + " }\n"})
        kit.equal((result["exit_code"], result["stdout"]), (code, "one\ntwo"))


@case
def cpp_bounds():
    text = "#include <iostream>\n#include <vector>\nint main(int argc, char **) {\n\tstd::vector<int> v{7, 8, 9};\n\tstd::cout << v[argc + %d];\n}\n"
    prints(run("main.cpp", {"main.cpp": text % 1}), "9")
    result = run("main.cpp", {"main.cpp": text % 9})
    kit.equal((result["status"], result["exit_code"]), ("failed", 134))
    kit.contains(result["error_message"], "Assertion '__n < this->size()' failed.")
    kit.contains(result["stderr"], "\nAborted at main.cpp:5 in main\n")


# Names that mean something to a shell or a compiler


NAMES = ("-x", "--help", "@x", "a b", "it's \"", "$(id)%s", "new\nline", "*[")


@case
def names_of_c():
    main = "#include <stdio.h>\nint part(void);\nint main(void) { printf(\"%d\", part()); }\n"
    for name in NAMES:
        files = {f"{name}.c": main, f"{name} part.c": "int part(void) {\n\treturn 5;\n}\n"}
        prints(run(f"{name}.c", files), "5")
    prints(run("-x.c", {"-x.c": main, "-d/-o.c": "int part(void) {\n\treturn 6;\n}\n"}), "6")
    fails(run("-x.c", {"-x.c": main, "-y.c": "int part(void) {\n\treturn gone;\n}\n"}),
          "C compile error: ‘gone’ undeclared (first use in this function) (-y.c, line 2)")
    fails(run("a b.c", {"a b.c": main, "-y z.c": "int part(void) {\n\treturn *(volatile int *)0;\n}\n"}),
          "Execution failed: Segmentation fault (null pointer) at -y z.c:2 in part", 139)


@case
def names_of_cpp():
    for name in NAMES:
        files = {f"{name}.cpp": '#include "-h.h"\nint main() { std::cout << part(); }\n',
                 f"{name}2.c": "int part(void) { int class = 5; return class; }\n",
                 "-d/-h.h": '#include <iostream>\nextern "C" int part(void);\n'}
        prints(run(f"{name}.cpp", files), "5")


@case
def names_of_go():
    for name in NAMES + ("_x", ".x"):
        prints(run(f"{name}.go", {f"{name}.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Print(5) }\n'}), "5")
    files = {"-x.go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Print(five)\n}\n', "-y.go": "package main\n\nconst five = 5\n"}
    prints(run("-x.go", files), "5")
    files["-y.go"] = "package main\n"
    fails(run("-x.go", files), "Go compile error: undefined: five (line 6)")


@case
def names_of_rust():
    for name in NAMES:
        prints(run(f"{name}.rs", {f"{name}.rs": 'fn main() {\n    print!("{}", 5);\n}\n'}), "5")
    fails(run("-x.rs", {"-x.rs": "fn main() {\n    five();\n}\n"}), "Rust compile error: cannot find function `five` in this scope (line 2)")


# C and C++: which files are the program


@case
def c_links_maths_and_threads():
    text = """#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *root(void *x) { *(double *)x = sqrt(*(double *)x); return NULL; }
int main(int argc, char **argv)
{
	double x = argc + 15;
	pthread_t id;
	pthread_create(&id, NULL, root, &x);
	pthread_join(id, NULL);
	printf("%g", x);
}
"""
    prints(run("main.c", {"main.c": text}), "4")


@case
def c_several_programs():
    files = {name: f'#include <stdio.h>\nint main(void) {{ puts("{name}"); }}\n' for name in ("one.c", "two.c")}
    prints(run("one.c", files), "one.c\n")
    prints(run("two.c", files), "two.c\n")


@case
def c_included_sources():
    files = {
        "main.c": '#include <stdio.h>\n#define NUMBER 5\n#include "part.c"\nint main(void) { printf("%d", part()); }\n',
        "part.c": "int part(void) { return NUMBER; }\n",
    }
    prints(run("main.c", files), "5")


@case
def c_warnings_are_none():
    prints(run("main.c", {"main.c": '#include <stdio.h>\nint main(void) { int *p = 5L; puts(p ? "yes" : "no"); }\n'}), "yes\n")


@case
def c_undefined():
    files = {"main.c": "int gone(void);\nint main(void)\n{\n\treturn gone();\n}\n"}
    fails(run("main.c", files), "C compile error: undefined reference to `gone' (line 4)")


@case
def c_error_in_another_file():
    files = {"main.c": "int part(void);\nint main(void) { return part(); }\n", "part.c": "int part(void)\n{\n\treturn gone;\n}\n"}
    result = run("main.c", files)
    kit.equal(result["status"], "failed")
    kit.contains(result["error_message"], "C compile error: ")
    kit.contains(result["stderr"], "part.c:3:")


@case
def cpp_standard():
    text = "#include <iostream>\n#include <ranges>\nint main() { for (int i : std::views::iota(1, 4)) std::cout << i; }\n"
    prints(run("main.cpp", {"main.cpp": text}), "123")


@case
def cpp_prepared_header_is_no_other():
    # <iostream> is prepared; a definition before it has to count all the same.
    text = "{}#include <iostream>\n#include <cstring>\nint main() {{ std::cout << sizeof(std::string); }}\n"
    prints(run("main.cpp", {"main.cpp": text.format("")}), "32")
    prints(run("main.cpp", {"main.cpp": text.format("#define _GLIBCXX_USE_CXX11_ABI 0\n")}), "8")


@case
def cpp_exception():
    files = {"main.cpp": '#include <vector>\nint main()\n{\n\tstd::vector<int> v;\n\treturn v.at(3);\n}\n'}
    result = run("main.cpp", files)
    kit.equal((result["status"], result["exit_code"]), ("failed", 134))
    kit.contains(result["error_message"], "terminate called after throwing an instance of 'std::out_of_range'")
    kit.contains(result["stderr"], "\nAborted at main.cpp:5 in main\n")


# Go


@case
def go_missing_module():
    files = {"main.go": 'package main\n\nimport "github.com/some/thing"\n\nfunc main() { thing.Do() }\n'}
    result = run("main.go", files)
    kit.contains(result["error_message"], "Go compile error: package github.com/some/thing is not in the standard library; a box has no network")
    kit.contains(result["error_message"], "(line 3)")


@case
def go_vendored_module():
    files = {
        "go.mod": "module example.org/x\n\ngo 1.18\n\nrequire github.com/some/thing v1.2.3\n",
        "main.go": 'package main\n\nimport "github.com/some/thing"\n\nfunc main() { thing.Do() }\n',
        "vendor/github.com/some/thing/thing.go": 'package thing\n\nfunc Do() { print("done"); println() }\n',
    }
    result = run("main.go", files)
    kit.equal((result["status"], result["stderr"]), ("ok", "done\n"))


@case
def go_no_cgo():
    files = {"main.go": 'package main\n\n// int one(void) { return 1; }\nimport "C"\n\nfunc main() { println(C.one()) }\n'}
    message = 'Go compile error: import "C" (cgo) is not supported: programs are compiled without a C compiler (line 4)'
    fails(run("main.go", files), message)


@case
def go_without_a_module():
    for imported in ("./sub", "sub", "main/sub"):
        files = {
            "main.go": f'package main\n\nimport (\n\t"fmt"\n\t"{imported}"\n)\n\nfunc main() {{ fmt.Print(sub.Five) }}\n',
            "sub/sub.go": "package sub\n\nconst Five = 5\n",
        }
        prints(run("main.go", files), "5")


@case
def go_cycle():
    files = {
        "go.mod": "module x\n",
        "main.go": 'package main\n\nimport _ "x/a"\n\nfunc main() {}\n',
        "a/a.go": 'package a\n\nimport _ "x/b"\n',
        "b/b.go": 'package b\n\nimport _ "x/a"\n',
    }
    fails(run("main.go", files), "Go compile error: import cycle not allowed: x/b imports x/a (b/b.go, line 3)")


@case
def go_constraints_and_tests():
    files = {
        "main.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Print(where) }\n',
        "here_linux.go": 'package main\n\nconst where = "linux"\n',
        "here_windows.go": 'package main\n\nconst where = "windows"\n',
        "tagged.go": '//go:build ignore\n\npackage main\n\nconst where = "nowhere"\n',
        "main_test.go": 'package main\n\nimport "none/such"\n',
        "tool.go": 'package main\n\nfunc main() {}\n',
    }
    prints(run("main.go", files), "linux")


@case
def go_tests_are_no_program():
    for name in ("m_test.go", "-m_test.go"):
        files = {name: 'package main\n\nimport "testing"\n\nfunc TestIt(t *testing.T) {}\n'}
        text = f"{name} holds tests, and there is no go test here: give a program with func main in a file of another name"
        result = run(name, files)
        fails(result, f"Go compile error: {text} (line 1)")
        kit.equal(result["stderr"], f"./{name}:1: {text}\n")


@case
def go_package_without_files():
    files = {
        "go.mod": "module x\n",
        "main.go": 'package main\n\nimport _ "x/sub"\n\nfunc main() {}\n',
        "sub/sub_test.go": "package sub\n",
        "sub/sub_windows.go": "package sub\n",
    }
    fails(run("main.go", files), "Go compile error: package x/sub has no Go files but tests and those of other systems (sub) (line 3)")
    files["main.go"] = files["main.go"].replace("x/sub", "x/other")
    fails(run("main.go", files), "Go compile error: package x/other is not among the files given (line 3)")


@case
def go_entry_for_another_system():
    prints(run("main_windows.go", {"main_windows.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Print(5) }\n'}), "5")


@case
def go_errors_in_order():
    files = {"main.go": 'package main\n\nimport "os"\n\nfunc main() {\n\tx := 1\n}\n'}
    result = run("main.go", files)
    kit.matches(result["error_message"], r'^Go compile error: ("os" imported and not used|imported and not used: "os") \(line 3\)$')
    kit.contains(result["stderr"], "./main.go:6:2: ")


@case
def go_embeds():
    files = {
        "main.go": 'package main\n\nimport (\n\t"embed"\n\t"fmt"\n)\n\n//go:embed pages\nvar pages embed.FS\n\n'
        'func main() {\n\ttext, err := pages.ReadFile("pages/a.html")\n\tfmt.Print(string(text), err)\n'
        '\t_, err = pages.ReadFile("pages/.hidden.html")\n\tfmt.Print(" ", err != nil)\n}\n',
        "pages/a.html": "<p>",
        "pages/.hidden.html": "",
    }
    prints(run("main.go", files), "<p><nil> true")
    del files["pages/a.html"], files["pages/.hidden.html"]
    fails(run("main.go", files), "Go compile error: pattern pages: no matching files found (line 8)")


# Rust


@case
def rust_missing_crate():
    result = run("main.rs", {"main.rs": "use rand::Rng;\n\nfn main() {\n    println!(\"{}\", rand::random::<u8>());\n}\n"})
    kit.matches(result["error_message"], r"^Rust compile error: unresolved import `rand` \(line 1\)$")
    kit.contains(result["stderr"], "note: there are no crates but the standard library: a box has no network to fetch `rand` from\n")


@case
def rust_statement_alone():
    result = run("main.rs", {"main.rs": '\nprintln!("hi");\n'})
    kit.matches(result["error_message"], r"^Rust compile error: macro expansion ignores .* \(line 2\)$")
    kit.equal((result["error"]["line"], result["error"]["column"]), (2, 1))


@case
def rust_overflow():
    result = run("main.rs", {"main.rs": "fn main() {\n    let n = std::env::args().count() as u8;\n    println!(\"{}\", n + 255);\n}\n"})
    kit.equal((result["status"], result["exit_code"]), ("failed", 101))
    kit.contains(result["stderr"], "attempt to add with overflow")
    kit.contains(result["stderr"], "main.rs:3:20")


@case
def rust_cargo_layout():
    files = {
        "Cargo.toml": '[package]\nname = "my-app"\nversion = "0.1.0"\nedition = "2018"\n',
        "src/main.rs": 'fn main() {\n    let async_ = my_app::answer();\n    print!("{}", async_);\n}\n',
        "src/lib.rs": "mod inner;\npub fn answer() -> u32 {\n    inner::ANSWER\n}\n",
        "src/inner.rs": "pub const ANSWER: u32 = 42;\n",
    }
    prints(run("src/main.rs", files), "42")


kit.main()
