// Package predicate is the language of the global predicates that package
// detect looks for, and what turns a predicate into the conjunction whose
// structure the persistent-set algorithms exploit (Stoller, Unnikrishnan and
// Liu 2000, section 4: "without loss of generality, we write the predicate as a
// conjunction").
//
// # The language
//
// A predicate is a boolean expression over the variables of the hosts:
//
//	p1.crit && p2.crit
//	"node-1:8080".role == "leader"          a host whose name is not an identifier
//	forall i != j: !(i.primary && j.primary)
//	exists i < j: i.leader != j.leader      i stands before j in the host order
//	forall i in {p1, p2}, j in ~"^q": i.epoch <= j.epoch
//	count(i: i.crit) <= 1                   also sum, min, max and set
//	len(set(i: i.view)) > 1
//	p1.state in {"idle", "ready"}
//
// In a quantifier's head "!=" keeps the variables apart, "<" orders them by the
// order of the hosts, "," does neither; "in" restricts the variable before it to
// hosts, listed or matched by a regular expression. The body reaches as far to
// the right as it can. A host's name, or a variable bound to a host, is the
// host's name as a string where it stands alone (i.leader == j).
//
// Operators, by falling precedence: - (unary); * / %; + -;
// == != < <= > >= in "not in" subset =~ !~; ! (not); && (and); || (or);
// => (implies); <=> (iff). Functions: len, abs, min, max, defined, string (the
// text of any value), union, intersection. Literals: integers, numbers, strings in double or single
// quotes, true, false, sets {1, 2} and ranges {1..5}, lists [1, 2].
//
// # Undefined
//
// A variable that was not assigned yet is undefined, and so is an expression that has no value,
// such as a division by zero. The connectives are Kleene's: false && undefined is false, true ||
// undefined is true, !undefined is undefined. A predicate holds in a state only when it is true
// there, so an undefined one neither holds nor does its negation. defined(x) reports whether x
// has a value; count counts what is true.
//
// # Types
//
// A value is a boolean, a number, a string, a list or a set. Expand refuses a
// predicate if a value that one of its variables has in the log is of the wrong
// type for its place: otherwise it would count as one for which the predicate
// does not hold, and the answer would be a wrong no. See Check.
//
// # From text to conjunction
//
// Parse reads the text. Expand replaces the quantifiers by what they mean for
// the hosts of a computation, checks the names and folds constants: the result
// is a tree of Nodes. Normalise brings it into conjunctive normal form, with a
// disjunction of 1-local parts kept apart by process, because the searches use
// exactly this: which clause is false, and which processes could make it true.
//
// The language is not the model language of package model: that one has no
// hosts, no undefined values, no sets and no strings, and its expressions read a
// machine's state, not a log's.
package predicate
