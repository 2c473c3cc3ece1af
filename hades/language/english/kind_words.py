"""Words that tell the kind of a named thing: nouns, parts of names, first names and places.

The lists are small and leave out words that often mean something else.
"""

from __future__ import annotations

import re

from hades.language.english.lexicon import word_set

PERSON, ORGANISATION, PLACE, WORK, EVENT = "person", "organisation", "place", "work", "event"
METHOD, PRODUCT = "method", "product"

_NOUNS = {
    PERSON: """academic activist actor actress administrator admiral anthropologist archbishop
    archaeologist architect artist astronaut astronomer athlete author aviator ballerina banker
    baron baroness biochemist biologist bishop botanist boxer broadcaster businessman
    businesswoman cardinal cartoonist cellist chef chemist choreographer cinematographer clergyman
    clown coach columnist comedian commentator composer conductor countess cricketer critic
    curator cyclist dancer designer diplomat director doctor dramatist drummer economist editor
    emperor empress engineer entertainer entrepreneur essayist explorer farmer fencer filmmaker
    footballer general geographer geologist golfer goalkeeper governor guitarist gymnast historian
    illustrator industrialist inventor jockey journalist judge jurist king lawyer lecturer
    librettist linguist lyricist magician manager mathematician mayor midfielder missionary model
    monk musician mystic naturalist neuroscientist nobleman noblewoman novelist nun nurse officer
    painter pathologist philanthropist philosopher photographer physician physicist pianist pilot
    pitcher player playwright poet politician pope presenter priest prince princess producer
    professor psychologist psychiatrist queen rapper researcher rower sailor scholar scientist
    screenwriter sculptor senator sheriff singer skater skier sociologist soldier songwriter
    soprano sprinter statesman striker suffragist surgeon swimmer teacher tenor theologian trader
    trumpeter vet violinist vocalist winger woman wrestler writer zoologist""",
    ORGANISATION: """agency airline association band bank brand broadcaster charity choir church
    club college committee company cooperative corporation council duo ensemble federation firm
    foundation franchise group institute institution label manufacturer ministry nonprofit
    orchestra organisation organization parliament party publisher quartet regiment retailer
    school startup studio subsidiary supermarket team trio union university""",
    PLACE: """airport area avenue bay beach borough bridge building canal capital castle cathedral
    cemetery city commune community continent country county creek district forest fort glacier
    hamlet harbour highway hill hospital island kingdom lake lighthouse locality mansion monastery
    mountain municipality museum neighborhood neighbourhood palace parish park peninsula port
    province region republic reservoir river road ruin settlement square stadium state station
    street suburb temple territory theatre town townland township valley village volcano ward
    waterfall""",
    WORK: """album anime anthology ballad ballet biography book comedy comic concerto documentary
    drama ep essay film game hymn magazine manga memoir miniseries movie musical newspaper novel
    novella opera painting play poem programme sculpture series show single sitcom song soundtrack
    symphony telefilm thriller trilogy western""",
    EVENT: """battle campaign championship competition conference contest cup election expedition
    festival hurricane massacre olympics rebellion revolt siege tournament uprising war""",
    METHOD: """algorithm autoencoder classifier heuristic method metaheuristic optimiser optimizer
    technique""",
    PRODUCT: """aircraft app appliance application bicycle browser camera car chatbot compiler
    device drug headset laptop microcontroller microprocessor motorcycle package
    phone plugin printer processor router simulator smartphone smartwatch software
    spreadsheet tablet toolbox toolkit truck vaccine vehicle""",
}
NOUNS = {noun: kind for kind, nouns in _NOUNS.items() for noun in nouns.split()}
"""The kind of thing that "X is a …" names by its noun."""

_LAST = {
    ORGANISATION: """agency airlines airways ag army association bank club co college commission
    committee company congress corp corporation council department entertainment fc federation
    foundation gmbh group inc institute league llc ltd ministry navy orchestra parliament party
    pictures press productions records school society studios union university""",
    PLACE: """airport avenue bay beach boulevard bridge canyon castle cathedral county creek
    desert district forest hills island islands lake mountain mountains ocean palace park
    peninsula plaza province river road sea square stadium station street valley""",
    EVENT: """awards bowl championship championships cup election festival games olympics prix
    revolution tournament war""",
    METHOD: """algorithm algorithms decomposition estimator heuristic method optimizer
    regression transform""",
}
LAST_WORDS = {word: kind for kind, words in _LAST.items() for word in words.split()}
"""The kind of a name of several words, by its last word."""

HONORIFICS = word_set(
    """captain cardinal colonel dr emperor empress father frau herr judge justice king lady lord
    madame mr mrs ms monsieur pope president prince princess prof professor queen senator sir
    sister"""
)
"""Words before the name of a person."""

FIRST_NAMES = word_set(
    """aaron abigail adam adrian agnes ahmed alan albert alex alexander alexandra alfred ali
    alice alison allan amanda amy ana andrea andreas andrew andré angela anita ann anna anne
    annie anthony anton antonio arthur barbara beatrice ben benjamin bernard beth betty bill
    billy bob boris brian bruce bruno carl carla carlos carmen carol caroline catherine charles
    charlie chloe chris christian christine christopher claire clara claude colin daniel dave
    david deborah dennis diana diane diego dominic don donald donna dorothy douglas edith edmund
    edward eleanor elena elizabeth ella ellen emily emma eric erik ernest eugene eva evelyn
    felix fiona frances francesco francis francisco frank franz fred frederick gabriel gary
    geoffrey george gerald giovanni giuseppe gordon graham greg gregory hannah hans harold harry
    heather helen helena henri henry howard hugh hugo ian ida ines irene isabel isabella ivan
    ivo jack jacob jacques james jan jane janet jason jean jeff jeffrey jennifer jeremy jerry
    jessica jim jimmy joan joe joel johan johann john johnny jonathan josef joseph josé juan
    judith judy julia julian julie jürgen karen karin karl kate katherine kathleen keith kelly
    ken kenneth kevin klaus laura laurence lawrence leo leon leonard leslie linda lisa liz louis
    louise lucas lucia lucy luigi luis luke magnus marc marco marcus margaret maria marie marina
    mario mark marta martha martin mary matthew max michael michelle miguel miriam mohamed
    mohammed monica muhammad nancy natalie neil nicholas nick nicolas nicole nina noah nora olga
    oliver olivia oscar otto pablo patricia patrick paul paula pedro peter philip philippe
    pierre rachel ralph raymond rebecca richard rita rob robert roberto robin roger roland
    ronald rosa roy ruth ryan sally sam samuel sandra sara sarah saskia scott sean simon sofia
    sophia sophie stefan stephen steve steven stuart susan thomas tim timothy tobias tom tony
    vera victor viktor vincent vladimir walter wanda wilhelm william zoe"""
)
"""First names that are seldom places, firms or things."""

PLACES = frozenset(
    re.split(
        r",\s+",
        """Afghanistan, Africa, Alabama, Alaska, Albania, Algeria, Amsterdam, Antarctica,
        Argentina, Arizona, Arkansas, Armenia, Asia, Athens, Australia, Austria,
        Azerbaijan, Baghdad, Bangkok, Bangladesh, Barcelona, Bavaria, Beijing, Belarus,
        Belgium, Berlin, Bolivia, Bosnia, Brazil, Britain, Brussels, Bucharest,
        Budapest, Buenos Aires, Bulgaria, Cairo, California, Cambodia, Cameroon, Canada,
        Chicago, Chile, China, Colombia, Colorado, Connecticut, Copenhagen, Costa Rica,
        Croatia, Cuba, Cyprus, Czechoslovakia, Delhi, Denmark, Dublin, Ecuador,
        Edinburgh, Egypt, England, Estonia, Ethiopia, Europe, Finland, Florida, France,
        Geneva, Germany, Ghana, Glasgow, Great Britain, Greece, Guatemala, Haiti,
        Hamburg, Hawaii, Helsinki, Hong Kong, Hungary, Iceland, Idaho, Illinois, India,
        Indiana, Indonesia, Iowa, Iran, Iraq, Ireland, Israel, Istanbul, Italy, Jakarta,
        Japan, Jerusalem, Kansas, Kazakhstan, Kentucky, Kenya, Korea, Latvia, Lebanon,
        Libya, Lisbon, Lithuania, London, Los Angeles, Louisiana, Luxembourg, Madrid,
        Malaysia, Maryland, Massachusetts, Melbourne, Mexico, Miami, Michigan, Milan,
        Minnesota, Mississippi, Missouri, Montana, Montreal, Morocco, Moscow, Mumbai,
        Munich, Naples, Nebraska, Nepal, Netherlands, Nevada, New Hampshire, New Jersey,
        New Mexico, New South Wales, New York, New York City, New Zealand, Nigeria,
        North America, North Carolina, North Dakota, North Korea, Northern Ireland,
        Norway, Ohio, Oklahoma, Ontario, Oregon, Oslo, Ottawa, Pakistan, Paraguay,
        Paris, Pennsylvania, Peru, Philadelphia, Philippines, Poland, Portugal, Prague,
        Prussia, Quebec, Queensland, Rhode Island, Rio de Janeiro, Romania, Rome,
        Russia, Saint Petersburg, San Diego, San Francisco, Saudi Arabia, Scotland,
        Serbia, Shanghai, Sicily, Singapore, Slovakia, Slovenia, South Africa, South
        America, South Australia, South Carolina, South Dakota, South Korea, Soviet
        Union, Spain, Sri Lanka, Stockholm, Sweden, Switzerland, Sydney, Syria, Taiwan,
        Tanzania, Tehran, Tennessee, Texas, Thailand, Tokyo, Toronto, Tunisia, Turkey,
        Uganda, Ukraine, United Kingdom, United States, United States of America,
        Uruguay, USA, Utah, Vancouver, Venezuela, Venice, Vermont, Vienna, Vietnam,
        Wales, Warsaw, Washington D.C, West Virginia, Western Australia, Wisconsin,
        Wyoming, Yugoslavia, Zimbabwe, Zurich""",
    )
)
"""Continents, countries, states and large cities."""
