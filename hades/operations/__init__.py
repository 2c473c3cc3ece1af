"""Operations: what a memory can do, one module for each noun.

An operation is a function whose first argument is a `View` or a `Memory`. Its decorator declares
how it is called from outside; REST route, client method and command are made from that (see
`declare.py`). `hades/memory.py` lists all operations in two classes.
"""

from hades.operations import briefs as briefs
from hades.operations import context as context
from hades.operations import edges as edges
from hades.operations import entities as entities
from hades.operations import extraction as extraction
from hades.operations import feedback as feedback
from hades.operations import graph as graph
from hades.operations import hierarchy as hierarchy
from hades.operations import maintenance as maintenance
from hades.operations import models as models
from hades.operations import promotion as promotion
from hades.operations import proposals as proposals
from hades.operations import questions as questions
from hades.operations import sources as sources
from hades.operations import states as states
from hades.operations import summaries as summaries
from hades.operations import tiers as tiers
