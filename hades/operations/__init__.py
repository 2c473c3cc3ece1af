"""Operations: what a memory can do, one module a noun.

Each is a function whose first argument is a `View` or a `Memory`. Its decorator `operation`
declares once how it is called from outside; the REST route, the client's method and the
command are made from that declaration and the signature (`declare.py`). `hades/memory.py`
lists all of them in two classes.
"""

from hades.operations import context as context
from hades.operations import edges as edges
from hades.operations import entities as entities
from hades.operations import extraction as extraction
from hades.operations import graph as graph
from hades.operations import maintenance as maintenance
from hades.operations import models as models
from hades.operations import promotion as promotion
from hades.operations import proposals as proposals
from hades.operations import questions as questions
from hades.operations import sources as sources
from hades.operations import states as states
from hades.operations import summaries as summaries
from hades.operations import tiers as tiers
