"""Tries check.py: every entry that is taken away, and every link that is led astray, must be found. build.sh runs it."""

import re
import unittest

import check

CERTIFICATE = (check.ROOT / "CERTIFICATE.md").read_text()
PAPER = (check.ROOT / "THEOREMS.md").read_text()
LISTED = check.theorems((check.FORMAL / "theorems.txt").read_text())
NAMED, ROWS = check.rules(CERTIFICATE)


def wrong(certificate=CERTIFICATE, paper=PAPER, listed=LISTED):
    return [*check.wrong_rules(certificate), *check.wrong_links(listed, check.pages(certificate, paper))]


class Check(unittest.TestCase):
    def test_nothing_is_wrong(self):
        self.assertEqual(wrong(), [])
        self.assertGreater(len(NAMED), 45)
        for of_each_section in "Exact sums", "Curve", "Quiet terms":
            self.assertIn(of_each_section, NAMED)

    def test_every_rule_needs_its_row(self):
        for rule in NAMED:
            row = re.search(rf"^\| {re.escape(rule)} \| .*\n", CERTIFICATE, re.MULTILINE)[0]
            self.assertIn(f"the rule {rule} has no theorem: it is not in CERTIFICATE.md's list", wrong(CERTIFICATE.replace(row, "")))

    def test_every_rule_needs_a_theorem_and_a_counterexample(self):
        for rule in NAMED:
            row = re.search(rf"^\| {re.escape(rule)} \| .*\n", CERTIFICATE, re.MULTILINE)[0]
            proved, false = row.removeprefix(f"| {rule} | ").removesuffix(" |\n").split(" | ")
            self.assertIn(f"the rule {rule} has no theorem", wrong(CERTIFICATE.replace(row, f"| {rule} |  | {false} |\n")))
            emptied = CERTIFICATE.replace(row, f"| {rule} | {proved} |  |\n")
            self.assertIn(f"the rule {rule} has no counterexample to a false variant", wrong(emptied))

    def test_a_theorem_is_no_counterexample(self):
        row = re.search(r"^\| Signs \| .*\n", CERTIFICATE, re.MULTILINE)[0]
        swapped = CERTIFICATE.replace(row, row.replace("signs_need_the_errors", "signs"))
        self.assertIn("RulesForms.signs is no counterexample", wrong(swapped))

    def test_a_rule_that_the_page_gains_needs_a_row(self):
        more = CERTIFICATE.replace("- **Signs.**", "- **Colours.** A register has one.\n- **Signs.**")
        self.assertEqual(wrong(more), ["the rule Colours has no theorem: it is not in CERTIFICATE.md's list"])

    def test_a_rule_that_the_page_loses_has_no_row(self):
        self.assertIn("CERTIFICATE.md has no rule Signs", wrong(CERTIFICATE.replace("- **Signs.**", "- Signs.")))

    def test_every_listed_theorem_is_linked(self):
        for theorem in LISTED:
            file, name = theorem.split(".")
            link = f"[`{name}`](formal/theories/{file}.v)"
            self.assertTrue(link in CERTIFICATE or link in PAPER, theorem)
            for astray in [f"[`{name}_`](formal/theories/{file}.v)", f"[`{name}`](formal/theories/Nowhere.v)"]:
                found = wrong(CERTIFICATE.replace(link, astray), PAPER.replace(link, astray))
                self.assertTrue(any("a link leads to" in line for line in found), theorem)
                self.assertTrue(any(line.startswith(f"{theorem} is in theorems.txt, but neither") for line in found), theorem)

    def test_every_linked_theorem_is_listed(self):
        for theorem in LISTED:
            rest = {name: reals for name, reals in LISTED.items() if name != theorem}
            self.assertIn(f"{theorem} is linked, but not in theorems.txt", wrong(listed=rest))

    def test_files_link_back(self):
        found = check.pages(CERTIFICATE, PAPER)
        self.assertEqual(list(check.wrong_back_links(found)), [])
        astray = PAPER.replace("## lemma10\n", "## lemma11\n")
        self.assertIn("Lemma6.v should begin with", " ".join(check.wrong_back_links(check.pages(CERTIFICATE, astray))))

    def test_axioms(self):
        printed = "theorem A.a\nClosed under the global context\ntheorem B.b\nAxioms:\nClassical_Prop.classic\n  : forall P\n"
        self.assertEqual(list(check.wrong_assumptions({"A.a": False, "B.b": True}, printed)), [])
        self.assertEqual(list(check.wrong_assumptions({"B.b": False}, printed)), ["B.b assumes Classical_Prop.classic"])
        self.assertEqual(list(check.wrong_assumptions({"C.c": True}, printed)), ["Coq does not say what C.c assumes"])
        other = printed.replace("Classical_Prop.classic", "Checker.believe_me")
        self.assertEqual(list(check.wrong_assumptions({"B.b": True}, other)), ["B.b assumes Checker.believe_me"])


if __name__ == "__main__":
    unittest.main()
