// Command nodegen writes the methods that all nodes of a syntax tree have, from the declarations
// of the nodes. For example,
//
//	// Node is a node of the tree.
//	type Node interface {
//		each(f func(Node))
//		print(p *printer)
//	}
//
//	// If is if Cond { Then } else Else.
//	//
//	//node:node "if " Cond [" else " Else]
//	type If struct {
//		Cond Node
//		Then []Node
//		Else Node // or nil
//	}
//
// gives If a method each, which calls f for Cond, the elements of Then, and Else, and a method
// print, which prints the condition and Else. So a new node needs its declaration and its
// grammar, and nothing else.
//
// # What is declared
//
// A line //node:NAME in the comment of a struct makes it a node that implements the interface
// NAME, written in lower case. //node:part makes it a part of a node: it has children, but is
// none. The methods that the interface asks for, itself or by an interface that it embeds, are
// written if they have one of these forms:
//
//	expr()              marks the implementations of an interface
//	At() Pos            the place of the node: its field Pos, or what at=... names
//	each(f func(Node))  calls f for the children that are not nil, in the order of the fields
//	print(p *printer)   prints the node by its template
//
// The order of the fields is the order of the children. zip=Keys,Values takes the elements of
// two lists in turns. A field whose type mentions nodes in a way that nodegen does not know is an
// error.
//
// # Templates
//
// What follows the name of the interface is a template; an interface can have a template for
// those of its nodes that have none, after //node:print.
//
//	template = { item } .
//	item     = string               the text
//	         | field                a node, a list of nodes separated by ", ", a string, or
//	                                something with a method String
//	         | field "/" string     a list with this separator
//	         | field "/q"           a string, quoted
//	         | "@" name             calls the method of the printer with the node
//	         | "[" { item } [ "|" { item } ] "]" .
//
// Brackets print their first half if the first field in it has a value: it is not nil, false, ""
// or empty. Otherwise they print the second half. A field of type bool only decides, and prints
// nothing.
//
// go/ast reads the declarations. Generators that others have written make visitors for
// Go's types (go/types is needed for that) but none prints.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: nodegen OUTPUT FILE...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "nodegen:", err)
		os.Exit(1)
	}
}

func run(output string, files []string) error {
	text, err := generate(filepath.Dir(output), files)
	if err != nil {
		return err
	}
	return os.WriteFile(output, text, 0o666)
}
