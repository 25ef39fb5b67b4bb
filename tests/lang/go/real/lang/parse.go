package lang

import "strconv"

// A node computes its value in a scope.
type node interface {
	eval(s *scope) (any, error)
}

type (
	constant struct{ value any }
	variable struct{ token token }
	binary   struct {
		operator    token
		left, right node
	}
	choice struct{ test, yes, no node }
	list   struct{ items []node }
	lambda struct {
		names []string
		body  node
	}
	call struct {
		function node
		column   int
		args     []node
	}
	let struct {
		name  string
		value node
	}
)

type parser struct {
	tokens []token
	at     int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) accept(text string) bool {
	if t := p.peek(); (t.kind == symbol || t.kind == word) && t.text == text {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return &Error{p.peek().column, strconv.Quote(text) + " is expected, not " + p.peek().String()}
	}
	return nil
}

func parse(line string) (node, error) {
	tokens, err := split(line)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	if p.accept("let") {
		name := p.next()
		if name.kind != word {
			return nil, &Error{name.column, "a name is expected, not " + name.String()}
		}
		if err := p.expect("="); err != nil {
			return nil, err
		}
		value, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		return let{name.text, value}, p.finish()
	}
	n, err := p.expression(0)
	if err != nil {
		return nil, err
	}
	return n, p.finish()
}

func (p *parser) finish() error {
	if t := p.peek(); t.kind != end {
		return &Error{t.column, t.String() + " is not expected"}
	}
	return nil
}

var strength = map[string]int{"==": 1, "<": 1, "<=": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}

func (p *parser) expression(above int) (node, error) {
	left, err := p.postfix()
	for err == nil {
		operator := p.peek()
		bound := strength[operator.text]
		if operator.kind != symbol || bound <= above {
			break
		}
		p.next()
		var right node
		if right, err = p.expression(bound); err == nil {
			left = binary{operator, left, right}
		}
	}
	return left, err
}

func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	for err == nil && p.peek().text == "(" && p.peek().kind == symbol {
		column := p.next().column
		var args []node
		if args, err = p.many(")"); err == nil {
			n = call{n, column, args}
		}
	}
	return n, err
}

func (p *parser) many(closing string) ([]node, error) {
	var items []node
	for !p.accept(closing) {
		if len(items) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		item, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (p *parser) primary() (node, error) {
	switch t := p.next(); {
	case t.kind == number:
		value, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, &Error{t.column, t.String() + " is no number"}
		}
		return constant{value}, nil
	case t.kind == text:
		return constant{t.text}, nil
	case t.text == "(":
		n, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case t.text == "[":
		items, err := p.many("]")
		return list{items}, err
	case t.text == "if":
		return p.choice()
	case t.text == "fn":
		return p.lambda()
	case t.kind == word:
		return variable{t}, nil
	default:
		return nil, &Error{t.column, "a value is expected, not " + t.String()}
	}
}

func (p *parser) choice() (node, error) {
	var parts [3]node
	for i, before := range []string{"", "then", "else"} {
		if before != "" {
			if err := p.expect(before); err != nil {
				return nil, err
			}
		}
		n, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		parts[i] = n
	}
	return choice{parts[0], parts[1], parts[2]}, nil
}

func (p *parser) lambda() (node, error) {
	var names []string
	for p.peek().kind == word {
		names = append(names, p.next().text)
	}
	if err := p.expect("->"); err != nil {
		return nil, err
	}
	body, err := p.expression(0)
	return lambda{names, body}, err
}
