"""The session of the live demo: a repository with a bug, and the commands of a scripted agent that mends it.

Its length, the sizes of its outputs and its share of re-reads are close to the medians of recorded runs of agents
(docs/measured.md, printed by ``python -m benchmarks.typical PATH``). All of its text is made up here.
"""

from __future__ import annotations

from pathlib import Path

from execledger.demo.repository import write_repository

RULES = (
    ("Seasonal", "goods of the summer", "order.month in (6, 7, 8)", 10),
    ("Loyalty", "customers who have ordered before", "order.customer.orders > 5", 5),
    ("Bulk", "orders of many pieces", "order.pieces > BULK_PIECES", 8),
    ("Clearance", "goods that leave the range", "any(line.article.leaves for line in order.lines)", 25),
    ("Birthday", "customers in the month of their birthday", "order.month == order.customer.birth_month", 7),
    ("Staff", "people who work here", "order.customer.staff", 15),
    ("Pickup", "orders that need no parcel", "order.pickup", 3),
    ("Prepaid", "orders that are paid before they leave", "order.prepaid", 2),
    ("Partner", "customers of the shops next door", "order.customer.partner", 4),
    ("Fragile", "boxes that were damaged on the shelf", "any(line.damaged for line in order.lines)", 30),
)
"""The discounts of the shop: name, whom or what they are for, condition, per cent."""
HEADER = '''"""The discounts of the shop: each says whether it applies to an order, and how much it takes off."""

from __future__ import annotations

from shop.money import percent

BULK_PIECES = 20
"""Orders of this many pieces or more are bulk orders."""


class Discount:
    """A discount; the ones below say when they apply."""

    name = ""
    rate = 0

    def applies(self, order):
        """Whether the order gets this discount."""
        raise NotImplementedError

    def amount(self, order):
        """What it takes off, in cents."""
        return percent(order.total, self.rate) if self.applies(order) else 0
'''
RULE = '''

class {name}(Discount):
    """For {whom}."""

    name = "{word}"
    rate = {rate}

    def applies(self, order):
        """Whether the order gets the discount for {whom}."""
        return bool({condition})

    def label(self):
        """The words on the invoice."""
        return f"{{self.name}}: {{self.rate}} % off"
'''
FOOTER = '''

ALL = ({names})
"""Every discount, in the order in which they are tried."""


def best(order):
    """The discount that takes most off the order; None if none applies."""
    found = [one for one in (kind() for kind in ALL) if one.applies(order)]
    return max(found, key=lambda one: one.amount(order), default=None)
'''
MONEY = '''"""Sums of money, in whole cents."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def cents(text):
    """The cents of a price such as "12.90"."""
    whole, _, part = text.partition(".")
    if not whole.isdigit() or (part and not (part.isdigit() and len(part) <= 2)):
        raise ValueError(f"{text!r} is no price, expected digits such as 12.90")
    return int(whole) * 100 + int(part.ljust(2, "0") or 0)


def percent(total, rate):
    """So many per cent of a sum, rounded half up."""
    share = Decimal(total) * Decimal(rate) / Decimal(100)
    return int(share.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def written(total):
    """A sum as it is printed on an invoice."""
    sign = "-" if total < 0 else ""
    return f"{sign}{abs(total) // 100}.{abs(total) % 100:02d}"
'''
ORDERS = '''"""Orders: who wants what, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Article:
    """Something that the shop sells."""

    name: str
    price: int
    """In cents."""
    leaves: bool = False
    """It leaves the range."""


@dataclass
class Customer:
    """Somebody who orders."""

    name: str
    orders: int = 0
    birth_month: int = 0
    staff: bool = False
    partner: bool = False


@dataclass
class Line:
    """Some pieces of one article."""

    article: Article
    pieces: int = 1
    damaged: bool = False

    def __post_init__(self):
        if self.pieces < 1:
            raise ValueError(f"{self.article.name}: {self.pieces} pieces, expected at least 1")

    @property
    def total(self):
        """The price of all pieces, in cents."""
        return self.article.price * self.pieces


@dataclass
class Order:
    """What a customer wants."""

    customer: Customer
    lines: list[Line] = field(default_factory=list)
    month: int = 1
    pickup: bool = False
    prepaid: bool = False

    def add(self, article, pieces=1):
        """Add some pieces of an article; a second time, more of the same line."""
        for line in self.lines:
            if line.article == article:
                line.pieces += pieces
                return line
        self.lines.append(Line(article, pieces))
        return self.lines[-1]

    @property
    def pieces(self):
        """How many pieces there are in all."""
        return sum(line.pieces for line in self.lines)

    @property
    def total(self):
        """The price before discounts, in cents."""
        return sum(line.total for line in self.lines)
'''
INVOICE = '''"""Invoices: an order as the customer reads it."""

from __future__ import annotations

from shop.discounts import best
from shop.money import percent, written

WIDTH = 48
TAX = 19


class Invoice:
    """The invoice of one order."""

    def __init__(self, order):
        self.order = order
        self.discount = best(order)

    @property
    def off(self):
        """What the discount takes off, in cents."""
        return self.discount.amount(self.order) if self.discount else 0

    @property
    def due(self):
        """What is to be paid, in cents."""
        return self.order.total - self.off

    @property
    def tax(self):
        """The tax within what is to be paid, in cents."""
        return self.due - round(self.due * 100 / (100 + TAX))

    def rows(self):
        """One row per line, then the discount, the tax and the sum."""
        for line in self.order.lines:
            yield f"{line.pieces} x {line.article.name}", written(line.total)
        if self.discount:
            yield self.discount.label(), written(-self.off)
        yield f"tax within, {TAX} %", written(self.tax)
        yield "to be paid", written(self.due)

    def text(self):
        """The invoice as it is printed."""
        rows = [f"{title.ljust(WIDTH - len(price))}{price}" for title, price in self.rows()]
        return "\\n".join([f"Invoice for {self.order.customer.name}", "-" * WIDTH, *rows])


def reminder(invoice, days):
    """A friendly reminder of an invoice that was not paid; after a month with a fee."""
    fee = percent(invoice.due, 1) if days > 30 else 0
    lines = [f"Dear {invoice.order.customer.name},", f"{days} days ago we sent you an invoice."]
    lines.append(f"Please pay {written(invoice.due + fee)}.")
    if fee:
        lines.append(f"This includes a fee of {written(fee)}.")
    return "\\n".join(lines)
'''
TESTS = """import unittest

from shop.discounts import best
from shop.invoice import Invoice, reminder
from shop.money import cents, percent, written
from shop.orders import Article, Customer, Line, Order

SOAP = Article("soap", 250)
BRUSH = Article("brush", 1190)
LAMP = Article("lamp", 4900, leaves=True)


def order(*pieces, **fields):
    made = Order(Customer("Ada"), **fields)
    for article, count in pieces:
        made.add(article, count)
    return made


class MoneyTest(unittest.TestCase):
    def test_reads_prices(self):
        self.assertEqual([cents("12.90"), cents("3"), cents("0.5")], [1290, 300, 50])

    def test_rounds_half_up(self):
        self.assertEqual([percent(250, 1), percent(150, 1)], [3, 2])

    def test_writes_sums(self):
        self.assertEqual([written(1290), written(-5)], ["12.90", "-0.05"])


class OrderTest(unittest.TestCase):
    def test_adds_lines_of_one_article(self):
        made = order((SOAP, 2), (BRUSH, 1), (SOAP, 3))
        self.assertEqual((made.pieces, made.total, len(made.lines)), (6, 2440, 2))

    def test_refuses_no_pieces(self):
        with self.assertRaises(ValueError):
            Line(SOAP, 0)


class DiscountTest(unittest.TestCase):
    def test_most_off_wins(self):
        self.assertEqual(best(order((LAMP, 1), month=7)).name, "clearance")

    def test_none_applies(self):
        self.assertIsNone(best(order((SOAP, 1))))

    def test_bulk_begins_at_twenty_pieces(self):
        self.assertIsNone(best(order((SOAP, 19))))
        self.assertEqual(best(order((SOAP, 20))).name, "bulk")


class InvoiceTest(unittest.TestCase):
    def test_takes_the_discount_off(self):
        made = Invoice(order((SOAP, 30)))
        self.assertEqual((made.off, made.due), (600, 6900))

    def test_reminds(self):
        self.assertIn("a fee of 0.12", reminder(Invoice(order((BRUSH, 1))), 31))


if __name__ == "__main__":
    unittest.main()
"""
README = """# Shop

The back office of a small shop: orders, discounts, invoices.
Run its tests with `python3 -m unittest`.

- `shop/orders.py`: articles, customers, orders
- `shop/discounts.py`: one class per discount, and `best`
- `shop/invoice.py`: invoices and reminders
- `shop/money.py`: sums in cents
"""

TASK = """<pr_description>
Orders of exactly twenty pieces get no bulk discount.
The terms say "from twenty pieces on", and so does BULK_PIECES, but twenty bars of soap cost the full price.
</pr_description>

When you are done, write the repair to patch.txt with `git diff > patch.txt` and show it."""
"""The task that goes with the repository."""

REPRODUCE = """cat > reproduce.py <<'EOF'
from shop.discounts import best
from shop.orders import Article, Customer, Order

for pieces in (19, 20, 21):
    made = Order(Customer("Ada"))
    made.add(Article("soap", 250), pieces)
    found = best(made)
    print(pieces, found.name if found else "no discount")
EOF
python3 reproduce.py"""
NEW_TEST = r"""python3 - <<'EOF'
from pathlib import Path

path = Path("tests/test_shop.py")
text = path.read_text()
text = text.replace('''class InvoiceTest''', '''class BulkTest(unittest.TestCase):
    def test_twenty_pieces_of_two_articles(self):
        self.assertEqual(best(order((SOAP, 10), (BRUSH, 10))).name, "bulk")


class InvoiceTest''')
path.write_text(text)
EOF"""

COMMANDS = (
    "ls -la && git log --oneline | head -5",
    "cat README.md",
    "find . -name '*.py' -not -path './.git/*' | sort",
    "grep -rn -i bulk --include=*.py .",
    "cat shop/discounts.py",
    "cat shop/orders.py",
    "cat tests/test_shop.py",
    "python3 -m unittest 2>&1 | tail -20",
    "sed -n '60,80p' shop/discounts.py",
    REPRODUCE,
    "grep -n 'pieces' shop/orders.py",
    "grep -n 'def ' shop/orders.py",
    "cat shop/invoice.py",
    "cat shop/money.py",
    "grep -rn 'best(' shop tests",
    "git blame -s shop/discounts.py | sed -n '55,70p'",
    "git log --stat -1 | head -20",
    "sed -i 's/order.pieces > BULK_PIECES/order.pieces >= BULK_PIECES/' shop/discounts.py",
    "git diff",
    "python3 reproduce.py",
    "python3 -m unittest 2>&1 | tail -4",
    "cat tests/test_shop.py",
    NEW_TEST,
    "grep -n 'class .*Test' tests/test_shop.py",
    "python3 -m unittest 2>&1 | tail -4",
    "sed -n '20,120p' shop/discounts.py",
    "grep -rn 'rate' shop/invoice.py shop/money.py",
    "python3 -m compileall -q shop && ls -R shop | head -20",
    "cat shop/orders.py",
    "python3 -c 'from shop.invoice import Invoice; print(Invoice.__doc__)'",
    "python3 -m unittest tests.test_shop.DiscountTest -v 2>&1 | tail -8",
    "rm reproduce.py",
    "git status --short",
    "git log -1 --format=%s",
    "git diff > patch.txt && cat patch.txt",
)
"""The commands of the scripted agent."""


def make_session_repository(folder: Path) -> None:
    """Write the repository of the session into ``folder`` and commit it."""
    rules = (
        RULE.format(name=name, word=name.lower(), whom=whom, condition=condition, rate=rate)
        for name, whom, condition, rate in RULES
    )
    names = ", ".join(name for name, *_ in RULES)
    files = {
        "README.md": README,
        "shop/__init__.py": "",
        "shop/discounts.py": "".join((HEADER, *rules, FOOTER.format(names=names))),
        "shop/money.py": MONEY,
        "shop/orders.py": ORDERS,
        "shop/invoice.py": INVOICE,
        "tests/__init__.py": "",
        "tests/test_shop.py": TESTS,
    }
    write_repository(folder, files)
