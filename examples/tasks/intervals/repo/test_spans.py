import unittest

from spans import Span, free, merge


class Merge(unittest.TestCase):
    def test_overlapping(self):
        self.assertEqual(merge([Span(2, 4), Span(1, 3)]), [Span(1, 4)])

    def test_touching(self):
        self.assertEqual(merge([Span(1, 2), Span(2, 3)]), [Span(1, 3)])

    def test_apart(self):
        self.assertEqual(merge([Span(1, 2), Span(3, 4)]), [Span(1, 2), Span(3, 4)])


class Free(unittest.TestCase):
    def test_nothing_is_busy(self):
        self.assertEqual(free([], Span(8, 18)), [Span(8, 18)])


if __name__ == "__main__":
    unittest.main()
