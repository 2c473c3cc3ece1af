"""An example memory: four friends restore an old sailing boat, in 62 notes over a year.

Minds change: the motor, the launch, the colour and the berth are decided more than once. Each
note is recorded on the day it speaks of, so that both kinds of time have something to show.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import hades
from hades.domain.times import system_clock

NOTES = """
2025-09-06 | boat/marlene | Marlene is a wooden sloop of 1961, 9.2 metres long. Ida Holm bought her from the estate of Karl Brandt in Westerhaven. | boat
2025-09-07 | team/ida | Ida Holm owns Marlene and has the last word on everything that floats. | team
2025-09-07 | team/jonas | Jonas Beck is a carpenter. He looks after hull, deck and mast. | team
2025-09-07 | team/mira | Mira Okafor is an electrician. She looks after the motor and all wiring. | team
2025-09-08 | team/teo | Teo Lindqvist keeps the money and the calendar. | team
2025-09-13 | boat/survey | The surveyor Greta Voss found soft wood in four planks below the waterline and rust on two keel bolts. The deck is sound. | survey, hull
2025-09-14 | plan/launch | We want to launch Marlene on 18 April 2026, before the Easter regatta. | decision, plan
2025-09-14 | plan/budget | The budget is 14,000 euros until the launch. Each of us pays 3,500 euros. | decision, money
2025-09-20 | motor/choice | We rebuild the old diesel motor, because the block is sound and a rebuild costs only 1,900 euros. | decision, motor
2025-09-21 | shed/lease | We rent the shed of Westerhaven Boatyard until 30 April 2026 for 240 euros a month. | money, shed
2025-09-27 | hull/colour | The hull will be dark green, as it was in 1961. | decision, paint
2025-10-04 | hull/planks | Jonas Beck replaces the four soft planks with larch from Hansen Timber. | hull
2025-10-05 | berth/place | The harbour master Piet Dahl promised us berth 14 in the old harbour. | berth
2025-10-11 | meetings/october | Jonas needs steam for bending planks. Mira knows somebody with a boiler. Teo asks for receipts on paper. | meeting
2025-10-18 | hull/planks | Two of the four planks are in. The larch from Hansen Timber bends well after forty minutes of steam. | hull
2025-10-25 | motor/teardown | Mira Okafor took the diesel motor apart. Cylinder two is scored, and the crankshaft is bent. | motor
2025-11-01 | motor/choice | We buy a used diesel motor instead, because the crankshaft of the old one is bent and no spare exists. | decision, motor
2025-11-02 | plan/budget | The budget rises to 16,000 euros, because a used diesel motor costs more than a rebuild. | decision, money
2025-11-08 | suppliers/hansen | Hansen Timber delivers larch and oak within a week and takes back what we do not use. | supplier
2025-11-09 | suppliers/northsail | Northsail Loft quotes 2,300 euros for a new main sail and 900 euros for mending the old one. | supplier, sails
2025-11-15 | hull/planks | All four planks are in and caulked with cotton. | hull
2025-11-22 | meetings/november | Ida wants quiet evenings without the smell of diesel. Mira offers to compare electric motors. | meeting
2025-11-29 | keel/bolts | Greta Voss advises us to replace both rusty keel bolts before the boat moves. | survey, keel
2025-12-06 | keel/bolts | Both keel bolts are replaced with bronze ones from Lund Metals. | keel
2025-12-07 | suppliers/lund | Lund Metals casts bronze fittings to a pattern, in three weeks. | supplier
2025-12-13 | mast/check | The mast has a crack of 40 centimetres below the spreaders. Jonas Beck can scarf in new spruce. | mast
2025-12-20 | meetings/december | We agree to test an electric motor on the boat of Selma Arndt before we buy anything. | meeting
2026-01-03 | motor/trial | On the boat of Selma Arndt an electric motor of 10 kilowatts ran for five hours at four knots. It was silent. | motor
2026-01-10 | motor/choice | Marlene gets an electric motor of 10 kilowatts from Fjord Drives, because it is silent and the harbour pays half of the battery. | decision, motor
2026-01-11 | motor/grant | The harbour of Westerhaven pays half of the battery, up to 3,000 euros, if we launch before 1 July 2026. | money, motor
2026-01-17 | plan/launch | The launch moves to 13 June 2026, because Fjord Drives delivers the motor in May. | decision, plan
2026-01-18 | shed/lease | Westerhaven Boatyard extends the lease of the shed until 30 June 2026. | money, shed
2026-01-24 | suppliers/fjord | Fjord Drives asks for half of the price with the order. Our contact is Nils Aas. | supplier, motor
2026-01-31 | plan/budget | The budget is 19,500 euros, less the 3,000 euros of the harbour. | decision, money
2026-02-07 | mast/repair | Jonas Beck glued the scarf of the mast. It has to rest for two weeks at 15 degrees. | mast
2026-02-14 | wiring/plan | Mira Okafor draws all cables new: 48 volts for the motor, 12 volts for light and instruments. | wiring
2026-02-21 | mast/repair | The mast is straight again and has its first coat of varnish. | mast
2026-02-28 | meetings/february | Teo is worried about the money for sails. Ida will ask her aunt for the old sails of the Juno. | meeting
2026-03-07 | sails/choice | Northsail Loft mends the old main sail. A new one has to wait until next year. | decision, sails
2026-03-08 | berth/place | Piet Dahl retires. The new harbour master Runa Falk gives us berth 22, because berth 14 is too shallow for the keel. | berth
2026-03-14 | hull/colour | The hull will be dark blue, because the green paint has been taken off the market. | decision, paint
2026-03-21 | insurance/offer | Seafarer Mutual insures Marlene for 310 euros a year if Greta Voss surveys her again before the launch. | insurance, money
2026-03-28 | hull/paint | Primer is on. Teo Lindqvist and Ida Holm sanded for three days. | paint
2026-04-04 | wiring/progress | The 12 volt side works: navigation lights, depth sounder, two lamps below deck. | wiring
2026-04-11 | hull/paint | The first coat of dark blue is on, and it looks black in the evening. | paint
2026-04-18 | meetings/april | Nobody misses the April launch. Mira asks for help with lifting the battery. | meeting
2026-05-02 | motor/delivery | Fjord Drives delivered the electric motor on 30 April, two weeks early. Nils Aas helped to align the shaft. | motor
2026-05-09 | battery/place | The battery of 15 kilowatt hours lies below the cockpit, 180 kilograms on new oak bearers. | battery
2026-05-16 | wiring/progress | The 48 volt side works. The motor turned for the first time, and the breaker stayed in. | wiring, motor
2026-05-23 | boat/survey | Greta Voss surveyed Marlene again and has no objections. Seafarer Mutual has her report. | survey, insurance
2026-05-30 | meetings/may | The crane is booked for 13 June at nine. Runa Falk wants to see the papers of the insurance. | meeting
2026-06-06 | sails/return | Northsail Loft returned the main sail, mended and washed, for 870 euros. | sails
2026-06-13 | boat/launch | Marlene floats. She took twelve litres of water in the first hour and two in the second. | boat
2026-06-14 | boat/launch | The planks have swollen, and the bilge is dry. Forty people came to the launch. | boat
2026-06-20 | motor/grant | The harbour of Westerhaven paid 2,800 euros for the battery. | money, motor
2026-06-27 | sailing/first | First sail to Sandholm: eleven miles, four hours, wind from the west. Nobody was sick except Teo. | sailing
2026-07-11 | sailing/summer | One week around Sandholm and Lille Vik. We charged the battery twice, for six euros in all. | sailing
2026-08-01 | plan/budget | We spent 18,240 euros in all, 1,260 euros less than planned. | money
2026-08-22 | mast/check | The scarf in the mast has no crack after the summer. | mast
2026-09-12 | plan/regatta | Marlene sails in the Easter regatta of 2027, with Ida Holm at the helm. | plan, sailing
2026-10-03 | winter/shed | Westerhaven Boatyard keeps Marlene in the shed from 1 November for 200 euros a month. | shed, money
2026-10-10 | sails/choice | Northsail Loft makes a new main sail for the Easter regatta. Selma Arndt lends us 1,000 euros for it. | decision, sails
"""  # noqa: E501
FACTS = """
2025-09-06 | Marlene | owned_by | Ida Holm
2025-09-07 | Jonas Beck | looks_after | hull
2025-09-07 | Mira Okafor | looks_after | motor
2025-09-08 | Teo Lindqvist | looks_after | budget
2025-09-13 | Marlene | surveyed_by | Greta Voss
2025-09-20 | Marlene | driven_by | diesel motor
2025-09-21 | Marlene | lies_in | shed of Westerhaven Boatyard
2025-10-05 | Marlene | harbour_master | Piet Dahl
2025-10-04 | Hansen Timber | supplies | hull
2025-11-09 | Northsail Loft | supplies | sails
2025-12-06 | Lund Metals | supplies | keel bolts
2026-01-10 | Marlene | driven_by | electric motor
2026-01-10 | Fjord Drives | supplies | electric motor
2026-01-24 | Nils Aas | works_for | Fjord Drives
2026-03-08 | Marlene | harbour_master | Runa Falk
2026-03-21 | Marlene | insured_by | Seafarer Mutual
2026-06-13 | Marlene | lies_in | berth 22
2026-09-12 | Easter regatta | due_on | 28 March 2027
2026-10-03 | Easter regatta | due_on | 29 March 2027
2026-10-10 | Selma Arndt | lends_money_for | sails
"""
LINKS = """
2025-09-13 | boat/survey | led_to | hull/planks
2025-10-25 | motor/teardown | led_to | motor/choice
2026-01-03 | motor/trial | led_to | motor/choice
2026-01-10 | motor/choice | delayed | plan/launch
2026-01-11 | motor/grant | supports | plan/budget
2025-12-13 | mast/check | led_to | mast/repair
2025-11-29 | keel/bolts | recommended_by | Greta Voss
2026-03-21 | insurance/offer | depends_on | boat/survey
2026-05-02 | motor/delivery | carried_out_by | Fjord Drives
2026-06-13 | boat/launch | depends_on | insurance/offer
2026-10-10 | sails/choice | made_for | plan/regatta
"""


def remember_boat(place: Path) -> None:
    """Write the memory day by day, link and organise it, and leave some changes to decide on."""
    lines = [
        (kind, *(part.strip() for part in line.split("|")))
        for kind, table in (("note", NOTES), ("fact", FACTS), ("link", LINKS))
        for line in table.strip().splitlines()
    ]
    today = [0]
    with hades.open(place, actor="ida", clock=lambda: today[0]) as memory:
        for kind, day, *fields in sorted(lines, key=lambda line: line[1]):
            moment = datetime.fromisoformat(day).replace(hour=18, tzinfo=UTC)
            today[0] = max(today[0] + 1_000_000, int(moment.timestamp() * 1_000_000))
            if kind == "note":
                topic, content, tags = fields
                memory.remember(topic, content, valid_from=day, tags=tags.split(", "))
            else:
                replaces = fields[1] in ("driven_by", "harbour_master", "lies_in")
                memory.relate(*fields, valid_from=day, exclusive=replaces)
        today[0] = max(today[0] + 1_000_000, system_clock() - 7 * 86_400_000_000)
        memory.propose(
            "berth/place",
            content="Runa Falk gives us berth 9 for the winter, because berth 22 is dredged.",
            confidence=0.5,
        )
        memory.propose("Marlene", "crewed_by", "Selma Arndt", confidence=0.4)
        memory.index()
        memory.organise()
