package lang

import (
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
)

type scope struct {
	names map[string]any
	outer *scope
	depth int
}

func (s *scope) find(name string) (any, bool) {
	for ; s != nil; s = s.outer {
		if value, ok := s.names[name]; ok {
			return value, true
		}
	}
	return nil, false
}

// Function is a value of the language.
type Function func(args []any, depth int) (any, error)

// List is one, too.
type List []any

// Machine keeps the variables of a program.
type Machine struct{ top *scope }

// NewMachine has the built-in functions; print writes to out.
func NewMachine(out io.Writer) *Machine {
	m := &Machine{&scope{names: map[string]any{}}}
	m.top.names["print"] = Function(func(args []any, _ int) (any, error) {
		for i, arg := range args {
			if i > 0 {
				fmt.Fprint(out, " ")
			}
			fmt.Fprint(out, Show(arg))
		}
		fmt.Fprintln(out)
		return nil, nil
	})
	m.top.names["map"] = Function(mapped)
	m.top.names["sum"] = Function(sum)
	m.top.names["sqrt"] = Function(func(args []any, _ int) (any, error) { return math.Sqrt(args[0].(float64)), nil })
	m.top.names["sorted"] = Function(func(args []any, _ int) (any, error) {
		copied := append(List{}, args[0].(List)...)
		sort.SliceStable(copied, func(i, j int) bool { return Show(copied[i]) < Show(copied[j]) })
		return copied, nil
	})
	return m
}

func mapped(args []any, depth int) (any, error) {
	var result List
	for _, item := range args[1].(List) {
		value, err := args[0].(Function)([]any{item}, depth)
		if err != nil {
			return nil, err
		}
		result = append(result, value)
	}
	return result, nil
}

func sum(args []any, _ int) (any, error) {
	total := 0.0
	for _, item := range args[0].(List) {
		total += item.(float64)
	}
	return total, nil
}

// Run does one line. A value of the wrong kind is found out by a panic.
func (m *Machine) Run(line string) (value any, err error) {
	defer func() {
		if wrong := recover(); wrong != nil {
			err = fmt.Errorf("wrong kind of value")
		}
	}()
	n, err := parse(line)
	if err != nil {
		return nil, err
	}
	return n.eval(m.top)
}

// Show is how a value is printed.
func Show(value any) string {
	switch v := value.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', 12, 64)
	case List:
		parts := make([]string, len(v))
		for i, item := range v {
			parts[i] = Show(item)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Function:
		return "a function"
	}
	return fmt.Sprint(value)
}

func (n constant) eval(*scope) (any, error) { return n.value, nil }

func (n variable) eval(s *scope) (any, error) {
	if value, ok := s.find(n.token.text); ok {
		return value, nil
	}
	return nil, &Error{n.token.column, n.token.text + " is not known"}
}

func (n let) eval(s *scope) (any, error) {
	value, err := n.value.eval(s)
	if err == nil {
		s.names[n.name] = value
	}
	return nil, err
}

func (n list) eval(s *scope) (any, error) {
	values, err := all(n.items, s)
	return List(values), err
}

func all(nodes []node, s *scope) ([]any, error) {
	values := make([]any, len(nodes))
	for i, item := range nodes {
		value, err := item.eval(s)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

func (n choice) eval(s *scope) (any, error) {
	test, err := n.test.eval(s)
	if err != nil {
		return nil, err
	}
	if test.(bool) {
		return n.yes.eval(s)
	}
	return n.no.eval(s)
}

func (n lambda) eval(s *scope) (any, error) {
	return Function(func(args []any, depth int) (any, error) {
		if len(args) != len(n.names) {
			return nil, fmt.Errorf("%d arguments are needed, %d were given", len(n.names), len(args))
		}
		if depth > 1000 {
			return nil, fmt.Errorf("too deep")
		}
		inner := &scope{names: map[string]any{}, outer: s, depth: depth + 1}
		for i, name := range n.names {
			inner.names[name] = args[i]
		}
		return n.body.eval(inner)
	}), nil
}

func (n call) eval(s *scope) (any, error) {
	function, err := n.function.eval(s)
	if err != nil {
		return nil, err
	}
	args, err := all(n.args, s)
	if err != nil {
		return nil, err
	}
	callee, ok := function.(Function)
	if !ok {
		return nil, &Error{n.column, Show(function) + " is no function"}
	}
	return callee(args, s.depth)
}

func (n binary) eval(s *scope) (any, error) {
	left, err := n.left.eval(s)
	if err != nil {
		return nil, err
	}
	right, err := n.right.eval(s)
	if err != nil {
		return nil, err
	}
	if joined, ok := left.(string); ok && n.operator.text == "+" {
		return joined + Show(right), nil
	}
	if n.operator.text == "==" {
		return Show(left) == Show(right), nil
	}
	a, b := left.(float64), right.(float64)
	switch n.operator.text {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "<":
		return a < b, nil
	case "<=":
		return a <= b, nil
	case "%":
		return math.Mod(a, b), nil
	}
	if b == 0 {
		return nil, &Error{n.operator.column, "division by zero"}
	}
	return a / b, nil
}
