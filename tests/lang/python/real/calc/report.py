from collections import Counter


class Report:
    def __init__(self):
        self.last_code = []
        self.ops = Counter()
        self.results = []
        self.errors = []

    def compiled(self, source, code):
        self.last_code = code.listing()
        self.ops.update(op.name for op in code.ops)

    def done(self, value):
        self.results.append(value)

    def failed(self, error):
        self.errors.append(str(error))

    def as_dict(self, machine):
        return {
            "errors": self.errors,
            "functions": sorted(str(f) for f in machine.functions.values()),
            "operations": dict(sorted(self.ops.items())),
            "results": len(self.results),
            "steps": machine.steps,
            "variables": {name: machine.show(value) for name, value in machine.globals.items()},
        }
