"""A small language: each line of standard input is compiled to code of a stack machine, which is run."""
import json
import sys

from calc import CalcError, Machine, compile_source
from calc.report import Report


def main():
    machine = Machine()
    report = Report()
    for number, line in enumerate(sys.stdin, 1):
        source = line.rstrip("\n")
        if not source or source.startswith("#"):
            continue
        if source == ":code":
            for text in report.last_code:
                print(f"      {text}")
            continue
        try:
            code = compile_source(source)
            report.compiled(source, code)
            value = machine.run(code)
            report.done(value)
            print(f"{number:>3}: {source} = {machine.show(value)}")
        except CalcError as error:
            report.failed(error)
            print(f"{number:>3}: {source}")
            print(f"     {' ' * error.column}^ {error}")
    print(json.dumps(report.as_dict(machine), indent=2, sort_keys=True))


if __name__ == "__main__":
    main()
