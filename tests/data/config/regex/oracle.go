// SPDX-License-Identifier: Apache-2.0
//
// tests/data/config/regex/oracle.go - what Go's regexp answers, for tests/unit/test_regex.c to compare with
//
//	go run oracle.go >oracle.txt
//
// One line for each case, fields separated by tabs, each quoted as by strconv.QuoteToASCII: the pattern, the text, and
// then "error" (Go refuses the pattern), "no", or "yes" followed by the expansion of "<$0|$1|${2}|$x>" by the match.
// Patterns are matched as Prometheus does, as ^(?s:PATTERN)$. Deterministic: the same seed gives the same file.
package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
)

var atoms = []string{
	"a", "b", "c", "ab", ".", ".*", ".+", "[ab]", "[^a]", "[a-c]", "[]a]", "[^]a]", "[a-]", "[-a]", "[[:alpha:]]",
	"[[:^digit:]_]", "[[a]", `[\s]`, `[\S]`, `[\w-]`, `[\]]`, `[\x61-\x63]`, `\d`, `\D`, `\s`, `\S`, `\w`, `\W`, `\b`,
	`\B`, `\A`, `\z`, "^", "$", `\.`, `\x41`, `\x{e4}`, `\101`, `\0`, `\n`, `\t`, `\v`, `\pL`, `\p{Greek}`, `\PL`,
	`\p{^L}`, "ä", "€", "1", " ", "-", "_", "{", "}", "]", "{,2}", "{x", `\_`, `\-`, `\Qa.b\E`, `\Q*`, "(?i:aB)", "(?i)",
	"(?-s:.)", "(?m:^b$)", "(?U:a+)", "a|b", "foo", "bar", "foo|bar|", "é",
	// Not RE2's:
	`\1`, "(?=a)", "(?!a)", "(?<=a)", "(?>a)", "a++", `\C`, `\R`, `\X`, `\K`, `\G`, `\Z`, `\h`, "(?|a)", "(?R)", "(?#x)",
	`\e`, `\cA`, `\q`, "[z-a]", "[", "(", ")", "*", `\`, `[\b]`, "(?x:a)", `\u0041`, `\8`, "[[:foo:]]", "[a-\\d]",
}

var quantifiers = []string{"", "", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}", "{0,1}?", "{1001}", "{2,1}", "**"}

var texts = []string{
	"", "a", "b", "c", "ab", "aab", "abc", "abab", "foo", "foobar", "bar", "barfoo", "A", "aB", "AB", "a\nb", "a\n", "\nb",
	"a.b", "a b", "1", "12", "a1", "_", "-", "{", "}", "]", "{,2}", "{x", "ä", "Ä", "€", "α", "aä", "é", "\x0b", "\t", " ", "\x00",
	"K", "\u212a", "s", "\u017f", "a\xff", "\xff", "x\xe2\x82", "[", "[a", "b-", "*", "a*b", "\u00a0",
}

func pattern(r *rand.Rand, depth int) string {
	var b strings.Builder
	for n := 1 + r.Intn(3); n > 0; n-- {
		switch k := r.Intn(12); {
		case k == 0 && depth > 0:
			b.WriteString("(" + pattern(r, depth-1) + ")")
		case k == 1 && depth > 0:
			b.WriteString("(?P<x>" + pattern(r, depth-1) + ")")
		case k == 2 && depth > 0:
			b.WriteString("(?:" + pattern(r, depth-1) + ")")
		case k == 3 && depth > 0:
			b.WriteString(pattern(r, depth-1) + "|" + pattern(r, depth-1))
			continue
		default:
			atom := atoms[r.Intn(len(atoms))]
			b.WriteString(atom)
			if atom == "(?i)" {
				continue // a quantifier behind it belongs to the atom before it in Go: an accident
			}
		}
		b.WriteString(quantifiers[r.Intn(len(quantifiers))])
	}
	return b.String()
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	r := rand.New(rand.NewSource(1))
	errors := 0
	for lines := 0; lines < 3000; {
		p := pattern(r, 3)
		_, err := regexp.Compile(p)
		re, wrapped := regexp.Compile("^(?s:" + p + ")$")
		if err == nil && wrapped != nil {
			continue // \Q without \E took the wrapping for text
		}
		if err != nil {
			if errors++; errors%8 == 0 {
				fmt.Fprintf(out, "%s\t\"\"\terror\n", strconv.QuoteToASCII(p))
				lines++
			}
			continue
		}
		for n := 0; n < 6; n++ {
			t := texts[r.Intn(len(texts))] + strings.Repeat(texts[r.Intn(len(texts))], r.Intn(2))
			m := re.FindStringSubmatchIndex(t)
			if m == nil {
				// Most answers are no: keep one in ten.
				if r.Intn(10) != 0 {
					continue
				}
				fmt.Fprintf(out, "%s\t%s\tno\n", strconv.QuoteToASCII(p), strconv.QuoteToASCII(t))
			} else {
				e := re.ExpandString(nil, "<$0|$1|${2}|$x>", t, m)
				fmt.Fprintf(out, "%s\t%s\tyes\t%s\n", strconv.QuoteToASCII(p), strconv.QuoteToASCII(t), strconv.QuoteToASCII(string(e)))
			}
			lines++
		}
	}
}
