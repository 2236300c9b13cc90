package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// template translates a template to statements.
type template struct {
	node *node
	s    scanner.Scanner
	tok  rune
	err  error
}

// printing returns the statements that print a node.
func (t *tree) printing(n *node) (string, error) {
	source := n.template
	if source == "" {
		source = t.defaultTemplate(n.contract)
	}
	if source == "" {
		return "", errors.New("the node has no template, and its interface has none for it")
	}
	p := &template{node: n}
	p.s.Init(strings.NewReader(source))
	p.s.Mode = scanner.ScanIdents | scanner.ScanStrings
	p.s.Error = func(_ *scanner.Scanner, msg string) { p.fail(msg) }
	p.next()
	code, _ := p.items()
	if p.tok != scanner.EOF {
		p.fail("unexpected " + p.s.TokenText())
	}
	if p.err != nil {
		return "", fmt.Errorf("template %s: %w", source, p.err)
	}
	return code, nil
}

func (t *tree) defaultTemplate(name string) string {
	if c := t.interfaces[name]; c != nil {
		return c.template
	}
	return ""
}

func (p *template) next() { p.tok = p.s.Scan() }

func (p *template) fail(msg string) {
	if p.err == nil {
		p.err = errors.New(msg)
	}
}

// items translates items up to a bracket, a bar or the end. It returns the first field in them.
func (p *template) items() (code string, first *field) {
	var b strings.Builder
	for p.err == nil {
		switch p.tok {
		case scanner.String:
			s, err := strconv.Unquote(p.s.TokenText())
			if err != nil {
				p.fail(err.Error())
			}
			p.next()
			if s != "" {
				fmt.Fprintf(&b, "p.WriteString(%q)\n", s)
			}
		case scanner.Ident:
			f := p.field(p.s.TokenText())
			if first == nil {
				first = f
			}
			p.next()
			b.WriteString(p.value(f))
		case '@':
			p.next()
			fmt.Fprintf(&b, "p.%s(n)\n", p.s.TokenText())
			p.next()
		case '[':
			b.WriteString(p.choice())
		default:
			return b.String(), first
		}
	}
	return b.String(), first
}

// field returns the field with a name.
func (p *template) field(name string) *field {
	for i, f := range p.node.fields {
		if f.name == name {
			return &p.node.fields[i]
		}
	}
	p.fail("there is no field " + name)
	return &field{name: name}
}

// value prints a field, as what may follow it says.
func (p *template) value(f *field) string {
	quoted, separator := false, `", "`
	if p.tok == '/' {
		p.next()
		switch {
		case p.tok == scanner.String:
			separator = p.s.TokenText()
		case p.s.TokenText() == "q":
			quoted = true
		default:
			p.fail("expected q or a string after /")
		}
		p.next()
	}
	switch {
	case f.shape == single:
		return fmt.Sprintf("p.node(n.%s)\n", f.name)
	case f.shape == several:
		return fmt.Sprintf("printList(p, n.%s, %s)\n", f.name, separator)
	case f.shape != other:
		p.fail(f.name + " is a part of a node, and cannot be printed")
		return ""
	case f.typ == "bool":
		return ""
	case f.typ == "string" && quoted:
		return fmt.Sprintf("p.quote(n.%s)\n", f.name)
	case f.typ == "string":
		return fmt.Sprintf("p.WriteString(n.%s)\n", f.name)
	}
	return fmt.Sprintf("p.WriteString(n.%s.String())\n", f.name)
}

// choice translates what is in brackets.
func (p *template) choice() string {
	p.next()
	then, first := p.items()
	otherwise := ""
	if p.tok == '|' {
		p.next()
		otherwise, _ = p.items()
	}
	if p.tok != ']' {
		p.fail("expected ]")
		return ""
	}
	p.next()
	if first == nil {
		p.fail("brackets need a field that decides")
		return ""
	}
	if otherwise != "" {
		otherwise = " else {\n" + otherwise + "}"
	}
	return fmt.Sprintf("if %s {\n%s}%s\n", first.present(), then, otherwise)
}

// present returns the condition that a field has a value.
func (f *field) present() string {
	switch {
	case f.shape == single || f.shape == partRef:
		return "n." + f.name + " != nil"
	case f.shape == several || f.shape == partsList:
		return "len(n." + f.name + ") > 0"
	case f.typ == "string":
		return "n." + f.name + ` != ""`
	}
	return "n." + f.name
}
