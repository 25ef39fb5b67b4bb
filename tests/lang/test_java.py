#!/usr/bin/python3
"""Java: which class runs, packages, and where errors point."""
# tests/run: args=--as root
# tests/run: timeout=300

import io
import os
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import kit

FIRST = 180  # seconds: the first run prepares the toolchain


def call(*argv, timeout=FIRST):
    env = {"EMBERBOX_HOME": os.path.join(kit.home(), "emberbox")}
    return kit.emberbox("run", "--json", "-l", "java", *argv, env=env, timeout=timeout).json


def run(files, entry, *options):
    """The result of a program of several files, {place: content}; `entry` is the one that runs."""
    directory = kit.tmp()
    argv = ["--entry", entry, *options]
    for place, content in files.items():
        argv += ["--file", f"{kit.write(os.path.join(directory, place), content)}:{place}"]
    return call(*argv)


def good(result, stdout):
    why = f"{result['error_message']}; {result['stderr'][-400:]}"
    kit.equal((result["status"], result["exit_code"]), ("ok", 0), why)
    kit.equal(result["stdout"], stdout)


def program(name, body, head=""):
    return f"{head}class {name} {{\n\tpublic static void main(String[] args) {{ {body} }}\n}}\n"


@kit.test(timeout=FIRST)
def a_public_class_of_any_name():
    good(call("-c", program("Anything", 'System.out.println("any");', "public ")), "any\n")
    directory = kit.tmp()
    path = kit.write(f"{directory}/lower-case.java", program("Other", 'System.out.println("other");', "public "))
    good(call(path), "other\n")


@kit.test(timeout=FIRST)
def names_that_javac_would_take_for_options():
    files = {
        "@x.java": "class At { static int value() { return 40; } }\n",
        "-x.java": "class Dash { static int value() { return 2; } }\n",
    }
    for name in ("@y.java", "-y.java", "a b'c\"$(id).java"):
        good(run({**files, name: program("Any", "System.out.println(At.value() + Dash.value());")}, name), "42\n")
    path = kit.write(f"{kit.tmp()}/@z.java", program("Any", 'System.out.println(String.join("|", args));'))
    good(call(path, "--", "@nothing", "-version"), "@nothing|-version\n")


@kit.test(timeout=FIRST)
def assertions_are_checked():
    result = call("-c", program("Main", 'assert args.length > 0 : "no words"; System.out.println("ran");'))
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 1, ""))
    kit.equal(result["error_message"], "Execution failed: java.lang.AssertionError: no words")
    good(call("-c", program("Main", 'assert args.length == 0; System.out.println("ran");')), "ran\n")


@kit.test(timeout=FIRST)
def the_class_with_a_main_method_runs():
    helper = "class First { int value() { return 4; } }\npublic class Second { }\n"
    good(call("-c", helper + program("Third", "System.out.println(new First().value());")), "4\n")
    good(call("-c", "interface Runs { static void main(String[] a) { System.out.println(5); } }\n"), "5\n")
    inherits = program("Base", 'System.out.println("base");') + "public class Main extends Base { }\n"
    good(call("-c", inherits), "base\n")


@kit.test(timeout=FIRST)
def the_entry_decides_between_two_main_methods():
    files = {"One.java": program("One", "System.out.println(1);"), "Two.java": program("Two", "System.out.println(2);")}
    good(run(files, "One.java"), "1\n")
    good(run(files, "Two.java"), "2\n")


@kit.test(timeout=FIRST)
def without_a_main_method_java_says_so():
    result = call("-c", "class Quiet { }\n")
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 1, ""))
    kit.contains(result["stderr"], "Error: Main method not found in class Quiet")


@kit.test(timeout=FIRST)
def packages():
    files = {
        "org/app/Start.java": program(
            "Start", "System.out.println(org.app.part.Part.NAME + Near.value());", "package org.app;\n\npublic "
        ),
        "org/app/Near.java": "package org.app;\n\nclass Near { static int value() { return 42; } }\n",
        "org/app/part/Part.java": "package org.app.part;\n\n"
        'public class Part { public static final String NAME = "part "; }\n',
    }
    good(run(files, "org/app/Start.java"), "part 42\n")


@kit.test(timeout=FIRST)
def a_module():
    body = "System.out.println(java.util.logging.Level.INFO);"
    files = {"org/app/Start.java": program("Start", body, "package org.app;\n\npublic ")}
    with_logging = {**files, "module-info.java": "module app { requires java.logging; }\n"}
    good(run(with_logging, "org/app/Start.java"), "INFO\n")
    without = run({**files, "module-info.java": "module app { }\n"}, "org/app/Start.java")
    kit.contains(without["stderr"], "org/app/Start.java:4: error: package java.util.logging is not visible")


@kit.test(timeout=FIRST)
def a_project_with_a_source_directory():
    directory = kit.tmp()
    code = 'System.out.println(Near.value() + " " + Start.class.getResource("/note.txt"));'
    kit.write(f"{directory}/src/org/app/Start.java", program("Start", code, "package org.app;\n\npublic "))
    near = "package org.app;\n\nclass Near { static int value() { return 7; } }\n"
    kit.write(f"{directory}/src/org/app/Near.java", near)
    kit.write(f"{directory}/note.txt", "a note\n")
    good(call("--project", directory, f"{directory}/src/org/app/Start.java"), "7 file:/sandbox/code/note.txt\n")


@kit.test(timeout=FIRST)
def a_jar_is_the_class_path():
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as jar:
        jar.writestr("words/note.txt", "from a jar")
    files = {
        "Main.java": program(
            "Main",
            'System.out.println(new String(Main.class.getResourceAsStream("/words/note.txt").readAllBytes()));',
        ).replace("args)", "args) throws Exception"),
        "lib/words.jar": archive.getvalue(),
    }
    directory = kit.tmp()
    argv = ["--entry", "Main.java", "--file", f"{kit.write(directory + '/Main.java', files['Main.java'])}:Main.java"]
    result = call(*argv)
    kit.equal(result["error_message"][:54], "Execution failed: java.lang.NullPointerException: Cann", "without the jar")
    good(run(files, "Main.java"), "from a jar\n")


@kit.test(timeout=FIRST)
def an_exception_shows_its_trace():
    code = (
        "public class Deep {\n"
        "\tstatic int third(int[] list) {\n"
        "\t\treturn list[2];\n"
        "\t}\n"
        "\tpublic static void main(String[] args) {\n"
        "\t\ttry {\n"
        "\t\t\tthird(new int[2]);\n"
        "\t\t} catch (RuntimeException error) {\n"
        '\t\t\tthrow new IllegalStateException("outer", error);\n'
        "\t\t}\n"
        "\t}\n"
        "}\n"
    )
    result = call("-c", code)
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 1, ""))
    kit.equal(
        result["stderr"],
        'Exception in thread "main" java.lang.IllegalStateException: outer\n'
        "\tat Deep.main(Main.java:9)\n"
        "Caused by: java.lang.ArrayIndexOutOfBoundsException: Index 2 out of bounds for length 2\n"
        "\tat Deep.third(Main.java:3)\n"
        "\tat Deep.main(Main.java:7)\n",
    )
    kit.equal(result["error_message"], "Execution failed: java.lang.IllegalStateException: outer")


@kit.test(timeout=FIRST)
def compile_errors_are_those_of_javac():
    result = call("-c", 'class A {\n\tint count = "three";\n\tString name = 4;\n}\n')
    kit.equal((result["status"], result["exit_code"], result["stdout"]), ("failed", 1, ""))
    kit.equal(
        result["stderr"],
        "Main.java:2: error: incompatible types: String cannot be converted to int\n"
        '\tint count = "three";\n'
        "\t            ^\n"
        "Main.java:3: error: incompatible types: int cannot be converted to String\n"
        "\tString name = 4;\n"
        "\t              ^\n"
        "2 errors\n",
    )
    kit.equal(
        result["error_message"], "Java compile error: incompatible types: String cannot be converted to int (line 2)"
    )
    # Only the code file may have a public class of another name.
    files = {"Main.java": program("Main", "new Part();"), "part.java": "public class Part { }\n"}
    kit.contains(run(files, "Main.java")["stderr"], "part.java:1: error: class Part is public, should be declared in")


@kit.test(timeout=FIRST)
def the_machine_fits_the_box():
    code = program(
        "Main",
        "Runtime now = Runtime.getRuntime();"
        ' System.out.println(now.availableProcessors() + " " + (now.maxMemory() >> 20 > 90));',
    )
    good(call("-c", code, "--memory", "100m"), "1 true\n")
    # A small heap is kept small although much is thrown away.
    churn = program(
        "Main",
        'long sum = 0; for (int i = 0; i < 3000000; i++) sum += ("text " + i).length(); System.out.println(sum);',
    )
    good(call("-c", churn, "--memory", "64m"), "34888890\n")
    # One that uses more than there is is ended by the box and not by an exception that it could swallow.
    hog = program(
        "Main",
        "java.util.List<byte[]> l = new java.util.ArrayList<>(); while (true) try { byte[] b = new byte[1 << 18];"
        " java.util.Arrays.fill(b, (byte) 1); l.add(b); } catch (OutOfMemoryError e) { }",
    )
    result = call("-c", hog, "--memory", "200m")
    kit.equal((result["status"], result["exit_code"]), ("out_of_memory", 137), result["stderr"][-300:])


kit.main()
