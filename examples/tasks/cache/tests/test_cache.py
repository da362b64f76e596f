import unittest

from cache import Cache


def filled(size, *keys):
    cache = Cache(size)
    for key in keys:
        cache.put(key, key.upper())
    return cache


class Basics(unittest.TestCase):
    def test_a_stored_entry_is_found(self):
        cache = filled(2, "a")
        self.assertEqual((cache.get("a"), cache.get("b"), cache.statistics.rate), ("A", None, 0.5))


class Eviction(unittest.TestCase):
    def test_the_oldest_goes(self):
        cache = filled(2, "a", "b", "c")
        self.assertEqual([key in cache for key in "abc"], [False, True, True])

    def test_a_new_value_counts_as_use(self):
        cache = filled(2, "a", "b", "a", "c")
        self.assertEqual([key in cache for key in "abc"], [True, False, True])

    def test_asking_changes_nothing(self):
        cache = filled(2, "a", "b")
        self.assertIn("a", cache)
        cache.put("c", "C")
        self.assertNotIn("a", cache)


    def test_a_read_entry_stays(self):
        cache = filled(2, "a", "b")
        self.assertEqual(cache.get("a"), "A")
        cache.put("c", "C")
        self.assertEqual([key in cache for key in "abc"], [True, False, True])


if __name__ == "__main__":
    unittest.main()
