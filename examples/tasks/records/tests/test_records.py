import unittest

from records import read, write


class RoundTrip(unittest.TestCase):
    def check(self, *rows):
        self.assertEqual(read(write(rows)), [list(row) for row in rows])

    def test_plain_fields(self):
        self.check(["a", "b"], ["c", "d"])

    def test_empty_fields(self):
        self.check(["", "b"], ["c", ""])

    def test_a_comma_in_a_field(self):
        self.check(["a, b", "c"])


    def test_a_quote_in_a_field(self):
        self.check(["27\" screen", "\""], ["a \"b\", c"])


class Writer(unittest.TestCase):
    def test_plain_fields_have_no_quotes(self):
        self.assertEqual(write([["a", "b"]]), "a,b\n")


    def test_a_quote_is_doubled(self):
        self.assertEqual(write([["27\""]]), "\"27\"\"\"\n")


if __name__ == "__main__":
    unittest.main()
