"""Sources, sentences about them, and whether the source says so: 60 pairs, written by hand.

Half of them say in other words what the source says; half are wrong in one value, name or
negation, or are made up. The pairs of every second source (`tuned`) were used to set the bounds
of `hades.language.english.grounding`, with the 20 of MORE; the others (`held`) only measure.
"""

PAIRS = [
    (
        "Approach X was rejected on 10 January 2024 because it triggers Bug Y.",
        "On 2024-01-10 approach X was rejected since it triggers Bug Y.",
        True,
    ),
    (
        "Approach X was rejected on 10 January 2024 because it triggers Bug Y.",
        "Approach X was rejected on 12 January 2024.",
        False,
    ),
    (
        "Nadia moved the billing service to Frankfurt in March 2025.",
        "The billing service has been in Frankfurt since March 2025, moved there by Nadia.",
        True,
    ),
    (
        "Nadia moved the billing service to Frankfurt in March 2025.",
        "Priya moved the billing service to Frankfurt in March 2025.",
        False,
    ),
    (
        "The nightly backup takes 42 minutes and writes 1,200 GB to the archive.",
        "Each night 1200 GB are written to the archive by the backup.",
        True,
    ),
    (
        "The nightly backup takes 42 minutes and writes 1,200 GB to the archive.",
        "The nightly backup takes 24 minutes.",
        False,
    ),
    (
        "We do not retry payments that were declined by the bank.",
        "Payments declined by the bank are not retried.",
        True,
    ),
    (
        "We do not retry payments that were declined by the bank.",
        "Payments that were declined by the bank are retried.",
        False,
    ),
    (
        "Grandma's apple cake needs three eggs, 200 g of butter and no milk.",
        "The apple cake takes 3 eggs and 200 g of butter.",
        True,
    ),
    (
        "Grandma's apple cake needs three eggs, 200 g of butter and no milk.",
        "The apple cake needs four eggs.",
        False,
    ),
    (
        "Dr. Okafor changed the dose of ramipril from 5 mg to 2.5 mg after the dizziness.",
        "Because of dizziness, Dr. Okafor changed the ramipril dose to 2.5 mg.",
        True,
    ),
    (
        "Dr. Okafor changed the dose of ramipril from 5 mg to 2.5 mg after the dizziness.",
        "Dr. Okafor changed the dose of metformin to 2.5 mg.",
        False,
    ),
    (
        "The Atlas cluster runs PostgreSQL 16 since the upgrade of last May.",
        "Atlas runs PostgreSQL 16.",
        True,
    ),
    (
        "The Atlas cluster runs PostgreSQL 16 since the upgrade of last May.",
        "The Atlas cluster runs PostgreSQL 15.",
        False,
    ),
    (
        "Tom no longer works for Meridian; he joined Halden in 2023.",
        "Tom joined Halden in 2023 and does not work for Meridian any more.",
        True,
    ),
    (
        "Tom no longer works for Meridian; he joined Halden in 2023.",
        "Tom works for Meridian.",
        False,
    ),
    (
        "The cache is enabled by default and holds 512 MB.",
        "By default the cache is enabled, with 512 MB.",
        True,
    ),
    (
        "The cache is enabled by default and holds 512 MB.",
        "The cache is disabled by default.",
        False,
    ),
    (
        "Lena's recital is on Friday, 14 June, at the town hall in Brixen.",
        "Lena plays at the town hall in Brixen on 14 June.",
        True,
    ),
    (
        "Lena's recital is on Friday, 14 June, at the town hall in Brixen.",
        "Lena's recital is on Saturday, 14 June, at the town hall.",
        False,
    ),
    (
        "Invoice 8841 of Kranz GmbH over 3,450 euros was paid on 2 September.",
        "Kranz GmbH's invoice 8841 (3450 euros) was paid on 2 September.",
        True,
    ),
    (
        "Invoice 8841 of Kranz GmbH over 3,450 euros was paid on 2 September.",
        "Invoice 8814 of Kranz GmbH was paid on 2 September.",
        False,
    ),
    (
        "The API limits each key to 100 requests a minute; beyond that it answers 429.",
        "A key may send 100 requests per minute, then the API answers 429.",
        True,
    ),
    (
        "The API limits each key to 100 requests a minute; beyond that it answers 429.",
        "The API bans keys for ever and informs the owner by letter.",
        False,
    ),
    (
        "After the audit the board approved the new supplier, Voss, without conditions.",
        "The board approved Voss as the new supplier after the audit.",
        True,
    ),
    (
        "After the audit the board approved the new supplier, Voss, without conditions.",
        "The board rejected the new supplier, Voss, after the audit.",
        False,
    ),
    (
        "The parser crashed on files larger than 2 GB until version 1.8.3 fixed it.",
        "Version 1.8.3 fixed the crash of the parser with files larger than 2 GB.",
        True,
    ),
    (
        "The parser crashed on files larger than 2 GB until version 1.8.3 fixed it.",
        "Version 1.8.4 fixed the crash of the parser on large files.",
        False,
    ),
    (
        "Marta is allergic to penicillin but not to aspirin.",
        "Marta is allergic to penicillin.",
        True,
    ),
    (
        "Marta is allergic to penicillin but not to aspirin.",
        "Marta is allergic to aspirin.",
        False,
    ),
    (
        "The kitchen was painted green by Oskar in the autumn of 2021.",
        "In autumn 2021 Oskar painted the kitchen green.",
        True,
    ),
    (
        "The kitchen was painted green by Oskar in the autumn of 2021.",
        "In autumn 2021 Oskar painted the bathroom blue with a borrowed ladder.",
        False,
    ),
    (
        "Deploys are frozen from 20 December to 3 January, except for security fixes.",
        "From 20 December to 3 January deploys are frozen, security fixes excepted.",
        True,
    ),
    (
        "Deploys are frozen from 20 December to 3 January, except for security fixes.",
        "Deploys are frozen from 20 November to 3 January.",
        False,
    ),
    (
        "Ines reports to Bernard since the reorganisation; before that she reported to Yusuf.",
        "Since the reorganisation Ines reports to Bernard.",
        True,
    ),
    (
        "Ines reports to Bernard since the reorganisation; before that she reported to Yusuf.",
        "Since the reorganisation Ines reports to Claudia.",
        False,
    ),
    (
        "The tenants never complained about the noise of the heat pump.",
        "There were never complaints of the tenants about the noise of the heat pump.",
        True,
    ),
    (
        "The tenants never complained about the noise of the heat pump.",
        "The tenants complained about the noise of the heat pump.",
        False,
    ),
    (
        "Quarterly revenue rose by 12.5 % to 4.1 million, mainly in Portugal.",
        "Revenue of the quarter rose 12.5 percent to 4.1 million.",
        True,
    ),
    (
        "Quarterly revenue rose by 12.5 % to 4.1 million, mainly in Portugal.",
        "Quarterly revenue fell by 12.5 % to 4.1 million.",
        False,
    ),
    (
        "The old router in the attic was replaced by a Fritzbox 7590 on 3 May.",
        "A Fritzbox 7590 replaced the router in the attic on 3 May.",
        True,
    ),
    (
        "The old router in the attic was replaced by a Fritzbox 7590 on 3 May.",
        "The router in the cellar was stolen by a neighbour and sold at a market.",
        False,
    ),
    (
        "Session tokens expire after 30 days; refresh tokens do not expire.",
        "Session tokens expire after 30 days.",
        True,
    ),
    (
        "Session tokens expire after 30 days; refresh tokens do not expire.",
        "Session tokens expire after 90 days.",
        False,
    ),
    (
        "Elias chose Rust over Go for the gateway, because of memory safety.",
        "For the gateway Elias chose Rust, for its memory safety.",
        True,
    ),
    (
        "Elias chose Rust over Go for the gateway, because of memory safety.",
        "Elias chose Zig for the gateway, because of memory safety.",
        False,
    ),
    (
        "The patient was discharged on 2024-11-03 without fever.",
        "On 3 November 2024 the patient was discharged without a fever.",
        True,
    ),
    (
        "The patient was discharged on 2024-11-03 without fever.",
        "The patient was discharged on 2024-11-03 with fever.",
        False,
    ),
    (
        "Paul and Mira are the owners of the boat; they bought it for 18,000 euros.",
        "Paul and Mira own the boat and paid 18000 euros.",
        True,
    ),
    (
        "Paul and Mira are the owners of the boat; they bought it for 18,000 euros.",
        "Paul and Mira own the boat and paid 19000 euros.",
        False,
    ),
    (
        "The importer skips empty rows and counts them as warnings.",
        "Empty rows are skipped by the importer and counted as warnings.",
        True,
    ),
    (
        "The importer skips empty rows and counts them as warnings.",
        "The importer does not skip empty rows.",
        False,
    ),
    (
        "Support tickets of gold customers must be answered within four hours.",
        "Tickets from gold customers have to be answered in 4 hours.",
        True,
    ),
    (
        "Support tickets of gold customers must be answered within four hours.",
        "Tickets of silver customers must be answered within four hours by Helga.",
        False,
    ),
    (
        "The lease of the studio ends on 31 August 2026 and is not renewed.",
        "The studio's lease ends on 31 August 2026; it is not renewed.",
        True,
    ),
    (
        "The lease of the studio ends on 31 August 2026 and is not renewed.",
        "The lease of the studio ends on 31 August 2026 and is renewed.",
        False,
    ),
    (
        "Jonas wrote the migration, Aylin reviewed it, and it ran on all 17 shards.",
        "The migration by Jonas, reviewed by Aylin, ran on 17 shards.",
        True,
    ),
    (
        "Jonas wrote the migration, Aylin reviewed it, and it ran on all 17 shards.",
        "The migration ran on 17 shards and lost two tables in Oslo.",
        False,
    ),
    (
        "Our contract with Telmar allows termination with a notice of 90 days.",
        "The Telmar contract may be ended with 90 days' notice.",
        True,
    ),
    (
        "Our contract with Telmar allows termination with a notice of 90 days.",
        "The Telmar contract cannot be terminated.",
        False,
    ),
]

MORE = [
    (
        "The pump was serviced by Karin on 4 April.",
        "The pump was serviced by Karsten on 4 April.",
        False,
    ),
    ("The garden shed is unlocked at night.", "The garden shed is locked at night.", False),
    ("Omar paid the rent in cash, not by transfer.", "Omar paid the rent by transfer.", False),
    (
        "The test suite passes on macOS and fails on Windows.",
        "The test suite passes on Windows.",
        False,
    ),
    (
        "Since 2022 the clinic accepts walk-in patients on Mondays.",
        "The clinic accepts walk-in patients on Tuesdays.",
        False,
    ),
    ("The index is rebuilt hourly.", "The index is rebuilt daily.", False),
    (
        "Ravi recommended the blue paint for the hall.",
        "Ravi recommended the red paint for the hall.",
        False,
    ),
    (
        "The meeting with Dora was moved from Tuesday to Thursday.",
        "The meeting with Dora is on Thursday, moved from Tuesday.",
        True,
    ),
    (
        "Logs are kept for 14 days, then deleted.",
        "Logs are kept 14 days before they are deleted.",
        True,
    ),
    ("Sam joined the platform team as a lead.", "Sam left the platform team.", False),
    (
        "The car insurance with Alva costs 410 euros a year.",
        "Alva's car insurance is 410 euros per year.",
        True,
    ),
    (
        "The car insurance with Alva costs 410 euros a year.",
        "The house insurance with Alva costs 410 euros a year.",
        False,
    ),
    (
        "Uploads above 50 MB are refused by the gateway.",
        "The gateway refuses uploads above 50 MB.",
        True,
    ),
    (
        "Uploads above 50 MB are refused by the gateway.",
        "The gateway accepts uploads above 50 MB.",
        False,
    ),
    (
        "Vera teaches chemistry in Graz; her brother teaches physics in Linz.",
        "Vera teaches chemistry in Graz.",
        True,
    ),
    (
        "Vera teaches chemistry in Graz; her brother teaches physics in Linz.",
        "Vera teaches biology in Graz.",
        False,
    ),
    (
        "The retention period was extended from six to nine months.",
        "The retention period was extended to nine months.",
        True,
    ),
    (
        "The retention period was extended from six to nine months.",
        "The retention period was shortened to nine months.",
        False,
    ),
    ("Nobody was hurt in the fire at the depot.", "The fire at the depot hurt nobody.", True),
    (
        "Nobody was hurt in the fire at the depot.",
        "Several people were hurt in the fire at the depot.",
        False,
    ),
]
